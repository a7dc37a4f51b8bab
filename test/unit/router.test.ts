/** Paths and methods that the router finds. */
import { expect, test } from '@jest/globals'
import { createRouter } from '../../src/platform/http/router.js'

const match = createRouter(
  [
    { path: '/users', methods: ['GET'], route: 'list' },
    { path: '/users', methods: ['POST'], route: 'create' },
    { path: '/users/import', methods: ['POST'], route: 'import' },
    { path: '/users/{user_id}', methods: ['GET', 'PATCH'], route: 'user' },
    { path: '/users/{user_id}/notes/{note_id}', methods: ['GET'], route: 'note' },
  ],
  (segment, name) => (name === 'note_id' && !/^\d+$/.test(segment) ? undefined : segment.toUpperCase()),
)

test.each([
  ['GET', '/users', 'list', {}],
  ['POST', '/users', 'create', {}],
  ['GET', '/users/ada', 'user', { user_id: 'ADA' }],
  ['PATCH', '/users/ada', 'user', { user_id: 'ADA' }],
  ['POST', '/users/import', 'import', {}],
  ['GET', '/users/ada/notes/7', 'note', { user_id: 'ADA', note_id: '7' }],
])('%s %s is the route %s', (method, path, route, parameters) => {
  expect(match(method, path)).toMatchObject({ route, parameters })
})

test.each([
  ['DELETE', '/users', ['GET', 'POST']],
  ['PUT', '/users/ada', ['GET', 'PATCH']],
  // A literal segment wins, also where it does not support the method.
  ['GET', '/users/import', ['POST']],
])('%s %s: the path exists, for %j', (method, path, methods) => {
  const found = match(method, path)
  expect(found?.route).toBeUndefined()
  expect([...found!.routesByMethod.keys()]).toEqual(methods)
})

test.each([
  '',
  '/',
  '/user',
  '/users/',
  '/users/ada/',
  '/users/ada/notes',
  '/users/ada/notes/x',
  '/users/ada/notes/7/8',
])('there is no path %j', (path) => {
  expect(match('GET', path)).toBeUndefined()
})
