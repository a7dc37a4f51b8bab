/** Malformed values in every parameter, header and cookie of every path never cause a 5xx. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
let token: string
let agent: string
let actor: TestClient
let serviceToken: string

beforeAll(async () => {
  app = await startApp({ env: { LOG_LEVEL: 'silent' } })
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient({}, { confidential: true })
  token = (await realm.signInForTokens(web, 'ada@example.com')).access_token
  const { owner, I } = realm.tenant
  agent = expectStatus(await owner.post(`${I}/agents`, { name: 'A' }), 201).data.id
  const resource = 'https://orders.example'
  const entries = [{ resource, scopes: ['stock:read'] }]
  const token_exchange = {
    subject_resources: entries,
    target_resources: [{ ...entries[0], resource: 'https://stock.example' }],
  }
  const none = { redirect_uris: [], post_logout_redirect_uris: [] }
  actor = await realm.createClient(
    { application_type: 'm2m', grant_types: [EXCHANGE], token_exchange, ...none },
    { confidential: true },
  )
  const shop = await realm.createClient({ allowed_resources: [resource] }, { settings: { scopes: ['stock:read'] } })
  serviceToken = (await realm.signInForTokens(shop, 'ada@example.com', { resource, scope: 'openid stock:read' }))
    .access_token
})
afterAll(() => app.close())

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

const hostile = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\r\nSet-Cookie: x=y',
  '"><script>alert(1)</script>',
  "'; DROP TABLE users; --",
  '\u{1F47B}'.repeat(50),
  'x'.repeat(3000),
  '__proto__',
  'constructor',
  '[object Object]',
  '-1',
  '1e999',
  'NaN',
  'https://[::1',
  'javascript:alert(1)',
  'urn:gatehouse:audience:%E0%A4%A',
  'urn:gatehouse:audience:',
  '%',
  '%ff%fe',
  '../../etc/passwd',
  'a.b.c',
  '....',
  '{"a":1}',
  'eyJhbGciOiJub25lIn0.e30.',
]

const authorizeParams = [
  ['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'nonce', 'code_challenge', 'code_challenge_method'],
  ['audience', 'org', 'resource', 'prompt', 'max_age', 'login_hint', 'ui_locales', 'acr_values', 'id_token_hint'],
  ['response_mode', 'request', 'request_uri', 'claims', 'registration', 'display', 'unknown'],
].flat()

/** Sends a request with exactly this path, because fetch would normalize it. Returns the status. */
function sendRawRequest(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body = '',
): Promise<number> {
  const { hostname, port } = new URL(app.idpUrl)
  return new Promise((done, fail) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      response.resume()
      response.on('end', () => done(response.statusCode ?? 0))
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

async function allBelow500(name: string, sends: (() => Promise<number>)[]): Promise<void> {
  const bad: string[] = []
  for (let at = 0; at < sends.length; at += 10) {
    const statuses = await Promise.all(sends.slice(at, at + 10).map((send) => send()))
    for (const [i, status] of statuses.entries())
      if (status >= 500 || status < 200) bad.push(`${name} #${at + i}: ${status}`)
  }
  expect(bad).toEqual([])
}

const base = (): Record<string, string> => ({
  client_id: spa.id,
  response_type: 'code',
  redirect_uri: REDIRECT_URI,
  scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
})

test('authorize: each parameter', async () => {
  const { pathname } = new URL(realm.url)
  const sends = authorizeParams.flatMap((name) =>
    hostile.map(
      (value) => () => sendRawRequest(`${pathname}/authorize?${new URLSearchParams({ ...base(), [name]: value })}`),
    ),
  )
  const twice = authorizeParams.map(
    (name) => () => sendRawRequest(`${pathname}/authorize?${new URLSearchParams(base())}&${name}=1&${name}=2`),
  )
  await allBelow500('authorize', [...sends, ...twice])
})

test('token, introspect, revoke: each parameter, in the form and in Basic', async () => {
  const { pathname } = new URL(realm.url)
  const post = (path: string, form: Record<string, string>, headers = {}) => {
    const body = new URLSearchParams(form).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) }
    return sendRawRequest(`${pathname}${path}`, { ...type, ...headers }, 'POST', body)
  }
  const own = { client_id: web.id, client_secret: web.secret! }
  const forms: [string, Record<string, string>, string[], object?][] = [
    [
      '/token',
      { ...own, grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT_URI },
      ['code', 'redirect_uri', 'code_verifier', 'resource', 'grant_type', 'client_id', 'client_secret', 'scope'],
    ],
    [
      '/token',
      { ...own, grant_type: 'refresh_token', refresh_token: 'x' },
      ['refresh_token', 'scope', 'resource', 'audience', 'client_assertion'],
    ],
    [
      '/token',
      {
        grant_type: EXCHANGE,
        subject_token: serviceToken,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: 'https://stock.example',
        scope: 'stock:read',
        org: 'org_x',
      },
      ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope', 'org', 'actor_token'],
      { authorization: `Basic ${btoa(`${actor.id}:${actor.secret}`)}` },
    ],
    [
      '/token',
      {
        grant_type: 'client_credentials',
        client_id: agent,
        client_assertion_type: 'urn:gatehouse:params:oauth:client-assertion-type:caip-122',
        client_assertion: 'x',
      },
      ['client_assertion', 'client_assertion_type', 'client_id', 'client_secret', 'scope', 'resource'],
    ],
    [
      '/agents/challenge',
      { client_id: agent, network: 'eip155:1', address: `0x${'a'.repeat(40)}` },
      ['client_id', 'network', 'address'],
    ],
    ['/introspect', { ...own, token }, ['token', 'token_type_hint', 'client_id', 'client_secret']],
    ['/revoke', { ...own, token: 'x' }, ['token', 'token_type_hint', 'client_id', 'client_secret']],
  ]
  const sends = forms.flatMap(([path, form, names, headers]) =>
    names.flatMap((name) => hostile.map((value) => () => post(path, { ...form, [name]: value }, headers))),
  )
  // Malformed values in each member of the assertion of a wallet.
  const assertion = { message: 'x', signature: '0x', type: 'eip191' }
  for (const name of Object.keys(assertion)) {
    for (const value of [...hostile, '\ud800', null, 1, {}, []]) {
      const client_assertion = Buffer.from(JSON.stringify({ ...assertion, [name]: value })).toString('base64url')
      const client_assertion_type = 'urn:gatehouse:params:oauth:client-assertion-type:caip-122'
      const form = { grant_type: 'client_credentials', client_id: agent, client_assertion_type, client_assertion }
      sends.push(() => post('/token', form))
    }
  }
  const basic = hostile.flatMap((value) => [
    () =>
      post(
        '/token',
        { grant_type: 'refresh_token' },
        { authorization: `Basic ${Buffer.from(value).toString('base64')}` },
      ),
    () =>
      post(
        '/token',
        { grant_type: 'refresh_token' },
        { authorization: `Basic ${Buffer.from(`${value}:${value}`).toString('base64')}` },
      ),
  ])
  await allBelow500('token', [...sends, ...basic])
})

