import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeAccount, makeTenant, type Tenant } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await makeTenant(app, 'Acme')
})
afterAll(() => app.close())

test('GET /v1/accounts lists the accounts that the caller can reach', async () => {
  const other = await makeAccount(app, 'Other')
  const own = await tenant.owner.get('/v1/accounts')
  expect(own.status).toBe(200)
  expect(own.body.data.map((account: { id: string }) => account.id)).toEqual([tenant.accountId])
  expect(own.body).toMatchObject({ next_cursor: null, has_more: false })
  const all = await app.operator.get('/v1/accounts')
  expect(all.body.data.map((account: { id: string }) => account.id)).toEqual(
    expect.arrayContaining([tenant.accountId, other.accountId]),
  )
  expect(all.headers.get('etag')).toBeNull()
})

test('a 200 with one resource is {data} with a strong ETag of updated_at', async () => {
  const answer = await tenant.owner.get(tenant.A)
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body)).toEqual(['data'])
  expect(answer.headers.get('etag')).toBe(`"${answer.body.data.updated_at}"`)
  expect(answer.body.data).toMatchObject({ id: tenant.accountId, name: 'Acme', billing_mode: 'ungated', domains: [] })
})

test('nobody without a credential gets in: 401 with both challenges', async () => {
  const answer = await apiAs(app.baseUrl).get(tenant.A)
  expect(answer.status).toBe(401)
  expect(answer.body).toMatchObject({ error: 'unauthorized', request_id: expect.stringMatching(/^req_/) })
  expect(answer.headers.get('www-authenticate')).toContain('Basic realm="gatehouse"')
  expect(answer.headers.get('www-authenticate')).toContain('resource_metadata=')
})
