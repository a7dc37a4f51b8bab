/**
 * What relying parties send by default: forms at the authorization endpoint, `form_post`, `offline_access`,
 * `prompt=create` and the parameter `claims` (docs/contract.md#authorization-requests,
 * docs/contract.md#claims-parameter).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fieldValueOf, headingOf, type Page, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient

const ADA = 'ada@example.com'

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser(ADA)
  web = await realm.createClient({ application_type: 'web' }, { confidential: true })
})
afterAll(() => app.close())

/** Splits an authorization request into the URL of the endpoint and the parameters as a form. */
function formOf(url: string): { endpoint: string; body: URLSearchParams } {
  const { origin, pathname, searchParams } = new URL(url)
  return { endpoint: `${origin}${pathname}`, body: new URLSearchParams(searchParams) }
}

describe('POST /authorize works like GET', () => {
  test('a form leads to the sign-in page, and the sign-in to the application', async () => {
    const browser = realm.newBrowser()
    const { endpoint, body } = formOf(realm.authorizeUrl(web, { nonce: 'n', ui_locales: 'de' }))
    const page = await browser.open(endpoint, { method: 'POST', body })
    expect(headingOf(page)).toBe('Anmelden')
    const result = await browser.submit(page, { username: ADA, password: PASSWORD })
    expect(redirectParametersOf(result)).toMatchObject({ state: 'st', iss: realm.url })
  })

  test('a browser with a session signs in without a page, also from another site', async () => {
    const { browser } = await realm.signIn(web, ADA)
    const { endpoint, body } = formOf(realm.authorizeUrl(web, { prompt: 'none' }))
    const headers = { 'sec-fetch-site': 'cross-site' }
    const response = await browser.request(endpoint, { method: 'POST', body, headers }, true)
    expect(response.status).toBe(303)
    const page = await browser.open(new URL(response.headers.get('location')!, endpoint).href, {}, true)
    expect(redirectParametersOf(page)['code']).toBeDefined()
  })

  test('repeated resources, a long form of another site and parameters in the query', async () => {
    const api = ['https://one.example.com', 'https://two.example.com']
    const client = await realm.createClient({ allowed_resources: api }, { confidential: true })
    const { endpoint, body } = formOf(realm.authorizeUrl(client))
    for (const resource of api) body.append('resource', resource)
    body.set('login_hint', 'a'.repeat(7000))
    const headers = { 'sec-fetch-site': 'cross-site' }
    // The query does not count, so `prompt=none` has no effect.
    const page = await realm.newBrowser().open(`${endpoint}?prompt=none`, { method: 'POST', body, headers })
    expect(headingOf(page)).toBe('Sign in')
  })

  test.each<[string, (url: string) => URLSearchParams | string]>([
    ['an empty form', () => new URLSearchParams()],
    ['a repeated parameter', (url) => new URLSearchParams([...new URL(url).searchParams, ['state', 'other']])],
    ['text', () => 'response_type=code'],
  ])('%s is an error page or an error for the application, never a 5xx', async (_, bodyOf) => {
    const url = realm.authorizeUrl(web)
    const body = bodyOf(url)
    const page = await realm.newBrowser().open(formOf(url).endpoint, { method: 'POST', body })
    expect(page.status).toBeLessThan(500)
    expect(page.html === '' ? redirectParametersOf(page)['error'] : page.html).toContain('invalid_request')
  })
})