test('userinfo, logout, interaction and every path: tokens, cookies, paths, methods', async () => {
  const { pathname } = new URL(realm.url)
  const header = hostile.filter((value) => /^[\x20-\x7e]*$/.test(value))
  const sends = [
    ...header.map((value) => () => sendRawRequest(`${pathname}/userinfo`, { authorization: `Bearer ${value}` })),
    ...header.map((value) => () => sendRawRequest(`${pathname}/userinfo`, { authorization: value })),
    ...header.map(
      (value) => () =>
        sendRawRequest(`${pathname}/logout`, { cookie: `gatehouse_session=${value}; gatehouse_session.sig=${value}` }),
    ),
    ...header.map(
      (value) => () =>
        sendRawRequest(`${pathname}/interaction/aaaaaaaaaaaaaaaaaaaaa`, { cookie: `gatehouse_sign_in=${value}` }),
    ),
    ...header.map(
      (value) => () =>
        sendRawRequest(`${pathname}/jwks.json`, {
          'if-none-match': value,
          'x-forwarded-for': value,
          host: 'x',
          'user-agent': value,
        }),
    ),
    ...hostile.flatMap((value) =>
      ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales', 'logout_hint'].map(
        (name) => () =>
          sendRawRequest(`${pathname}/logout?${new URLSearchParams({ client_id: spa.id, [name]: value })}`),
      ),
    ),
    ...[
      '/',
      '//',
      '/%',
      '/%00',
      '/%2e%2e/',
      `${pathname}/`,
      `${pathname}/%`,
      `${pathname}/authorize/%ff`,
      `${pathname}/interaction/../token`,
      `//${realm.tenant.issuerId}/token`,
      '/?%',
      `${pathname}/authorize?%`,
      `${pathname}/authorize?=&&=&[]=1&a[b]=2`,
    ].map((path) => () => sendRawRequest(path)),
    ...['PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'].map(
      (method) => () => sendRawRequest(`${pathname}/authorize`, {}, method),
    ),
  ]
  await allBelow500('others', sends)
})

