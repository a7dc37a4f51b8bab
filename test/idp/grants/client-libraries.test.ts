/** Machine clients with common libraries: client credentials of clients and agents, token exchange (RFC 8693). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { expectStatus } from '../../setup/actors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { Realm, type TestClient } from '../realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const ORDERS = 'https://orders.example'
const STOCK = 'https://stock.example'
const none = { redirect_uris: [], post_logout_redirect_uris: [] }
const settings = { scopes: ['stock:read'] }

let app: TestApp
let realm: Realm
let user: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  user = await realm.createUser('ada@example.com')
})
afterAll(() => app.close())

const configure = (client: TestClient, authentication?: openid.ClientAuth) =>
  openid.discovery(new URL(realm.url), client.id, client.secret, authentication, {
    execute: [openid.allowInsecureRequests],
  })

/** Verifies a token as a resource server with this audience does (RFC 9068). */
async function check(token: string, audience: string) {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const as = await oauth.processDiscoveryResponse(
    new URL(realm.url),
    await oauth.discoveryRequest(new URL(realm.url), insecure),
  )
  const request = new Request(audience, { headers: { authorization: `Bearer ${token}` } })
  return oauth.validateJwtAccessToken(as, request, audience, insecure)
}

test.each(['client_secret_basic', 'client_secret_post'])(
  'openid-client: an M2M client and an agent, with %s',
  async (method) => {
    const { owner, I } = realm.tenant
    const { id } = expectStatus(await owner.post(`${I}/agents`, { name: 'Scribe', scopes: ['stock:read'] }), 201).data
    const { secret } = expectStatus(
      await owner.post(`${I}/agents/${id}/verifiers`, { type: 'secret', name: null }),
      201,
    ).data
    const openidSettings = { application_type: 'm2m', allowed_resources: [STOCK], ...none }
    const machine = await realm.createClient(openidSettings, { confidential: true, settings })
    for (const client of [machine, { id, secret }]) {
      const proof = method === 'client_secret_basic' ? openid.ClientSecretBasic : openid.ClientSecretPost
      const config = await configure(client, proof(client.secret!))
      const tokens = await openid.clientCredentialsGrant(config, { resource: STOCK, scope: 'stock:read' })
      expect(await check(tokens.access_token, STOCK)).toMatchObject({ sub: client.id, client_id: client.id })
      expect((await openid.tokenIntrospection(config, tokens.access_token)).active).toBe(true)
      await openid.tokenRevocation(config, tokens.access_token)
      expect((await openid.tokenIntrospection(config, tokens.access_token)).active).toBe(false)
    }
  },
)

test('openid-client: a service exchanges the token of its caller, and the next service verifies the new token (RFC 9068)', async () => {
  const { owner, I } = realm.tenant
  const org = expectStatus(await owner.post(`${I}/organizations`, { default_member_scopes: ['stock:read'] }), 201).data
    .id
  expectStatus(await owner.post(`${I}/organizations/${org}/members`, { member_id: user }), 201)
  const shop = await realm.createClient({ allowed_resources: [ORDERS] }, { settings })
  const entries = (resource: string) => [{ resource, scopes: ['stock:read'] }]
  const token_exchange = { subject_resources: entries(ORDERS), target_resources: entries(STOCK) }
  const service = await realm.createClient(
    { application_type: 'm2m', grant_types: [EXCHANGE], token_exchange, ...none },
    { confidential: true },
  )
  const { access_token } = await realm.signInForTokens(shop, 'ada@example.com', {
    resource: ORDERS,
    scope: 'openid stock:read',
  })
  expect(await check(access_token, ORDERS)).toMatchObject({ sub: user, client_id: shop.id })

  const config = await configure(service, openid.ClientSecretBasic(service.secret!))
  const parameters = {
    subject_token: access_token,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    resource: STOCK,
    scope: 'stock:read',
    org,
  }
  const tokens = await openid.genericGrantRequest(config, EXCHANGE, parameters)
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 300, scope: 'stock:read' })
  expect(tokens['issued_token_type']).toBe(ACCESS_TOKEN)
  expect(await check(tokens.access_token, STOCK)).toMatchObject({
    sub: user,
    client_id: service.id,
    act: { sub: service.id },
    org_id: org,
  })
  expect(await openid.tokenIntrospection(config, tokens.access_token)).toMatchObject({ act: { sub: service.id } })
})
