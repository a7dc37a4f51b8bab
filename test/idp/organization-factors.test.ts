/** Organizations that demand two factors, and sessions that were begun with one (spec 5.2 rule 6, security rule 11). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { addMethods, giveTotp, makePerson, type Person } from '../setup/factors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { headingOf, type Page } from './browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ORDERS = 'https://orders.example'

let app: TestApp
let realm: Realm
let client: TestClient
let other: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  await addMethods(realm, 'totp')
  client = await realm.client({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
  other = await realm.client({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner

async function organization(person: Person, mfa_required: boolean, scopes: string[] = []): Promise<string> {
  const list = `${realm.tenant.I}/organizations`
  const body = { security: { mfa_required }, default_member_scopes: scopes }
  const { id } = must(await owner().post(list, body), 201).data
  await join(person, id)
  return id
}
const join = async (person: Person, org: string) =>
  must(await owner().post(`${realm.tenant.I}/organizations/${org}/members`, { member_id: person.id }), 201)
const demand = async (org: string, mfa_required: boolean) =>
  must(await owner().patch(`${realm.tenant.I}/organizations/${org}`, { security: { mfa_required } }), 200)

/** The organizations that these tokens speak of, access and ID token alike. */
function organizationsIn(tokens: Loose): string[] {
  const [access, id] = [tokens.access_token, tokens.id_token].map((token) =>
    (claimsOf(token).organizations ?? []).map((one: Loose) => one.id),
  )
  expect(id).toEqual(access)
  return access
}

/** Tokens of somebody who uses a second factor. */
async function withTotp(person: Person, params: Record<string, string> = {}) {
  const secret = await giveTotp(realm, person)
  const { browser, page: start, verifier } = await realm.begin(client, params)
  const page = await browser.submit(start, { username: person.username, password: PASSWORD })
  const done = await browser.submit(page, { code: totpCode(secret, app.clock.now()), method: 'code' })
  return { browser, tokens: await tokensOf(client, done, verifier) }
}

async function tokensOf(at: TestClient, page: Page, verifier: string): Promise<Loose> {
  const params = { code: redirectOf(page)['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
  const { status, body } = await realm.exchange(at, params)
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

const refreshed = async (tokens: Loose): Promise<Loose> => {
  const { status, body } = await realm.refresh(client, tokens['refresh_token'])
  expect([status, body.error]).toEqual([200, undefined])
  return body
}

test('joined after the sign-in: left out of tokens of a session with one factor, there in those of one with two', async () => {
  const one = await makePerson(realm)
  const two = await makePerson(realm)
  const easy = await organization(one, false)
  await join(two, easy)
  const single = await realm.tokens(client, one.username)
  const { tokens: double } = await withTotp(two)
  expect([organizationsIn(single), organizationsIn(double)]).toEqual([[easy], [easy]])

  const strict = await organization(one, true)
  await join(two, strict)
  expect(organizationsIn(await refreshed(single))).toEqual([easy])
  expect(organizationsIn(await refreshed(double))).toEqual([strict, easy])
})

test('switched on after the sign-in, and off again: the next refresh knows', async () => {
  const person = await makePerson(realm)
  const org = await organization(person, false)
  let tokens: Loose = await realm.tokens(client, person.username)
  expect(organizationsIn(tokens)).toEqual([org])
  await demand(org, true)
  tokens = await refreshed(tokens)
  expect(organizationsIn(tokens)).toEqual([])
  expect(claimsOf(tokens['access_token'])).not.toHaveProperty('organizations')
  await demand(org, false)
  expect(organizationsIn(await refreshed(tokens))).toEqual([org])
})

test('switched on between the code and its exchange: left out as well', async () => {
  const person = await makePerson(realm)
  const org = await organization(person, false)
  const { page, verifier } = await realm.signIn(client, person.username)
  await demand(org, true)
  expect(organizationsIn(await tokensOf(client, page, verifier))).toEqual([])
})

test('with that org selected refresh and code are invalid_grant; signing in for it asks for two factors, and then all is well', async () => {
  const person = await makePerson(realm)
  const org = await organization(person, false)
  const tokens = await realm.tokens(client, person.username, { org })
  expect(claimsOf(tokens.access_token)).toMatchObject({ org_id: org })
  const { redirect, verifier: unused } = await realm.signIn(client, person.username, { org })
  await demand(org, true)
  expect((await realm.refresh(client, tokens.refresh_token)).body.error).toBe('invalid_grant')
  const late = await realm.exchange(client, {
    code: redirect['code']!,
    code_verifier: unused,
    redirect_uri: CALLBACK,
  })
  expect([late.status, late.body.error]).toEqual([400, 'invalid_grant'])

  const again = await realm.begin(client, { org }, tokens.browser)
  expect(headingOf(again.page)).toBe('Sign in')
  const setUp = await again.browser.submit(again.page, { username: person.username, password: PASSWORD })
  expect(headingOf(setUp)).toBe('Set up an authenticator app')
  const secret = /<p class="secret"[^>]*>([^<]+)</.exec(setUp.html)![1]!.replaceAll(' ', '')
  const done = await again.browser.submit(setUp, { code: totpCode(secret, app.clock.now()), method: 'code' })
  const better = await tokensOf(client, done, again.verifier)
  expect(claimsOf(better['access_token'])).toMatchObject({ org_id: org })
  expect(claimsOf((await refreshed(better))['access_token'])).toMatchObject({ org_id: org })
})

test('who has used two factors at one application has them at the others of that browser, too', async () => {
  const person = await makePerson(realm)
  const org = await organization(person, false)
  const { browser } = await realm.signIn(other, person.username)
  await demand(org, true)
  const secret = await giveTotp(realm, person)
  const begun = await realm.begin(client, {}, browser)
  const factor = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
  const done = await browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
  expect(organizationsIn(await tokensOf(client, done, begun.verifier))).toEqual([org])
  const silent = await realm.begin(other, {}, browser)
  expect(organizationsIn(await tokensOf(other, silent.page, silent.verifier))).toEqual([org])
})

test('a token of a session with one factor is not exchanged for one that speaks of such an organization', async () => {
  const person = await makePerson(realm)
  const scopes = ['stock:read']
  const shop = await realm.client({ allowed_resources: [ORDERS] }, { confidential: true, settings: { scopes } })
  const token_exchange = {
    subject_resources: [{ resource: ORDERS, scopes }],
    target_resources: [{ resource: 'https://stock.example', scopes }],
  }
  const none = { redirect_uris: [], post_logout_redirect_uris: [] }
  const actor = await realm.client(
    { application_type: 'm2m', grant_types: [EXCHANGE], ...none, token_exchange },
    { confidential: true },
  )
  const org = await organization(person, false, scopes)
  const subject = await realm.tokens(shop, person.username, { resource: ORDERS, scope: 'openid stock:read' })
  const exchange = () =>
    realm.post('/token', actor, {
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