describe('input is parsed once: the handler gets the values that were validated', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join('&')
  const send = async (path: string, form: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await fetch(`${realm.url}${path}`, { method: 'POST', headers, body: form })
    return { status: response.status, text: await response.text() }
  }
  const refused = { status: 400, text: expect.stringContaining('more than 200 parameters') }

  test.each(['/token', '/introspect', '/revoke', '/userinfo', '/session', '/agents/challenge', '/logout'])(
    '%s: a parameter after the 200th is rejected with the form, neither dropped nor let through',
    async (path) => {
      for (const hidden of ['refresh_token=a%00b', 'client_secret=x', '__proto__=x', 'token=%00'])
        expect(await send(path, `${many(200)}&${hidden}`)).toEqual(refused)
      expect(await send(path, '&'.repeat(5000))).toEqual(refused)
    },
  )

  test('a form with 200 parameters is read completely, including the last one', async () => {
    const own = `grant_type=refresh_token&refresh_token=x&client_id=${spa.id}`
    expect(JSON.parse((await send('/token', `${many(197)}&${own}`)).text).error).toBe('invalid_grant')
    for (const key of ['__proto__', 'constructor', 'prototype'])
      expect(JSON.parse((await send('/token', `${many(196)}&${own}&${key}=x`)).text).error_description).toContain(key)
  })

  test('the number of query parameters is limited in the same way', async () => {
    const url = realm.authorizeUrl(spa)
    for (const path of [url, `${realm.url}/logout?x=1`, `${realm.url}/userinfo?x=1`]) {
      const response = await fetch(`${path}&${many(200)}&state=%00`, { redirect: 'manual' })
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('more than 200 parameters'),
      ])
    }
    expect((await fetch(`${url}&${many(150)}`, { redirect: 'manual' })).status).toBe(303)
  })

  test('a repeated parameter is rejected', async () => {
    const own = `grant_type=refresh_token&client_id=${spa.id}&refresh_token=a`
    expect(JSON.parse((await send('/token', `${own}&refresh_token=b`)).text).error).toBe('invalid_request')
  })
})