describe('response_mode=form_post', () => {
  /** Returns the parameters of the form that a page posts to the redirect URI. */
  function postedParametersOf(page: Page): Record<string, string | undefined> {
    expect(page.html).toContain(`<form method="post" action="${REDIRECT_URI}">`)
    return Object.fromEntries(
      ['code', 'state', 'iss', 'session_state', 'error'].map((name) => [name, fieldValueOf(page, name)]),
    )
  }

  test('the page posts code, state, iss and session_state to the redirect URI', async () => {
    const browser = realm.newBrowser()
    const signInPage = await browser.open(realm.authorizeUrl(web, { response_mode: 'form_post' }))
    const page = await browser.submit(signInPage, { username: ADA, password: PASSWORD })
    expect(page.status).toBe(200)
    const { code, ...others } = postedParametersOf(page)
    expect(others).toEqual({ state: 'st', iss: realm.url, session_state: expect.any(String) })
    expect((await realm.exchangeCode(web, { code: code!, redirect_uri: REDIRECT_URI })).status).toBe(200)
  })

  test('the page is not cached, runs only its own script, and lets the application see its origin', async () => {
    const { browser } = await realm.signIn(web, ADA)
    const { headers } = await browser.open(realm.authorizeUrl(web, { response_mode: 'form_post' }))
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'sha256-[^']+';/)
    expect(headers.get('content-security-policy')).not.toContain('form-action')
    expect(headers.get('referrer-policy')).toBe('strict-origin')
  })

  test('errors are posted too, with the state escaped', async () => {
    const params = { response_mode: 'form_post', prompt: 'none', state: '"><script>' }
    const page = await new TestBrowser().open(realm.authorizeUrl(web, params))
    expect(postedParametersOf(page)).toMatchObject({ error: 'login_required', state: '"><script>' })
    expect(page.html).not.toContain('"><script>"')
  })

  /** An unsigned request object (RFC 9101). */
  function requestObject(payload: object): string {
    const [header, body] = [{ alg: 'none' }, payload].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    return `${header}.${body}.`
  }

  test('the error request_not_supported is posted if only the request object asks for form_post', async () => {
    const request = requestObject({ response_mode: 'form_post' })
    const page = await new TestBrowser().open(realm.authorizeUrl(web, { request }))
    expect(postedParametersOf(page)).toMatchObject({ error: 'request_not_supported', state: 'st', iss: realm.url })
  })

  test.each<[string, Record<string, string>]>([
    ['a request object without response_mode', { request: requestObject({}) }],
    ['a request object with another response_mode', { request: requestObject({ response_mode: 'fragment' }) }],
    [
      'response_mode in the query, which has priority',
      { request: requestObject({ response_mode: 'form_post' }), response_mode: 'query' },
    ],
    ['text that is not a JWT', { request: 'x.y.z' }],
  ])('the error request_not_supported is in the query for %s', async (_, params) => {
    const page = await new TestBrowser().open(realm.authorizeUrl(web, params))
    expect(redirectParametersOf(page)).toMatchObject({ error: 'request_not_supported', state: 'st' })
  })

  test('an invalid redirect URI shows an error page', async () => {
    const params = { response_mode: 'form_post', redirect_uri: 'https://evil.example/' }
    const page = await new TestBrowser().open(realm.authorizeUrl(web, params))
    expect(page.status).toBe(400)
    expect(page.html).not.toContain('<form')
  })
})

describe('offline_access', () => {
  test('is part of the granted scope for a client with the refresh grant, also after a refresh', async () => {
    const tokens = await realm.signInForTokens(web, ADA, { scope: 'openid email offline_access' })
    expect(tokens.scope.split(' ').sort()).toEqual(['email', 'offline_access', 'openid'])
    expect(jwtClaims(tokens.access_token).scope).toContain('offline_access')
    const refreshed = await realm.refresh(web, tokens.refresh_token)
    expect(refreshed.body.scope).toContain('offline_access')
  })

  test('is dropped for a client without the refresh grant', async () => {
    const client = await realm.createClient({ grant_types: ['authorization_code'] }, { confidential: true })
    const tokens = await realm.signInForTokens(client, ADA, { scope: 'openid offline_access' })
    expect(tokens.scope).toBe('openid')
    expect(tokens.refresh_token).toBeUndefined()
  })
})

