/** No request can lock all administrators out of the console (docs/decisions/0053-administrator-recovery.md). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Realm } from '../idp/realm.js'
import { createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', password: 'correct horse battery staple' }

let app: TestApp
/** Path of the system account. */
let A: string
/** Path of the console issuer. */
let I: string
/** Path of the console's client. */
let clientPath: string
let realm: Realm
let ownerId: string
let acme: Tenant

beforeAll(async () => {
  app = await startApp({
    env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.username, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })
  const row = await app.gatehouse.database.prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const consolePath = row.value as { account_id: string; issuer_id: string; client_id: string }
  A = `/v1/accounts/${consolePath.account_id}`
  I = `${A}/issuers/${consolePath.issuer_id}`
  clientPath = `${I}/clients/${consolePath.client_id}`
  realm = new Realm(app, {
    accountId: consolePath.account_id,
    issuerId: consolePath.issuer_id,
    A,
    I,
    owner: app.operator,
  })
  ownerId = expectStatus(await app.operator.get(A), 200).data.owner_user_id
  acme = await createTenant(app, 'Acme')
})
afterAll(() => app.close())

const refused = (message: RegExp) => ({
  status: 409,
  body: { error: 'conflict', error_description: expect.stringMatching(message) },
})

/** Expects that the administrator can sign in to the console with the password. */
async function expectConsoleSignInToWork(): Promise<void> {
  const browser = realm.newBrowser()
  const page = await browser.submit(await browser.open(`${app.baseUrl}/console`), ADMIN)
  expect(page).toMatchObject({ status: 200, url: `${app.baseUrl}/console` })
}

describe('the console issuer', () => {
  test('cannot have the profile fapi2, with which the console could not sign in', async () => {
    const settings = { security: { openid_policy: { profile: 'fapi2' } } }
    expect(await app.operator.patch(I, { settings })).toMatchObject(refused(/cannot have the profile fapi2/))
  })

  test('cannot be deleted, by /v1 or GraphQL', async () => {
    expect(await app.operator.delete(I)).toMatchObject(refused(/console signs in at this issuer.*cannot be deleted/))
    const { accountId, issuerId } = realm.tenant
    const response = await app.operator.graphql(
      'mutation ($accountId: ID!, $issuerId: ID!) { deleteIssuer(accountId: $accountId, issuerId: $issuerId) }',
      { accountId, issuerId },
    )
    expect(response.body.errors).toMatchObject([{ extensions: { code: 'CONFLICT', status: 409 } }])
    await expectConsoleSignInToWork()
  })

  test.each(['disabled', 'suspended'])('cannot become %s', async (status) => {
    expect(await app.operator.patch(I, { status })).toMatchObject(refused(/console signs in at this issuer/))
    await expectConsoleSignInToWork()
  })

  test('can be renamed, and other issuers can be deleted', async () => {
    expectStatus(await app.operator.patch(I, { name: 'Head office', status: 'active' }), 200)
    await expectConsoleSignInToWork()
    expectStatus(await acme.owner.delete(acme.I), 204)
  })
})

test('the client of the console cannot be disabled or deleted; other clients can', async () => {
  expect(await app.operator.patch(clientPath, { status: 'disabled' })).toMatchObject(
    refused(/signs in with this client/),
  )
  expect(await app.operator.delete(clientPath)).toMatchObject(refused(/signs in with this client.*cannot be deleted/))
  expectStatus(await app.operator.patch(clientPath, { name: 'Console' }), 200)
  const other = await realm.createClient()
  expectStatus(await app.operator.patch(`${I}/clients/${other.id}`, { status: 'disabled' }), 200)
  expectStatus(await app.operator.delete(`${I}/clients/${other.id}`), 204)
  await expectConsoleSignInToWork()
})

test('the last first-factor method of the console cannot be disabled or deleted, also by concurrent changes', async () => {
  const [password] = expectStatus(await app.operator.get(`${I}/auth-methods`), 200).data
  const last = refused(/last usable sign-in method of the console/)
  // With only a second factor, no administrator could sign in.
  const totp = expectStatus(await app.operator.post(`${I}/auth-methods`, { name: 'App', method: 'totp' }), 201).data
  expect(await app.operator.delete(`${I}/auth-methods/${password.id}`)).toMatchObject(last)
  expect(await app.operator.patch(`${I}/auth-methods/${password.id}`, { enabled_login: false })).toMatchObject(last)
  expectStatus(await app.operator.delete(`${I}/auth-methods/${totp.id}`), 204)

  const passkey = expectStatus(
    await app.operator.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey' }),
    201,
  ).data
  const responses = await Promise.all(
    [password, passkey].map(({ id }) => app.operator.patch(`${I}/auth-methods/${id}`, { enabled_login: false })),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
  expectStatus(await app.operator.patch(`${I}/auth-methods/${password.id}`, { enabled_login: true }), 200)
  await expectConsoleSignInToWork()
})

test('the owner of the system account stays active, also when ownership changes concurrently', async () => {
  const owned = refused(/owns the system account/)
  expect(await app.operator.patch(`${I}/users/${ownerId}`, { status: 'suspended' })).toMatchObject(owned)
  expect(await app.operator.patch(`${I}/users/${ownerId}`, { status: 'blocked' })).toMatchObject(owned)
  expect(await app.operator.delete(`${I}/users/${ownerId}`)).toMatchObject(owned)
  await expectConsoleSignInToWork()

  for (let round = 0; round < 4; round++) {
    const next = await createUser(realm.tenant, `next-${round}@example.com`)
    await Promise.all([
      app.operator.patch(A, { owner_user_id: next }),
      app.operator.patch(`${I}/users/${next}`, { status: 'suspended' }),
    ])
    const { owner_user_id } = expectStatus(await app.operator.get(A), 200).data
    expect(expectStatus(await app.operator.get(`${I}/users/${owner_user_id}`), 200).data.status).toBe('active')
  }
})
