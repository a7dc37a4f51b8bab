/** How the router finds the route for a method and a path. */
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
])('%s %s has the route %s', (method, path, route, parameters) => {
  expect(match(method, path)).toMatchObject({ route, parameters })
})

test.each([
  ['DELETE', '/users', ['GET', 'POST']],
  ['PUT', '/users/ada', ['GET', 'PATCH']],
  // The path /users/import takes precedence over /users/{user_id}, also for a method that it does not support.
  ['GET', '/users/import', ['POST']],
])('%s %s has no route, but the path has routes for %j', (method, path, methods) => {
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
])('no route has the path %j', (path) => {
  expect(match('GET', path)).toBeUndefined()
})
