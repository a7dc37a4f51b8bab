/** The client configuration endpoint (RFC 7592): docs/contract.md#client-configuration-endpoint. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventsOfTarget } from '../contract/stored-rows.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { type IdpResponse, REDIRECT_URI, Realm } from './realm.js'
import {
  initialAccessToken,
  publicMetadata,
  registered,
  sendJson,
  setRegistrationPolicy,
} from './registration-fixture.js'

let app: TestApp
let realm: Realm

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Open')
  await setRegistrationPolicy(realm, {
    enabled: true,
    initial_access_token_required: false,
    allowed_scopes: ['notes:read', 'notes:write'],
  })
})
afterAll(() => app.close())

/** Calls the client configuration endpoint with the registration access token. */
const configure = (
  { registration_client_uri, registration_access_token }: AnyJson,
  method: string,
  body?: object,
  token: string = registration_access_token,
): Promise<IdpResponse> => sendJson(realm, registration_client_uri, { method, body, token })

const clientPath = (client: AnyJson, at = realm) => `${at.tenant.I}/clients/${client.client_id}`

/** The metadata of an update: RFC 7592 requires the client id. */
const updateOf = (client: AnyJson, change: object = {}) => ({ ...publicMetadata(change), client_id: client.client_id })

test('life cycle: a client reads, replaces and deletes its registration', async () => {
  const client = await registered(realm)
  const read = await configure(client, 'GET')
  expect([read.status, read.headers.get('cache-control'), read.body]).toEqual([200, 'no-store', client])

  const update = updateOf(client, {
    client_name: 'Notes 2',
    redirect_uris: ['https://app.example.com/other'],
    contacts: ['ops@example.com'],
    scope: 'notes:read',
  })
  const updated = await configure(client, 'PUT', update)
  expect([updated.status, updated.body]).toEqual([
    200,
    {
      ...client,
      ...update,
      scope: 'openid profile email phone address offline_access notes:read',
      registration_access_token: client.registration_access_token,
    },
  ])
  expect((await configure(client, 'GET')).body).toEqual(updated.body)
  const events = await eventsOfTarget(app, client.client_id)
  expect(events.at(-1)).toMatchObject({
    type: 'client.updated',
    actor: { type: 'client', id: client.client_id },
    changes: { name: { old: 'Notes', new: 'Notes 2' } },
  })

  const deleted = await configure(client, 'DELETE')
  expect([deleted.status, deleted.body]).toEqual([204, ''])
  expect((await realm.tenant.owner.get(clientPath(client))).status).toBe(404)
  const { page } = await realm.openSignInPage({ id: client.client_id, secret: undefined })
  expect(page.status).toBe(400)
  for (const method of ['GET', 'DELETE']) expect((await configure(client, method)).status).toBe(401)
})

test('a deleted client is removed at once if no user has signed in to it and it has no client credentials; the event stays', async () => {
  const count = ({ client_id: id }: AnyJson) => app.gatehouse.database.prisma.client.count({ where: { id } })
  const unused = await registered(realm)
  const used = await registered(realm)
  const machine = await registered(realm, { grant_types: ['client_credentials'] }, await initialAccessToken(realm))
  const where = { clientId: used.client_id }
  await app.gatehouse.database.prisma.clientRegistration.update({ where, data: { usedAt: app.clock.now() } })
  for (const client of [unused, used, machine]) {
    expect((await configure(client, 'DELETE')).status).toBe(204)
    expect((await eventsOfTarget(app, client.client_id)).at(-1)).toMatchObject({ type: 'client.deleted' })
  }
  expect([await count(unused), await count(used), await count(machine)]).toEqual([0, 1, 1])
})

test('an update keeps or narrows the scopes, and cannot add client_credentials', async () => {
  const at = await Realm.create(app, 'Scopes')
  const policy = { enabled: true, initial_access_token_required: false }
  await setRegistrationPolicy(at, { ...policy, allowed_scopes: ['notes:read', 'notes:write'] })
  const metadata = { redirect_uris: [REDIRECT_URI] }
  const client = await registered(at, metadata, await initialAccessToken(at))
  await setRegistrationPolicy(at, { allowed_scopes: ['notes:read', 'notes:write', 'notes:delete'] })
  const scopeAfter = async (change: object) =>
    (await configure(client, 'PUT', { ...metadata, client_id: client.client_id, ...change })).body.scope
  expect(await scopeAfter({})).toMatch(/phone address notes:read notes:write$/)
  expect(await scopeAfter({ scope: 'notes:read notes:delete' })).toMatch(/address notes:read$/)
  expect(await scopeAfter({ scope: 'notes:read notes:write' })).toMatch(/address notes:read$/)
  const grant_types = ['client_credentials']
  const machine = await configure(client, 'PUT', { client_id: client.client_id, grant_types })
  expect([machine.status, machine.body.error]).toEqual([400, 'invalid_client_metadata'])
})

test('an update replaces all metadata: members that are absent or null are removed', async () => {
  const full = publicMetadata({
    logo_uri: 'https://app.example.com/logo.png',
    client_uri: 'https://app.example.com',
    contacts: ['ops@example.com'],
    post_logout_redirect_uris: ['https://app.example.com/goodbye'],
  })
  const client = await registered(realm, full)
  const { body } = await configure(client, 'PUT', updateOf(client, { contacts: null }))
  for (const name of ['logo_uri', 'client_uri', 'contacts', 'post_logout_redirect_uris'])
    expect(body).not.toHaveProperty(name)
})

