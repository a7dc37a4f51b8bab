/**
 * Tokens and the endpoints that accept them (docs/contract.md#refresh, docs/contract.md#introspection-and-revocation,
 * docs/contract.md#grant-and-client-rules, docs/contract.md#tokens-and-claims).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { TestBrowser } from './browser.js'
import {
  jwtClaims,
  jwtHeader,
  PASSWORD,
  REDIRECT_URI,
  Realm,
  readResponse,
  redirectParametersOf,
  type TestClient,
} from './realm.js'

let app: TestApp
let realm: Realm
let userId: string
let spa: TestClient
let web: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  userId = await realm.createUser('ada@example.com')
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient(
    {
      allowed_audiences: ['https://api.example.com'],
      allowed_resources: ['https://r.example.com/a', 'https://r.example.com/b'],
    },
    { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
  )
})
afterAll(() => app.close())

describe('the access token', () => {
  test('is an RFC 9068 JWT with exactly these claims', async () => {
    const { access_token, expires_in, scope, token_type } = await realm.signInForTokens(spa, 'ada@example.com', {
      scope: 'openid email',
    })
    expect(jwtHeader(access_token)).toEqual({
      alg: 'ES256',
      typ: 'at+jwt',
      kid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    const claims = jwtClaims(access_token)
    expect(claims).toEqual({
      iss: realm.url,
      sub: userId,
      aud: spa.id,
      exp: claims.iat + 1800,
      iat: expect.any(Number),
      nbf: claims.iat,
      jti: expect.stringMatching(/^tok_[0-9a-z]{26}$/),
      client_id: spa.id,
      sid: expect.stringMatching(/^ses_[0-9a-z]{26}$/),
      scope: 'openid email',
      auth_time: expect.any(Number),
      acr: 'urn:svc:assurance:loa1',
    })
    expect([expires_in, scope, token_type]).toEqual([1800, 'openid email', 'Bearer'])
  })

  test('a requested audience or resource becomes aud; the refresh token keeps it', async () => {
    const audience = await realm.signInForTokens(web, 'ada@example.com', { audience: 'https://api.example.com' })
    expect(jwtClaims(audience.access_token).aud).toBe('https://api.example.com')
    const again = await realm.refresh(web, audience.refresh_token)
    expect(jwtClaims(again.body.access_token).aud).toBe('https://api.example.com')
    const resource = await realm.signInForTokens(web, 'ada@example.com', { resource: 'https://r.example.com/a' })
    expect(jwtClaims(resource.access_token).aud).toBe('https://r.example.com/a')
    expect(jwtClaims(resource.id_token).aud).toBe(web.id)
    const other = await realm.refresh(web, resource.refresh_token, { resource: 'https://r.example.com/b' })
    expect([other.status, other.body.error]).toEqual([400, 'invalid_target'])
  })

  test('if several resources are granted, each access token is for one of them, by default the first (RFC 8707)', async () => {
    const url = new URL(realm.authorizeUrl(web))
    for (const name of ['a', 'b']) url.searchParams.append('resource', `https://r.example.com/${name}`)
    const own = new TestBrowser()
    const back = redirectParametersOf(
      await own.submit(await own.open(url.href), { username: 'ada@example.com', password: PASSWORD }),
    )
    const first = await realm.exchangeCode(web, {
      code: back['code']!,
      redirect_uri: REDIRECT_URI,
      resource: 'https://r.example.com/b',
    })
    expect(jwtClaims(first.body.access_token).aud).toBe('https://r.example.com/b')
    const second = await realm.refresh(web, first.body.refresh_token)
    expect(jwtClaims(second.body.access_token).aud).toBe('https://r.example.com/a')
    const third = await realm.refresh(web, second.body.refresh_token, { resource: 'https://r.example.com/c' })
    expect(third.body.error).toBe('invalid_target')
    const many = (...names: string[]) =>
      realm.postForm('/token', web, [
        ['grant_type', 'refresh_token'],
        ['refresh_token', second.body.refresh_token],
        ...names.map((name): [string, string] => ['resource', `https://r.example.com/${name}`]),
      ])
    expect((await many('b', 'c')).body.error).toBe('invalid_target')
    expect(jwtClaims((await many('b', 'a')).body.access_token).aud).toBe('https://r.example.com/b')
  })

  test('with resource={BASE_URL} it is valid at the Core API, as far as user and client may, and ends with its session', async () => {
    const { owner, I } = realm.tenant
    const client = await realm.createClient(
      { allowed_resources: [app.baseUrl] },
      { settings: { scopes: ['issuers.users:read', 'issuers.clients:read'] } },
    )
    const id = await realm.createUser('clerk@example.com')
    expectStatus(await owner.patch(`${I}/users/${id}`, { scopes: ['issuers.users:read'] }), 200)
    const params = { resource: app.baseUrl, scope: 'openid issuers.users:read issuers.clients:read' }
    const { access_token } = await realm.signInForTokens(client, 'clerk@example.com', params)
    expect(jwtClaims(access_token).aud).toBe(app.baseUrl)
    const clerk = createApiClient(app.baseUrl, access_token)
    expect((await clerk.get(`${I}/users`)).status).toBe(200)
    expect((await clerk.get(`${I}/clients`)).status).toBe(403)
    const plain = await realm.signInForTokens(client, 'clerk@example.com', { scope: params.scope })
    expect((await createApiClient(app.baseUrl, plain.access_token).get(`${I}/users`)).status).toBe(401)
    expectStatus(await owner.patch(`${I}/users/${id}`, { status: 'suspended', status_reason: 'test' }), 200)
    expect((await clerk.get(`${I}/users`)).status).toBe(401)
  })

  test("the client's own scopes are granted along with the OpenID scopes; others are dropped", async () => {
    const { scope } = await realm.signInForTokens(web, 'ada@example.com', { scope: 'openid orders:read orders:delete' })
    expect(scope).toBe('openid orders:read')
  })

  test('without openid there is no ID token', async () => {
    const { id_token, scope } = await realm.signInForTokens(web, 'ada@example.com', { scope: 'orders:read' })
    expect([id_token, scope]).toEqual([undefined, 'orders:read'])
  })

  test('lifetimes come from the client, in seconds; every exp is within 21 days', async () => {
    const ages = { default_access_token_age: 60, default_id_token_age: 120, default_refresh_token_age: 1_814_400 }
    const client = await realm.createClient({}, { settings: ages })
    const { access_token, id_token, expires_in } = await realm.signInForTokens(client, 'ada@example.com')
    const [access, id] = [jwtClaims(access_token), jwtClaims(id_token)]
    expect([access.exp - access.iat, expires_in, id.exp - id.iat]).toEqual([60, 60, 120])
  })
})

test('the ID token has exactly these claims and no profile; acr is the first requested value that is satisfied', async () => {
  const acr_values = 'urn:svc:method:passkey urn:svc:method:password'
  const { id_token } = await realm.signInForTokens(spa, 'ada@example.com', {
    scope: 'openid profile email',
    nonce: 'n-0',
    acr_values,
  })
  const { iat } = jwtClaims(id_token)
  expect(jwtClaims(id_token)).toEqual({
    iss: realm.url,
    sub: userId,
    aud: spa.id,
    exp: iat + 3600,
    iat,
    auth_time: expect.any(Number),
    nonce: 'n-0',
    acr: 'urn:svc:method:password',
    amr: ['pwd'],
    at_hash: expect.any(String),
    sid: expect.stringMatching(/^ses_/),
  })
})

describe('userinfo', () => {
  test('GET, POST with a header and POST with a form return the claims of the granted scopes', async () => {
    const profile = {
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      locale: 'en-GB',
      phone_number: '+441234567',
      hair: 'brown',
    }
    expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${userId}`, { profile }), 200)
    const { access_token } = await realm.signInForTokens(spa, 'ada@example.com', { scope: 'openid profile phone' })
    const { hair: _, phone_number, ...shown } = profile
    const expected = { sub: userId, ...shown, phone_number, phone_number_verified: false }
    const address = `${realm.url}/userinfo`
    const headers = { authorization: `Bearer ${access_token}` }
    for (const init of [
      { headers },
      { method: 'POST', headers },
      { method: 'POST', body: new URLSearchParams({ access_token }) },
    ]) {
      const { status, body, headers: responseHeaders } = await readResponse(await fetch(address, init))
      expect([status, body]).toEqual([200, expected])
      expect(responseHeaders.get('cache-control')).toBe('no-store')
    }
  })

  test('every other token is 401 with a Bearer challenge (RFC 6750)', async () => {
    const { access_token, id_token, refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
    const foreign = await Realm.create(app, 'Foreign')
    await foreign.createUser('eve@example.com')
    const other = await foreign.signInForTokens(await foreign.createClient(), 'eve@example.com')
    const [head, body, signature] = access_token.split('.') as [string, string, string]
    const altered = Buffer.from(JSON.stringify({ ...jwtClaims(access_token), sub: 'usr_x' })).toString('base64url')
    const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url')
    for (const token of [
      id_token,
      refresh_token,
      other.access_token,
      `${head}.${altered}.${signature}`,
      `${unsigned}.${body}.`,
      'x',
      'a.b.c',
      `~${access_token}`,
    ]) {
      const { status, body: said, headers } = await realm.userinfo(token)
      expect([status, said.error]).toEqual([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).toMatch(/^Bearer /)
    }
    expect((await fetch(`${realm.url}/userinfo`)).status).toBe(401)
  })

  test('a token without openid is 403 insufficient_scope', async () => {
    const { access_token } = await realm.signInForTokens(web, 'ada@example.com', { scope: 'orders:read' })
    const { status, body, headers } = await realm.userinfo(access_token)
    expect([status, body.error]).toEqual([403, 'insufficient_scope'])
    expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="insufficient_scope".*scope="openid"/)
  })

  test('exp has no leeway', async () => {
    const { access_token } = await realm.signInForTokens(spa, 'ada@example.com')
    const { exp } = jwtClaims(access_token)
    app.clock.advance(exp * 1000 - 2000 - app.clock.now())
    expect((await realm.userinfo(access_token)).status).toBe(200)
    app.clock.advance(exp * 1000 - app.clock.now())
    expect((await realm.userinfo(access_token)).status).toBe(401)
    app.clock.advance(Date.now() - app.clock.now())
  })
})

describe('refresh', () => {
  test('rotates, keeps the full grant and narrows this response', async () => {
    const first = await realm.signInForTokens(web, 'ada@example.com', { scope: 'openid email orders:read' })
    const narrow = await realm.refresh(web, first.refresh_token, { scope: 'openid orders:read' })
    expect([narrow.status, narrow.body.scope]).toEqual([200, 'openid orders:read'])
    expect(jwtClaims(narrow.body.access_token).scope).toBe('openid orders:read')
    const full = await realm.refresh(web, narrow.body.refresh_token)
    expect(full.body.scope).toBe('openid email orders:read')
    const wider = await realm.refresh(web, full.body.refresh_token, { scope: 'openid orders:write' })
    expect([wider.status, wider.body]).toEqual([400, { error: 'invalid_scope', error_description: expect.any(String) }])
    expect((await realm.refresh(web, full.body.refresh_token)).status).toBe(200)
  })

  test('org is rejected at the token endpoint', async () => {
    const { refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
    const response = await realm.refresh(spa, refresh_token, { org: 'org_x' })
    expect([response.status, response.body.error]).toEqual([400, 'invalid_request'])
    expect((await realm.refresh(spa, refresh_token, { org: '' })).status).toBe(200)
  })

  test("another client's refresh token is invalid_grant and stays valid", async () => {
    const { refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    expect((await realm.refresh(spa, refresh_token)).status).toBe(200)
  })

  test('a client without the grant gets no refresh token and is unauthorized_client', async () => {
    const plain = await realm.createClient({ grant_types: ['authorization_code'] })
    expect((await realm.signInForTokens(plain, 'ada@example.com')).refresh_token).toBeUndefined()
    const response = await realm.refresh(plain, 'x')
    expect([response.status, response.body.error]).toEqual([400, 'unauthorized_client'])
  })

  test('a refresh token expires 7 days after its last use', async () => {
    const { refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
    app.clock.advance(604_800_000 - 60_000)
    const again = await realm.refresh(spa, refresh_token)
    expect(again.status).toBe(200)
    app.clock.advance(604_800_000 + 1000)
    expect((await realm.refresh(spa, again.body.refresh_token)).body.error).toBe('invalid_grant')
    app.clock.advance(Date.now() - app.clock.now())
  })
})

describe('client authentication', () => {
  const form = { grant_type: 'refresh_token', refresh_token: 'x' }
  const send = async (body: Record<string, string>, authorization?: string) =>
    readResponse(
      await fetch(`${realm.url}/token`, {
        method: 'POST',
        body: new URLSearchParams(body),
        headers: authorization ? { authorization } : {},
      }),
    )
  const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret}`)}`

  test('Basic and POST both work; wrong, missing and foreign secrets are 401 invalid_client with a Basic challenge', async () => {
    expect((await send(form, basic(web.id, web.secret!))).body.error).toBe('invalid_grant')
    expect((await send({ ...form, client_id: web.id, client_secret: web.secret! })).body.error).toBe('invalid_grant')
    const unknown = `cli_${'0'.repeat(26)}`
    const wrong = [
      send(form, basic(web.id, 'x'.repeat(43))),
      send({ ...form, client_id: web.id, client_secret: 'x'.repeat(43) }),
      send({ ...form, client_id: web.id }),
      send({ ...form, client_id: unknown }),
      send(form, basic(unknown, web.secret!)),
    ]
    for (const { status, body, headers } of await Promise.all(wrong)) {
      expect([status, body.error]).toEqual([401, 'invalid_client'])
      expect(headers.get('www-authenticate')).toMatch(/^Basic /)
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  test('after a rotation both secrets work for 15 minutes, then only the new secret', async () => {
    const client = await realm.createClient({}, { confidential: true })
    const { data } = expectStatus(
      await realm.tenant.owner.post(`${realm.tenant.I}/clients/${client.id}/secret/rotate`),
      200,
    )
    for (const secret of [client.secret!, data.secret])
      expect((await send(form, basic(client.id, secret))).body.error).toBe('invalid_grant')
    app.clock.advance(15 * 60_000)
    expect((await send(form, basic(client.id, client.secret!))).body.error).toBe('invalid_client')
    expect((await send(form, basic(client.id, data.secret))).body.error).toBe('invalid_grant')
    app.clock.advance(-15 * 60_000)
  })
})

describe('introspection and revocation', () => {
  const inactive = { active: false }
  /** A token in the form of an encrypted JWT: a header and four more parts (RFC 7516 section 3.1). */
  const JWE = `${Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url')}..a.b.c`
  const introspect = (token: string, client = web) => realm.postForm('/introspect', client, { token })

  test('an access token and a refresh token: exactly the documented members', async () => {
    const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com', {
      scope: 'openid orders:read',
    })
    const { iat, exp, jti, sid } = jwtClaims(access_token)
    const common = {
      active: true,
      scope: 'openid orders:read',
      client_id: web.id,
      sub: userId,
      aud: web.id,
      iss: realm.url,
      sid,
      username: 'ada@example.com',
    }
    const access = await introspect(access_token)
    expect(access.body).toEqual({ ...common, token_type: 'Bearer', iat, exp, jti })
    expect(access.headers.get('cache-control')).toBe('no-store')
    const refresh = await introspect(refresh_token)
    expect(refresh.body).toMatchObject({ ...common, jti: expect.stringMatching(/^tok_/) })
    expect(JSON.stringify(refresh.body)).not.toContain(refresh_token)
    expect(refresh.body.exp - refresh.body.iat).toBe(604_800)
  })

  test('token_type_hint is only a hint', async () => {
    const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
    for (const token_type_hint of ['access_token', 'refresh_token', 'nonsense']) {
      for (const token of [access_token, refresh_token]) {
        expect((await realm.postForm('/introspect', web, { token, token_type_hint })).body.active).toBe(true)
      }
    }
  })

  test('tokens of other clients, ID tokens and invalid text are active: false and nothing else', async () => {
    const { access_token, refresh_token, id_token } = await realm.signInForTokens(spa, 'ada@example.com')
    for (const token of [
      access_token,
      refresh_token,
      id_token,
      'x',
      'a.b.c',
      JWE,
      '~',
      `~${access_token}`,
      '.'.repeat(300),
    ]) {
      expect((await introspect(token)).body).toEqual(inactive)
    }
  })

  test('a public client is rejected, whatever the token', async () => {
    const { access_token } = await realm.signInForTokens(spa, 'ada@example.com')
    for (const token of [access_token, 'x']) expect((await introspect(token, spa)).status).toBe(401)
  })

  test('a revoked access token is invalid immediately; the refresh token stays valid', async () => {
    const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
    const response = await realm.postForm('/revoke', web, { token: access_token })
    expect([response.status, response.body]).toEqual([200, ''])
    expect((await introspect(access_token)).body).toEqual(inactive)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect((await realm.refresh(web, refresh_token)).status).toBe(200)
  })

  test('a revoked refresh token revokes its access tokens (RFC 7009 section 2.1); the browser stays signed in', async () => {
    const { access_token, refresh_token, browser } = await realm.signInForTokens(web, 'ada@example.com')
    expect((await realm.postForm('/revoke', web, { token: refresh_token })).status).toBe(200)
    expect((await introspect(refresh_token)).body).toEqual(inactive)
    expect((await introspect(access_token)).body).toEqual(inactive)
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    expect(
      (await realm.signInForTokens(web, 'ada@example.com', { prompt: 'none' }, browser)).access_token,
    ).toBeDefined()
  })

  test('the audit log names what was revoked, an access token or a refresh token, and not its value', async () => {
    const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
    const { jti: refreshId } = (await introspect(refresh_token)).body
    for (const token of [access_token, refresh_token, refresh_token]) await realm.postForm('/revoke', web, { token })
    const { jti, sid } = jwtClaims(access_token)
    const all = await app.gatehouse.database.prisma.event.findMany({
      where: { sessionId: sid },
      orderBy: { id: 'asc' },
    })
    const events = all.filter(({ type }) => type === 'token.revoked')
    for (const { authType, actor } of all.filter(({ type }) => type !== 'session.created')) {
      expect([authType, actor]).toEqual(['client', { type: 'client', id: web.id, name: 'Notebook' }])
    }
    expect(events.map(({ target, userId: who, clientId, data }) => ({ target, who, clientId, data }))).toEqual(
      [
        [jti, 'access_token'],
        [refreshId, 'refresh_token'],
      ].map(([id, token_type]) => ({
        target: { type: 'token', id },
        who: userId,
        clientId: web.id,
        data: { token_type, revoked_at: expect.any(Number) },
      })),
    )
  })

  test('revoking an unknown token or a token of another client is 200 and has no effect', async () => {
    const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
    for (const token of [access_token, refresh_token, 'x', 'a.b.c', JWE]) {
      expect((await realm.postForm('/revoke', spa, { token })).status).toBe(200)
    }
    expect((await introspect(access_token)).body.active).toBe(true)
    expect((await introspect(refresh_token)).body.active).toBe(true)
  })
})

