/** Reading a resource and sending it back (docs/contract.md#request-bodies). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, requestBodies, routePath, type TenantFixture } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

// A decision about an approval is an action: its body is no part of the resource.
const patches = routes.filter(({ method, operation }) => method === 'PATCH' && operation !== 'decideApproval')
const cases = patches.map((route): [string, Route] => [route.operation, route])

const newestEvent = async () => expectStatus(await fixture.owner.get(`${fixture.A}/events?limit=1`), 200).data[0].id

describe.each(cases)('%s', (operation, route) => {
  let path: string
  beforeAll(() => {
    path = routePath(route, fixture.ids)
  })
  // Payment methods have only a list.
  const hasGet = routes.some(({ method, path }) => method === 'GET' && path === route.path)
  const read = async () => {
    if (hasGet) return expectStatus(await fixture.owner.get(path), 200).data
    const { data } = expectStatus(await fixture.owner.get(path.slice(0, path.lastIndexOf('/'))), 200)
    return data.find(({ id }: { id: string }) => path.endsWith(id))
  }

  test('a PATCH with the whole resource is 200, raises no version and records no event', async () => {
    const before = await read()
    const newest = await newestEvent()
    expect(expectStatus(await fixture.owner.patch(path, before), 200).data).toMatchObject(before)
    expect(await read()).toEqual(before)
    expect(await newestEvent()).toBe(newest)
  })

  test('a PATCH without members changes nothing', async () => {
    const before = await read()
    const newest = await newestEvent()
    expect(expectStatus(await fixture.owner.patch(path, {}), 200).data).toMatchObject(before)
    expect(await newestEvent()).toBe(newest)
  })

  test('a changed member is applied among unchanged ones; the same PATCH again changes nothing', async () => {
    const change = requestBodies[operation]!(fixture.ids)
    const before = await read()
    const changed = expectStatus(await fixture.owner.patch(path, { ...before, ...change }), 200).data
    expect(changed).toMatchObject(change)
    expect(changed.updated_at).toBeGreaterThan(before.updated_at)
    const newest = await newestEvent()
    expect(expectStatus(await fixture.owner.patch(path, change), 200).data).toEqual(changed)
    expect(await newestEvent()).toBe(newest)
  })

  test('a PATCH with its own response changes nothing', async () => {
    const response = expectStatus(await fixture.owner.patch(path, {}), 200).data
    expect(expectStatus(await fixture.owner.patch(path, response), 200).data).toEqual(response)
  })

  if (route.ifMatch)
    test('a whole resource with the If-Match of an old version is 412', async () => {
      const old = await read()
      const text = `Changed ${old.updated_at}`
      const member = ['description', 'content', 'name'].find((name) => name in old)
      const body = member ? { [member]: text } : { metadata: { text } }
      expectStatus(await fixture.owner.patch(path, body), 200)
      expectStatus(await fixture.owner.patch(path, old, { 'if-match': `"${old.updated_at}"` }), 412)
    })

  test('a changed read-only member is 400 with its name', async () => {
    const before = await read()
    const response = await fixture.owner.patch(path, { ...before, created_at: before.created_at + 1 })
    expectStatus(response, 400)
    expect(response.body.details).toEqual([{ field: 'created_at', code: 'read_only', message: expect.any(String) }])
    expect(await read()).toEqual(before)
  })

  test('a member that the resource does not have is 400', async () => {
    const response = await fixture.owner.patch(path, { ...(await read()), color: 'red' })
    expectStatus(response, 400)
    expect(response.body.details).toEqual([{ field: 'color', code: 'unknown_field', message: expect.any(String) }])
  })
})