test('an update keeps the settings that only administrators change', async () => {
  const client = await registered(realm)
  const settings = {
    default_access_token_age: 60,
    restrictions: { organizations: { policy: 'none' } },
    openid: { allowed_audiences: ['https://api.example.com'] },
  }
  expectStatus(await realm.tenant.owner.patch(clientPath(client), { settings }), 200)
  expect((await configure(client, 'PUT', updateOf(client))).status).toBe(200)
  expect((await realm.tenant.owner.get(clientPath(client))).body.data.settings).toMatchObject(settings)
})

describe('refused updates', () => {
  // biome-ignore format: a table
  const table: [string, (client: AnyJson) => object, string, string][] = [
    ['without client_id', () => publicMetadata(), 'invalid_client_metadata', 'client_id'],
    ['with the id of another client', () => publicMetadata({ client_id: 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd' }), 'invalid_client_metadata', 'client_id'],
    ['with the registration access token', (client) => updateOf(client, { registration_access_token: client.registration_access_token }), 'invalid_client_metadata', 'registration_access_token'],
    ['with client_id_issued_at', (client) => updateOf(client, { client_id_issued_at: 1 }), 'invalid_client_metadata', 'client_id_issued_at'],
    ['with a secret for a public client', (client) => updateOf(client, { client_secret: 'x'.repeat(43) }), 'invalid_client_metadata', 'client_secret'],
    ['that makes a public client confidential', (client) => updateOf(client, { token_endpoint_auth_method: 'client_secret_basic' }), 'invalid_client_metadata', 'token_endpoint_auth_method'],
    ['with a hostile redirect URI', (client) => updateOf(client, { redirect_uris: ['javascript:alert(1)'] }), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['to client_credentials', (client) => updateOf(client, { grant_types: ['client_credentials'] }), 'invalid_client_metadata', 'initial access token'],
  ]
  test.each(table)('%s', async (_, bodyOf, error, text) => {
    const client = await registered(realm)
    const { status, body } = await configure(client, 'PUT', bodyOf(client))
    expect([status, body]).toEqual([400, { error, error_description: expect.stringContaining(text) }])
    expect((await configure(client, 'GET')).body).toEqual(client)
  })

  test('of the grant types of a client that registered with a token, when it adds client_credentials to a public client', async () => {
    const client = await registered(realm, publicMetadata(), await initialAccessToken(realm))
    const { body } = await configure(client, 'PUT', updateOf(client, { grant_types: ['client_credentials'] }))
    expect(body.error).toBe('invalid_client_metadata')
  })
})

test('a confidential client keeps its secret, and an update may repeat the secret', async () => {
  const client = await registered(realm, { redirect_uris: [REDIRECT_URI] })
  const { client_secret, ...known } = client
  expect((await configure(client, 'GET')).body).toEqual(known)
  const metadata = { client_id: client.client_id, redirect_uris: [REDIRECT_URI] }
  const repeated = await configure(client, 'PUT', { ...metadata, client_secret })
  expect([repeated.status, repeated.body]).toEqual([200, client])
  const wrong = await configure(client, 'PUT', { ...metadata, client_secret: 'x'.repeat(43) })
  expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_client_metadata'])
  const probe = { token: 'unknown' }
  expect((await realm.postForm('/introspect', { id: client.client_id, secret: client_secret }, probe)).body).toEqual({
    active: false,
  })
})

test('the registration access token is valid for one client at one issuer: another token is 401 with a challenge', async () => {
  const client = await registered(realm)
  const sibling = await registered(realm)
  const other = await Realm.create(app, 'Other')
  await setRegistrationPolicy(other, { enabled: true, initial_access_token_required: false })
  const foreign = await registered(other)
  const byAdministrator = await realm.createClient()
  const uri = client.registration_client_uri
  const attempts: [string, string | undefined][] = [
    [uri, undefined],
    [uri, 'wrong'],
    [uri, sibling.registration_access_token],
    [uri, foreign.registration_access_token],
    [uri, await initialAccessToken(realm)],
    [`${other.url}/register/${client.client_id}`, client.registration_access_token],
    [`${realm.url}/register/${byAdministrator.id}`, client.registration_access_token],
  ]
  for (const [url, token] of attempts) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? updateOf(client, { client_name: 'Hijacked' }) : undefined
      const response = await sendJson(realm, url, { method, token, body })
      expect([response.status, response.body.error]).toEqual([401, 'invalid_token'])
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="/)
    }
  }
  expect((await configure(client, 'GET')).body).toEqual(client)
})

test('a client that an administrator has deleted is 401, a disabled one 403; the administrator can enable it again', async () => {
  const client = await registered(realm)
  const { owner } = realm.tenant
  expectStatus(await owner.patch(clientPath(client), { status: 'disabled' }), 200)
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const response = await configure(client, method, method === 'PUT' ? updateOf(client) : undefined)
    expect([response.status, response.body.error]).toEqual([403, 'access_denied'])
  }
  expectStatus(await owner.patch(clientPath(client), { status: 'active' }), 200)
  expect((await configure(client, 'GET')).status).toBe(200)
  expectStatus(await owner.delete(clientPath(client)), 204)
  expect((await configure(client, 'GET')).status).toBe(401)
})

test('an update takes away scopes that an administrator has granted and the issuer does not allow registered clients', async () => {
  const client = await registered(realm)
  const scopes = ['issuers.users:read']
  expectStatus(await realm.tenant.owner.patch(clientPath(client), { settings: { scopes } }), 200)
  const redirect_uris = ['https://evil.example/cb']
  const kept = updateOf(client, { redirect_uris, scope: 'openid issuers.users:read' })
  const { body } = await configure(client, 'PUT', kept)
  expect(body.scope).toBe('openid profile email phone address offline_access')
})

test('a method that the endpoint does not support is 405', async () => {
  const client = await registered(realm)
  const response = await configure(client, 'PATCH', {})
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE, OPTIONS'])
})
