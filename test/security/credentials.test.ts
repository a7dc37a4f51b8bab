/** Creating and changing the credentials of users with more authority than the caller. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant

beforeAll(async () => {
  app = await startApp({
    env: { BOOTSTRAP_ADMIN_EMAIL: 'root@example.com', BOOTSTRAP_ADMIN_PASSWORD: 'correct horse battery staple' },
  })
  tenant = await createTenant(app)
})
afterAll(() => app.close())

const temporary = () => ({
  type: 'temporary_password',
  name: 'Desk',
  password: 'a password from the desk',
  expires_at: app.clock.now() + 60_000,
})

test('a caller cannot create a credential for a user with more authority', async () => {
  const desk = await createRestrictedKey(tenant, { scopes: ['issuers.users.verifiers:write', 'issuers.users:read'] })
  const plain = await createUser(tenant, 'plain@example.com')
  const strong = await createUser(tenant, 'strong@example.com')
  expectStatus(await tenant.owner.patch(`${tenant.I}/users/${strong}`, { scopes: ['issuers.clients:manage'] }), 200)
  expectStatus(await desk.post(`${tenant.I}/users/${plain}/verifiers`, temporary()), 201)
  const refused = await desk.post(`${tenant.I}/users/${strong}/verifiers`, temporary())
  expect(refused.body.error).toBe('insufficient_scope')
  expect(refused.headers.get('www-authenticate')).toContain('scope="issuers.clients:manage"')
  const [verifier] = expectStatus(await tenant.owner.get(`${tenant.I}/users/${strong}/verifiers`), 200).data
  const path = `${tenant.I}/users/${strong}/verifiers/${verifier.id}`
  expectStatus(await desk.patch(path, { password: 'another good password' }), 403)
  expectStatus(await desk.patch(path, { description: 'A new description' }), 200)
  expectStatus(await tenant.owner.patch(path, { password: 'another good password' }), 200)
})

test('only callers with full authority create credentials of console users', async () => {
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
  const restrictions = { scopes: ['issuers.users:manage', 'issuers.users.verifiers:manage'] }
  const created = expectStatus(await app.operator.post(`${A}/api-keys`, { name: 'desk', restrictions }), 201).data
  const desk: ApiClient = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
  const users = `${A}/issuers/${issuer.id}/users`
  const refused = await desk.post(`${users}/${system.owner_user_id}/verifiers`, temporary())
  expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
  expectStatus(await app.operator.post(`${users}/${system.owner_user_id}/verifiers`, temporary()), 201)
})