describe('prompt=create', () => {
  test('begins at sign-up, and the new user arrives at the application', async () => {
    const open = await Realm.create(app)
    const { owner, I } = open.tenant
    const [method] = expectStatus(await owner.get(`${I}/auth-methods`), 200).data
    expectStatus(await owner.patch(`${I}/auth-methods/${method.id}`, { enabled_signup: true }), 200)
    const client = await open.createClient({}, { confidential: true })
    const browser = open.newBrowser()
    const page = await browser.open(open.authorizeUrl(client, { prompt: 'create', login_hint: 'new@example.com' }))
    expect(headingOf(page)).toBe('Create an account')
    expect(fieldValueOf(page, 'username')).toBe('new@example.com')
    const result = await browser.submit(page, { username: 'new@example.com', new_password: PASSWORD })
    expect(redirectParametersOf(result)['code']).toBeDefined()
    // A signed-in user who asks to create an account gets the form again.
    const again = await browser.open(open.authorizeUrl(client, { prompt: 'create' }))
    expect(headingOf(again)).toBe('Create an account')
  })

  test('shows the sign-in page where users cannot sign up', async () => {
    const { page, browser } = await realm.openSignInPage(web, { prompt: 'create' })
    expect(headingOf(page)).toBe('Sign in')
    const result = await browser.submit(page, { username: ADA, password: PASSWORD })
    expect(redirectParametersOf(result)['code']).toBeDefined()
  })
})

describe('the parameter claims', () => {
  const withClaims = (claims: unknown, scope = 'openid') => ({ scope, claims: JSON.stringify(claims) })

  test('puts claims of granted scopes into the ID token', async () => {
    const request = { id_token: { email: null, name: { essential: true } } }
    const tokens = await realm.signInForTokens(web, ADA, withClaims(request, 'openid email'))
    expect(jwtClaims(tokens.id_token)).toMatchObject({ email: ADA })
    const refreshed = await realm.refresh(web, tokens.refresh_token)
    expect(jwtClaims(refreshed.body.id_token)).toMatchObject({ email: ADA })
  })

  test('a claim of a scope that is not granted is left out unless it is essential', async () => {
    const voluntary = await realm.signInForTokens(web, ADA, withClaims({ id_token: { email: null } }))
    expect(jwtClaims(voluntary.id_token).email).toBeUndefined()
    const essential = { userinfo: { email: { essential: true } } }
    const tokens = await realm.signInForTokens(web, ADA, withClaims(essential))
    expect((await realm.userinfo(tokens.access_token)).body).toMatchObject({ email: ADA })
    expect(jwtClaims(tokens.id_token).email).toBeUndefined()
  })

  test('an acr that is requested in claims works like acr_values', async () => {
    const acr = { value: 'urn:svc:method:password', essential: true }
    const tokens = await realm.signInForTokens(web, ADA, withClaims({ id_token: { acr } }))
    expect(jwtClaims(tokens.id_token).acr).toBe('urn:svc:method:password')
  })

  test.each<[string, string, string]>([
    ['text that is not JSON', '{', 'invalid_request'],
    ['an array', '[]', 'invalid_request'],
    ['no member', '{}', 'invalid_request'],
    ['a member that is not an object', '{"id_token": 1}', 'invalid_request'],
    ['a claim that is text', '{"id_token": {"sub": "x"}}', 'invalid_request'],
    ['a claim that is a boolean', '{"userinfo": {"name": true}}', 'invalid_request'],
    ['a claim that is a list', '{"id_token": {"acr": ["x"]}}', 'invalid_request'],
    ['a forbidden key', '{"id_token": {"__proto__": {"essential": true}}}', 'invalid_request'],
    ['deep nesting', `{"id_token": ${'{"a":'.repeat(60)}1${'}'.repeat(60)}}`, 'invalid_request'],
    [
      'an essential acr that is not supported',
      '{"id_token": {"acr": {"essential": true, "values": ["urn:mace:silver"]}}}',
      'unmet_authentication_requirements',
    ],
  ])('%s is %s', async (_, claims, error) => {
    const page = await new TestBrowser().open(realm.authorizeUrl(web, { claims }))
    expect(redirectParametersOf(page)).toMatchObject({ error, state: 'st' })
  })
})

test('access tokens carry acr and auth_time', async () => {
  const { access_token, id_token } = await realm.signInForTokens(web, ADA)
  const { acr, auth_time } = jwtClaims(id_token)
  expect(jwtClaims(access_token)).toMatchObject({ acr, auth_time })
  expect(acr).toBe('urn:svc:assurance:loa1')
})
