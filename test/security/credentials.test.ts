import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { keyWith, makeTenant, makeUser, must, type Tenant } from '../setup/actors.js'
import { type Api, apiAs } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant

beforeAll(async () => {
  app = await startApp({
    env: { BOOTSTRAP_ADMIN_EMAIL: 'root@example.com', BOOTSTRAP_ADMIN_PASSWORD: 'correct horse battery staple' },
  })
  tenant = await makeTenant(app)
})
afterAll(() => app.close())

const temporary = () => ({
  type: 'temporary_password',
  name: 'Desk',
  password: 'a password from the desk',
  expires_at: app.clock.now() + 60_000,
})

test('nobody gives a credential to a user who may do more than they: it would be that authority', async () => {
  const desk = await keyWith(tenant, { scopes: ['issuers.users.verifiers:write', 'issuers.users:read'] })
  const plain = await makeUser(tenant, 'plain@example.com')
  const strong = await makeUser(tenant, 'strong@example.com')
  must(await tenant.owner.patch(`${tenant.I}/users/${strong}`, { scopes: ['issuers.clients:manage'] }), 200)
  must(await desk.post(`${tenant.I}/users/${plain}/verifiers`, temporary()), 201)
  const refused = await desk.post(`${tenant.I}/users/${strong}/verifiers`, temporary())
  expect(refused.body.error).toBe('insufficient_scope')
  expect(refused.headers.get('www-authenticate')).toContain('scope="issuers.clients:manage"')
  const [verifier] = must(await tenant.owner.get(`${tenant.I}/users/${strong}/verifiers`), 200).data
  const path = `${tenant.I}/users/${strong}/verifiers/${verifier.id}`
  must(await desk.patch(path, { password: 'another good password' }), 403)
  must(await desk.patch(path, { description: 'only words' }), 200)
  must(await tenant.owner.patch(path, { password: 'another good password' }), 200)
})

test('credentials of console users are for callers with all authority: a key of less becomes no operator', async () => {
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const restrictions = { scopes: ['issuers.users:manage', 'issuers.users.verifiers:manage'] }
  const made = must(await app.operator.post(`${A}/api-keys`, { name: 'desk', restrictions }), 201).data
  const desk: Api = apiAs(app.baseUrl, { id: made.id, secret: made.secret_plain })
  const users = `${A}/issuers/${issuer.id}/users`
  const refused = await desk.post(`${users}/${system.owner_user_id}/verifiers`, temporary())
  expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
  must(await app.operator.post(`${users}/${system.owner_user_id}/verifiers`, temporary()), 201)
})
