/** Initial access tokens through GraphQL: docs/contract.md#initial-access-tokens. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Realm } from '../idp/realm.js'
import {
  createInitialAccessToken,
  publicMetadata,
  register,
  setRegistrationPolicy,
} from '../idp/registration-fixture.js'
import { createRestrictedKey } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { eventsOfTarget } from './stored-rows.js'

const DAY = 86_400_000

let app: TestApp
let realm: Realm
beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Registration')
  await setRegistrationPolicy(realm, { enabled: true })
})
afterAll(() => app.close())

async function list(at = realm, args = ''): Promise<AnyJson> {
  const { accountId, issuerId, owner } = at.tenant
  const query = `query ($accountId: ID!, $issuerId: ID!) { initialAccessTokens(accountId: $accountId, issuerId: $issuerId${args}) {
    data { id name status uses maxUses lastUsedAt tokenPlain } nextCursor hasMore } }`
  return (await owner.graphql(query, { accountId, issuerId })).body.data.initialAccessTokens
}

async function revoke(id: string, at = realm, api = realm.tenant.owner): Promise<AnyJson> {
  const { accountId, issuerId } = at.tenant
  const mutation = `mutation ($accountId: ID!, $issuerId: ID!, $id: ID!) {
    revokeInitialAccessToken(accountId: $accountId, issuerId: $issuerId, initialAccessTokenId: $id) { id status } }`
  const { body } = await api.graphql(mutation, { accountId, issuerId, id })
  return body.data?.revokeInitialAccessToken ?? body.errors[0].extensions
}

test('only the response to the creation contains the token; the list shows uses and status, newest first', async () => {
  const { token } = await createInitialAccessToken(realm, { name: 'Partner', maxUses: 2 })
  expect(token).toMatchObject({
    id: expect.stringMatching(/^iat_/),
    name: 'Partner',
    maxUses: 2,
    uses: 0,
    status: 'active',
    lastUsedAt: null,
    tokenPlain: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect(token.createdBy).toMatch(/^ak_/)
  expect(token.expiresAt - token.createdAt).toBe(3_600_000)
  const second = (await createInitialAccessToken(realm)).token
  expect(second.maxUses).toBe(1)
  expect((await register(realm, publicMetadata(), token.tokenPlain)).status).toBe(201)
  expect((await register(realm, publicMetadata(), second.tokenPlain)).status).toBe(201)
  const { data } = await list()
  expect(data.slice(0, 2)).toEqual([
    {
      id: second.id,
      name: null,
      status: 'used',
      uses: 1,
      maxUses: 1,
      lastUsedAt: expect.any(Number),
      tokenPlain: null,
    },
    {
      id: token.id,
      name: 'Partner',
      status: 'active',
      uses: 1,
      maxUses: 2,
      lastUsedAt: expect.any(Number),
      tokenPlain: null,
    },
  ])
  const page = await list(realm, ', limit: 1')
  expect(page.hasMore).toBe(true)
  expect((await list(realm, `, cursor: "${page.nextCursor}"`)).data[0].id).toBe(token.id)
})

test('a revoked token registers no client; a repeated revocation changes nothing; the events name the token', async () => {
  const { token } = await createInitialAccessToken(realm, { maxUses: 5 })
  expect(await revoke(token.id)).toEqual({ id: token.id, status: 'revoked' })
  expect(await revoke(token.id)).toEqual({ id: token.id, status: 'revoked' })
  expect((await register(realm, publicMetadata(), token.tokenPlain)).status).toBe(401)
  const events = await eventsOfTarget(app, token.id)
  expect(events.map(({ type }) => type)).toEqual(['initial_access_token.created', 'initial_access_token.revoked'])
  expect(events[0]!.data).toMatchObject({ max_uses: 5, uses: 0, expires_at: token.expiresAt })
})

test('invalid inputs are refused with the name of the field', async () => {
  for (const [input, field] of [
    [{ expiresIn: 59 }, 'expiresIn'],
    [{ expiresIn: 31_536_001 }, 'expiresIn'],
    [{ maxUses: 0 }, 'maxUses'],
    [{ maxUses: 10_001 }, 'maxUses'],
    [{ name: 'x'.repeat(201) }, 'name'],
  ] as [object, string][]) {
    const { error } = await createInitialAccessToken(realm, input)
    expect([error.extensions.code, error.extensions.details[0].field]).toEqual(['INVALID_REQUEST', field])
  }
})

test('a token belongs to its issuer: another tenant gets 404', async () => {
  const other = await Realm.create(app, 'Other')
  const { token } = await createInitialAccessToken(realm)
  expect((await revoke(token.id, other, other.tenant.owner)).code).toBe('NOT_FOUND')
  expect((await revoke(token.id, realm, other.tenant.owner)).code).toBe('NOT_FOUND')
  expect((await list(other)).data).toEqual([])
})

test('creation and revocation require issuers.clients:manage, and creation the platform scopes that the issuer allows', async () => {
  const writer = await createRestrictedKey(realm.tenant, { scopes: ['issuers.clients:write'] })
  const manager = await createRestrictedKey(realm.tenant, { scopes: ['issuers.clients:manage'] })
  const { token } = await createInitialAccessToken(realm, {}, manager)
  expect(token.status).toBe('active')
  expect((await createInitialAccessToken(realm, {}, writer)).error.extensions.code).toBe('INSUFFICIENT_SCOPE')
  expect((await revoke(token.id, realm, writer)).code).toBe('INSUFFICIENT_SCOPE')
  await setRegistrationPolicy(realm, { allowed_scopes: ['issuers.users:read'] })
  const { error } = await createInitialAccessToken(realm, {}, manager)
  expect([error.extensions.code, error.extensions.scope]).toEqual(['INSUFFICIENT_SCOPE', 'issuers.users:read'])
  await setRegistrationPolicy(realm, { allowed_scopes: [] })
})

test('an issuer has at most 100 active tokens, also under parallel requests', async () => {
  const full = await Realm.create(app, 'Full')
  const { accountId, issuerId } = full.tenant
  await app.gatehouse.database.pool.query(
    `INSERT INTO initial_access_tokens (id, account_id, issuer_id, hash, max_uses, expires_at, created_at, updated_at)
     SELECT 'iat_' || n, $2, $1, 'hash ' || n, 1, $3::bigint + 60000, $3, $3 FROM generate_series(1, 98) n`,
    [issuerId, accountId, app.clock.now()],
  )
  const results = await Promise.all(Array.from({ length: 5 }, () => createInitialAccessToken(full)))
  expect(results.filter(({ error }) => error === undefined)).toHaveLength(2)
  expect(results.find(({ error }) => error)!.error.extensions.code).toBe('TOO_MANY_REQUESTS')
})

test('tokens are deleted 31 days after their expiry or revocation', async () => {
  const { schedule } = await import('../../src/schedule.js')
  const { systemContext } = await import('../../src/platform/jobs/periodic-jobs.js')
  const { prisma } = app.gatehouse.database
  const ids = []
  const now = app.clock.now()
  for (const data of [{ expiresAt: now - 31 * DAY }, { revokedAt: now - 31 * DAY }, { expiresAt: now - 30 * DAY }]) {
    const { id } = (await createInitialAccessToken(realm)).token
    ids.push(id)
    await prisma.initialAccessToken.update({ where: { id }, data })
  }
  await schedule.find(({ name }) => name === 'purge-initial-access-tokens')!.run(systemContext(app.gatehouse))
  expect(await prisma.initialAccessToken.findMany({ where: { id: { in: ids } }, select: { id: true } })).toEqual([
    { id: ids[2] },
  ])
})