test('bodies: malformed bytes, types and encodings at every endpoint with a body', async () => {
  const { pathname } = new URL(realm.url)
  const paths = [
    ...['/token', '/introspect', '/revoke', '/userinfo', '/session', '/check-session', '/agents/challenge'],
    ...['/logout', '/logout/confirm', '/authorize', '/interaction/aaaaaaaaaaaaaaaaaaaaa', '/callback/am_x'],
  ]
  const types = [
    ...['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=utf-16'],
    ...['application/json', 'multipart/form-data; boundary=x', 'text/plain', 'x', ''],
  ]
  const texts = [
    ...['', '=', '&', '&&=&', '%', '%zz=%', 'a=%ff%fe', 'token=a&token=b', 'a[b]=1&a[b]=2', '{}', 'null', '[]', '1'],
    ...[
      '"x"',
      '{"client_id":{}}',
      '{"client_id":"x","session_state":"y","origin":"null"}',
      '\u0000',
      '--x\r\n\r\n--x--',
    ],
    ...[`token=${'x'.repeat(60_000)}`, `client_id=${'%F0%9F%91%BB'.repeat(4000)}`, `${'a'.repeat(60_000)}=1`],
    ...['['.repeat(10_000), `{"origin":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`],
  ]
  const sends = paths.flatMap((path) =>
    types.flatMap((type) =>
      texts.map((text) => () => {
        const headers = { 'content-type': type, 'content-length': String(Buffer.byteLength(text)) }
        return sendRawRequest(`${pathname}${path}`, headers, 'POST', text)
      }),
    ),
  )
  const encodings = paths.flatMap((path) =>
    ['gzip', 'identity', ',', 'x'.repeat(200)].map((encoding) => () => {
      const headers = { 'content-type': types[0]!, 'content-encoding': encoding, 'content-length': '3' }
      return sendRawRequest(`${pathname}${path}`, headers, 'POST', 'a=b')
    }),
  )
  await allBelow500('bodies', [...sends, ...encodings])
})

test('each parameter of userinfo, session, logout and the session check in the body, and malformed headers', async () => {
  const { pathname } = new URL(realm.url)
  const post = (path: string, form: Record<string, string>, headers = {}) => {
    const body = new URLSearchParams(form).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) }
    return sendRawRequest(`${pathname}${path}`, { ...type, ...headers }, 'POST', body)
  }
  const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales', 'logout_hint', 'csrf']
  const safe = hostile.filter((value) => /^[\x20-\x7e]*$/.test(value))
  const json = (value: unknown) => {
    const body = JSON.stringify(value)
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    return sendRawRequest(`${pathname}/check-session`, headers, 'POST', body)
  }
  const sends = hostile.flatMap((value) => [
    () => post('/userinfo', { access_token: value }),
    () => post('/session', { access_token: value }),
    ...names.map((name) => () => post('/logout', { client_id: spa.id, [name]: value })),
    ...names.map((name) => () => post('/logout/confirm', { client_id: spa.id, [name]: value })),
    ...['client_id', 'session_state', 'origin'].map(
      (name) => () =>
        json({ client_id: spa.id, session_state: 'a.b', origin: 'https://app.example.com', [name]: value }),
    ),
  ])
  const headers = safe.flatMap((value) => [
    () => post('/token', { client_id: spa.id, grant_type: 'refresh_token' }, { origin: value }),
    () => post('/token', { grant_type: 'refresh_token' }, { authorization: value }),
    () => post('/introspect', { token }, { authorization: `Bearer ${value}`, origin: value }),
    () => post('/session', {}, { authorization: `Bearer ${value}`, origin: value }),
    () => post('/userinfo', {}, { authorization: `DPoP ${value}`, dpop: value }),
    () => post('/token', {}, { 'oauth-client-attestation': value, 'oauth-client-attestation-pop': value }),
  ])
  await allBelow500('bodies and headers', [...sends, ...headers])
})

test('the sign-in form: each field', async () => {
  const { page, browser } = await realm.openSignInPage(spa)
  for (const name of ['csrf', 'username', 'password', 'new_password', 'unknown']) {
    for (const value of hostile) {
      const body = new URLSearchParams({ username: 'u', password: '', [name]: value })
      const { status } = await browser.request(page.url, { method: 'POST', body })
      expect({ name, value, below500: status < 500 }).toEqual({ name, value, below500: true })
    }
  }
  // Each submission has a valid form token, so that the sign-in step receives the values.
  let current = page
  for (const value of hostile.filter((text) => !text.includes('\u0000'))) {
    current = await browser.submit(await browser.open(page.url), { username: value, password: value })
    expect(current.status).toBe(200)
  }
})