describe('client credentials', () => {
  test('without scope the full set, a scope outside it is invalid_scope, openid is ignored; no session, no refresh token', async () => {
    const m2m = await realm.createClient(
      { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
      { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
    )
    const ask = (params: Record<string, string> = {}) =>
      realm.postForm('/token', m2m, { grant_type: 'client_credentials', ...params })
    const full = await ask()
    expect(Object.keys(full.body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
    expect(full.body).toMatchObject({ expires_in: 1800, scope: 'orders:read orders:write', token_type: 'Bearer' })
    const claims = jwtClaims(full.body.access_token)
    expect(Object.keys(claims).sort()).toEqual(['aud', 'client_id', 'exp', 'iat', 'iss', 'jti', 'nbf', 'scope', 'sub'])
    expect([claims.sub, claims.aud, claims.client_id]).toEqual([m2m.id, m2m.id, m2m.id])
    expect((await ask({ scope: 'openid orders:read' })).body.scope).toBe('orders:read')
    expect((await ask({ scope: 'orders:delete' })).body.error).toBe('invalid_scope')
    expect((await ask({ resource: 'https://r.example.com' })).body.error).toBe('invalid_target')
    expect((await introspect(full.body.access_token, m2m)).body).toMatchObject({ active: true, sub: m2m.id })
    expect((await realm.userinfo(full.body.access_token)).status).toBe(403)
    expect((await realm.postForm('/token', web, { grant_type: 'client_credentials' })).body.error).toBe(
      'unauthorized_client',
    )
  })
  test('openid alone is ignored; profile, email and others are like any other scope', async () => {
    const m2m = await realm.createClient(
      { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
      { confidential: true, settings: { scopes: ['openid', 'email', 'orders:read'] } },
    )
    const ask = (params: Record<string, string> = {}) =>
      realm.postForm('/token', m2m, { grant_type: 'client_credentials', ...params })
    expect((await ask()).body.scope).toBe('email orders:read')
    expect((await ask({ scope: 'openid email' })).body.scope).toBe('email')
    expect((await ask({ scope: 'openid' })).body).not.toHaveProperty('scope')
    for (const scope of ['profile', 'phone orders:read', 'openid address']) {
      const { status, body } = await ask({ scope })
      expect({ scope, status, error: body.error }).toEqual({ scope, status: 400, error: 'invalid_scope' })
    }
    const { access_token } = (await ask({ scope: 'email' })).body
    const claims = jwtClaims(access_token)
    expect(Object.keys(claims).sort()).toEqual(['aud', 'client_id', 'exp', 'iat', 'iss', 'jti', 'nbf', 'scope', 'sub'])
    const seen = (await introspect(access_token, m2m)).body
    expect(seen).toMatchObject({ active: true, scope: 'email', sub: m2m.id })
    for (const name of ['username', 'email', 'email_verified']) expect(seen).not.toHaveProperty(name)
    expect((await realm.userinfo(access_token)).status).toBe(403)
  })

  test('without any scope the response and the token have no scope (RFC 6749 section 3.3)', async () => {
    const m2m = await realm.createClient(
      { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
      { confidential: true },
    )
    const { body } = await realm.postForm('/token', m2m, { grant_type: 'client_credentials' })
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'token_type'])
    expect(jwtClaims(body.access_token)).not.toHaveProperty('scope')
    expect((await introspect(body.access_token, m2m)).body).not.toHaveProperty('scope')
  })

  const introspect = (token: string, client: TestClient) => realm.postForm('/introspect', client, { token })
})

test('a form of 64 KiB is accepted at every endpoint, and one more byte is 413', async () => {
  const { access_token: token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
  const authorization = `Basic ${btoa(`${web.id}:${web.secret}`)}`
  const send = (path: string, params: Record<string, string>, headers: Record<string, string>, bytes: number) => {
    const body = new URLSearchParams({ ...params, padding: '' })
    body.set('padding', 'x'.repeat(bytes - body.toString().length))
    return fetch(`${realm.url}${path}`, { method: 'POST', body, headers }).then(readResponse)
  }
  for (const [path, params, headers] of [
    ['/introspect', { token }, { authorization }],
    ['/userinfo', { access_token: token }, {}],
    ['/userinfo', {}, { authorization: `Bearer ${token}` }],
    ['/token', { grant_type: 'refresh_token', refresh_token }, { authorization }],
    ['/revoke', { token }, { authorization }],
  ] as [string, Record<string, string>, Record<string, string>][]) {
    const { status } = await send(path, params, headers, 65_537)
    expect([path, status]).toEqual([path, 413])
    const response = await send(path, params, headers, 65_536)
    expect([path, response.status, response.body.error]).toEqual([path, 200, undefined])
  }
})

describe('invalid input gets the error of the RFC and never a 5xx', () => {
  test.each<[string, number, string, () => Promise<Response>]>([
    [
      'an empty body, without client authentication (RFC 6749 section 5.2)',
      401,
      'invalid_client',
      () => fetch(`${realm.url}/token`, { method: 'POST' }),
    ],
    [
      'introspection without client authentication (RFC 7662 section 2.3)',
      401,
      'invalid_client',
      () => fetch(`${realm.url}/introspect`, { method: 'POST', body: new URLSearchParams({ token: 'x' }) }),
    ],
    [
      'JSON',
      400,
      'invalid_request',
      () =>
        fetch(`${realm.url}/token`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
    ],
    [
      'NUL',
      400,
      'invalid_request',
      () => fetch(`${realm.url}/token`, { method: 'POST', body: new URLSearchParams({ code: 'a\u0000b' }) }),
    ],
    [
      'an unknown grant',
      400,
      'unsupported_grant_type',
      () =>
        fetch(`${realm.url}/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'password', client_id: spa.id }),
        }),
    ],
    [
      'repeated parameters',
      400,
      'invalid_request',
      () =>
        fetch(`${realm.url}/token`, {
          method: 'POST',
          body: `grant_type=refresh_token&client_id=${spa.id}&refresh_token=a&refresh_token=b`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        }),
    ],
    [
      'a body over 64 KiB',
      413,
      'payload_too_large',
      () => fetch(`${realm.url}/token`, { method: 'POST', body: new URLSearchParams({ code: 'x'.repeat(70_000) }) }),
    ],
    ['a NUL in a query', 400, 'invalid_request', () => fetch(`${realm.url}/userinfo?x=%00`)],
    ['a token in the query', 400, 'invalid_request', () => fetch(`${realm.url}/userinfo?access_token=x`)],
    [
      'two ways to send a token',
      400,
      'invalid_request',
      () =>
        fetch(`${realm.url}/userinfo`, {
          method: 'POST',
          body: new URLSearchParams({ access_token: 'x' }),
          headers: { authorization: 'Bearer y' },
        }),
    ],
    [
      'JSON, even if the caller prefers HTML',
      401,
      'invalid_client',
      () =>
        fetch(`${realm.url}/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'x', client_id: 'x' }),
          headers: { accept: 'text/html' },
        }),
    ],
    [
      'broken Basic',
      400,
      'invalid_request',
      () =>
        fetch(`${realm.url}/introspect`, {
          method: 'POST',
          body: new URLSearchParams({ token: 'x' }),
          headers: { authorization: 'Basic %%%' },
        }),
    ],
    [
      'no token to introspect',
      400,
      'invalid_request',
      async () =>
        fetch(`${realm.url}/introspect`, {
          method: 'POST',
          body: new URLSearchParams({ client_id: web.id, client_secret: web.secret! }),
        }),
    ],
  ])('%s', async (_, status, error, send) => {
    const response = await readResponse(await send())
    expect([response.status, response.body.error]).toEqual([status, error])
    expect(typeof response.body.error_description).toBe('string')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

test('CORS: the origin of a public client can read responses, another origin cannot', async () => {
  const { refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token, client_id: spa.id })
  const send = (origin: string) => fetch(`${realm.url}/token`, { method: 'POST', body, headers: { origin } })
  const strange = await send('https://evil.example')
  expect([strange.status, strange.headers.get('access-control-allow-origin')]).toEqual([400, null])
  const own = await send(new URL(REDIRECT_URI).origin)
  expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example.com'])
  // Scripts of an allowed origin can also read error responses.
  body.set('refresh_token', ((await own.json()) as AnyJson).refresh_token)
  body.set('org', 'org_x')
  for (const [origin, readable] of [
    ['https://app.example.com', 'https://app.example.com'],
    ['https://evil.example', null],
  ] as const) {
    const refused = await send(origin)
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([400, readable])
    expect(((await refused.json()) as AnyJson).error).toBe('invalid_request')
  }
  body.set('org', '')
  expect((await send('https://app.example.com')).status).toBe(200)
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
  }
  expect((await fetch(`${realm.url}/token`, preflight)).status).toBe(204)
})
