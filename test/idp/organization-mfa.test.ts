/**
 * Organizations that require two factors, and sessions with one factor (docs/contract.md#grant-and-client-rules rule 6,
 * docs/contract.md#second-factors).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { addMethods, createTestUser, enrollTotp, type TestUser } from '../setup/factors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { headingOf, type Page } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ORDERS = 'https://orders.example'

let app: TestApp
let realm: Realm
let client: TestClient
let other: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  await addMethods(realm, 'totp')
  client = await realm.createClient({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
  other = await realm.createClient({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner

async function organization(person: TestUser, mfa_required: boolean, scopes: string[] = []): Promise<string> {
  const list = `${realm.tenant.I}/organizations`
  const body = { security: { mfa_required }, default_member_scopes: scopes }
  const { id } = expectStatus(await owner().post(list, body), 201).data
  await join(person, id)
  return id
}
const join = async (person: TestUser, org: string) =>
  expectStatus(await owner().post(`${realm.tenant.I}/organizations/${org}/members`, { member_id: person.id }), 201)
const demand = async (org: string, mfa_required: boolean) =>
  expectStatus(await owner().patch(`${realm.tenant.I}/organizations/${org}`, { security: { mfa_required } }), 200)

/** The ids of the organizations in the tokens. Access token and ID token must have the same. */
function organizationsIn(tokens: AnyJson): string[] {
  const [access, id] = [tokens.access_token, tokens.id_token].map((token) =>
    (jwtClaims(token).organizations ?? []).map((one: AnyJson) => one.id),
  )
  expect(id).toEqual(access)
  return access
}

/** Enrolls an authenticator app for a user, signs the user in with it, and returns the browser and the tokens. */
async function withTotp(person: TestUser, params: Record<string, string> = {}) {
  const secret = await enrollTotp(realm, person)
  const { browser, page: start, verifier } = await realm.openSignInPage(client, params)
  const page = await browser.submit(start, { username: person.username, password: PASSWORD })
  const done = await browser.submit(page, { code: totpCode(secret, app.clock.now()), method: 'code' })
  return { browser, tokens: await tokensOf(client, done, verifier) }
}

async function tokensOf(at: TestClient, page: Page, verifier: string): Promise<AnyJson> {
  const params = { code: redirectParametersOf(page)['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const { status, body } = await realm.exchangeCode(at, params)
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

const refreshed = async (tokens: AnyJson): Promise<AnyJson> => {
  const { status, body } = await realm.refresh(client, tokens['refresh_token'])
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

test('joined after the sign-in: omitted from tokens of a session with one factor, included with two', async () => {
  const one = await createTestUser(realm)
  const two = await createTestUser(realm)
  const easy = await organization(one, false)
  await join(two, easy)
  const single = await realm.signInForTokens(client, one.username)
  const { tokens: double } = await withTotp(two)
  expect([organizationsIn(single), organizationsIn(double)]).toEqual([[easy], [easy]])

  const strict = await organization(one, true)
  await join(two, strict)
  expect(organizationsIn(await refreshed(single))).toEqual([easy])
  expect(organizationsIn(await refreshed(double))).toEqual([strict, easy])
})

test('enabled after the sign-in, and disabled again: applies at the next refresh', async () => {
  const person = await createTestUser(realm)
  const org = await organization(person, false)
  let tokens: AnyJson = await realm.signInForTokens(client, person.username)
  expect(organizationsIn(tokens)).toEqual([org])
  await demand(org, true)
  tokens = await refreshed(tokens)
  expect(organizationsIn(tokens)).toEqual([])
  expect(jwtClaims(tokens['access_token'])).not.toHaveProperty('organizations')
  await demand(org, false)
  expect(organizationsIn(await refreshed(tokens))).toEqual([org])
})

test('enabled between the code and its exchange: omitted as well', async () => {
  const person = await createTestUser(realm)
  const org = await organization(person, false)
  const { page, verifier } = await realm.signIn(client, person.username)
  await demand(org, true)
  expect(organizationsIn(await tokensOf(client, page, verifier))).toEqual([])
})

test('with that organization selected, refresh and code are invalid_grant; a new sign-in for it asks for two factors', async () => {
  const person = await createTestUser(realm)
  const org = await organization(person, false)
  const tokens = await realm.signInForTokens(client, person.username, { org })
  expect(jwtClaims(tokens.access_token)).toMatchObject({ org_id: org })
  const { redirect, verifier: unused } = await realm.signIn(client, person.username, { org })
  await demand(org, true)
  expect((await realm.refresh(client, tokens.refresh_token)).body.error).toBe('invalid_grant')
  const late = await realm.exchangeCode(client, {
    code: redirect['code']!,
    code_verifier: unused,
    redirect_uri: REDIRECT_URI,
  })
  expect([late.status, late.body.error]).toEqual([400, 'invalid_grant'])

  const again = await realm.openSignInPage(client, { org }, tokens.browser)
  expect(headingOf(again.page)).toBe('Sign in')
  const setUp = await again.browser.submit(again.page, { username: person.username, password: PASSWORD })
  expect(headingOf(setUp)).toBe('Set up an authenticator app')
  const secret = /<p class="secret"[^>]*>([^<]+)</.exec(setUp.html)![1]!.replaceAll(' ', '')
  const done = await again.browser.submit(setUp, { code: totpCode(secret, app.clock.now()), method: 'code' })
  const better = await tokensOf(client, done, again.verifier)
  expect(jwtClaims(better['access_token'])).toMatchObject({ org_id: org })
  expect(jwtClaims((await refreshed(better))['access_token'])).toMatchObject({ org_id: org })
})

test('a second factor used for one application counts for the others of that browser', async () => {
  const person = await createTestUser(realm)
  const org = await organization(person, false)
  const { browser } = await realm.signIn(other, person.username)
  await demand(org, true)
  const secret = await enrollTotp(realm, person)
  const begun = await realm.openSignInPage(client, {}, browser)
  const factor = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
  const done = await browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
  expect(organizationsIn(await tokensOf(client, done, begun.verifier))).toEqual([org])
  const silent = await realm.openSignInPage(other, {}, browser)
  expect(organizationsIn(await tokensOf(other, silent.page, silent.verifier))).toEqual([org])
})

test('a token of a session with one factor cannot be exchanged for one with such an organization', async () => {
  const person = await createTestUser(realm)
  const scopes = ['stock:read']
  const shop = await realm.createClient({ allowed_resources: [ORDERS] }, { confidential: true, settings: { scopes } })
  const token_exchange = {
    subject_resources: [{ resource: ORDERS, scopes }],
    target_resources: [{ resource: 'https://stock.example', scopes }],
  }
  const none = { redirect_uris: [], post_logout_redirect_uris: [] }
  const actor = await realm.createClient(
    { application_type: 'm2m', grant_types: [EXCHANGE], ...none, token_exchange },
    { confidential: true },
  )
  const org = await organization(person, false, scopes)
  const subject = await realm.signInForTokens(shop, person.username, { resource: ORDERS, scope: 'openid stock:read' })
  const exchange = () =>
    realm.postForm('/token', actor, {
      grant_type: EXCHANGE,
      subject_token: subject.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: 'https://stock.example',
      scope: 'stock:read',
      org,
    })
  expect((await exchange()).status).toBe(200)
  await demand(org, true)
  const { status, body } = await exchange()
  expect([status, body.error]).toEqual([400, 'invalid_grant'])
})
