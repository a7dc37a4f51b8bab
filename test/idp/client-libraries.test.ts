/** Common OpenID Connect client libraries work with the IdP from discovery to logout. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { TestBrowser } from './browser.js'
import {
  jwtClaims,
  jwtHeader,
  PASSWORD,
  POST_LOGOUT_REDIRECT_URI,
  REDIRECT_URI,
  Realm,
  type TestClient,
} from './realm.js'

let app: TestApp
let realm: Realm
let userId: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  userId = await realm.createUser('ada@example.com')
})
afterAll(() => app.close())

describe('openid-client', () => {
  test.each([
    { alg: 'ES256', openid: {} },
    { alg: 'RS256', openid: { response_signature_alg: 'RS256' } },
    { alg: 'EdDSA', openid: { response_signature_alg: 'EdDSA' } },
  ])(
    'a confidential web client: discovery, sign-in, $alg tokens, userinfo, refresh, introspection, revocation, logout',
    async ({ alg, openid: settings }) => {
      const client = await realm.createClient(settings, { confidential: true })
      const config = await openid.discovery(new URL(realm.url), client.id, client.secret, undefined, {
        execute: [openid.allowInsecureRequests],
      })
      openid.enableNonRepudiationChecks(config)
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const browser = new TestBrowser()
      const authorize = openid.buildAuthorizationUrl(config, {
        redirect_uri: REDIRECT_URI,
        scope: 'openid profile email',
        state: 'a state',
        nonce: 'a nonce',
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      })
      const page = await browser.open(authorize.href)
      const back = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })

      const tokens = await openid.authorizationCodeGrant(config, new URL(back.url), {
        pkceCodeVerifier,
        expectedState: 'a state',
        expectedNonce: 'a nonce',
        idTokenExpected: true,
      })
      const idClaims = tokens.claims()!
      expect(idClaims).toMatchObject({
        sub: userId,
        amr: ['pwd'],
        acr: 'urn:svc:assurance:loa1',
        sid: expect.stringMatching(/^ses_/),
      })
      expect(jwtHeader(tokens.access_token).alg).toBe(alg)
      expect(jwtHeader(tokens.id_token!).alg).toBe(alg)

      const info = await openid.fetchUserInfo(config, tokens.access_token, userId)
      expect(info).toEqual({ sub: userId, email: 'ada@example.com', email_verified: false })

      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(refreshed.claims()?.sub).toBe(userId)

      const active = await openid.tokenIntrospection(config, refreshed.access_token)
      expect(active).toMatchObject({ active: true, sub: userId, client_id: client.id, username: 'ada@example.com' })
      await openid.tokenRevocation(config, refreshed.access_token)
      expect(await openid.tokenIntrospection(config, refreshed.access_token)).toEqual({ active: false })

      const end = openid.buildEndSessionUrl(config, {
        id_token_hint: refreshed.id_token!,
        post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI,
        state: 'bye',
      })
      expect((await browser.open(end.href)).url).toBe(`${POST_LOGOUT_REDIRECT_URI}?state=bye`)
      await expect(openid.refreshTokenGrant(config, refreshed.refresh_token!)).rejects.toMatchObject({
        error: 'invalid_grant',
      })
    },
  )

  test.each([
    { type: 'a confidential client', confidential: true },
    { type: 'a public client', confidential: false },
  ])('$type with DPoP: tokens, userinfo, /session, refresh and the Core API', async ({ confidential }) => {
    const settings = { dpop_bound_access_tokens: true, allowed_resources: [app.baseUrl] }
    const client = await realm.createClient(settings, { confidential, settings: { scopes: ['issuers:read'] } })
    const config = await openid.discovery(new URL(realm.url), client.id, client.secret, undefined, {
      execute: [openid.allowInsecureRequests],
    })
    expect(config.serverMetadata().dpop_signing_alg_values_supported).toContain('ES256')
    const options = { DPoP: openid.getDPoPHandle(config, await openid.randomDPoPKeyPair()) }
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const signIn = async (params: Record<string, string>) => {
      const authorize = openid.buildAuthorizationUrl(config, {
        redirect_uri: REDIRECT_URI,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        dpop_jkt: await options.DPoP.calculateThumbprint(),
        ...params,
      })
      const browser = new TestBrowser()
      const page = await browser.open(authorize.href)
      const back = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
      return openid.authorizationCodeGrant(config, new URL(back.url), { pkceCodeVerifier }, {}, options)
    }
    const session = new URL(`${realm.url}/session`)
    const tokens = await signIn({ scope: 'openid email' })
    expect(tokens.token_type).toBe('dpop')
    expect((await openid.fetchUserInfo(config, tokens.access_token, userId, options)).email).toBe('ada@example.com')
    const read = (accessToken: string, url: URL) =>
      openid.fetchProtectedResource(config, accessToken, url, 'GET', null, undefined, options)
    expect((await read(tokens.access_token, session)).status).toBe(200)
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!, {}, options)
    expect(refreshed.token_type).toBe('dpop')
    expect((await read(refreshed.access_token, session)).status).toBe(200)

    const user = await realm.tenant.owner.patch(`${realm.tenant.I}/users/${userId}`, { scopes: ['issuers:read'] })
    expect(user.status).toBe(200)
    const forApi = await signIn({ scope: 'openid issuers:read', resource: app.baseUrl })
    const { status } = await read(forApi.access_token, new URL(`${app.baseUrl}${realm.tenant.I}`))
    expect(status).toBe(200)
  })
})

describe('oauth4webapi', () => {
  let client: TestClient
  beforeAll(async () => {
    client = await realm.createClient({ application_type: 'spa' })
  })

  test('a public client with PKCE passes every check of the library', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(realm.url)
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
    )
    const me: oauth.Client = { client_id: client.id, id_token_signed_response_alg: 'ES256' }
    const verifier = oauth.generateRandomCodeVerifier()
    const url = realm.authorizeUrl(client, {
      scope: 'openid email',
      nonce: 'n-1',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const browser = new TestBrowser()
    const back = await browser.submit(await browser.open(url), { username: 'ada@example.com', password: PASSWORD })
    // The metadata contains authorization_response_iss_parameter_supported (RFC 9207), so the library rejects a
    // response without `iss`.
    const params = oauth.validateAuthResponse(as, me, new URL(back.url), 'st')
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      me,
      oauth.None(),
      params,
      REDIRECT_URI,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, me, response, {
      expectedNonce: 'n-1',
      requireIdToken: true,
    })
    const claims = oauth.getValidatedIdTokenClaims(tokens)!

    const half = createHash('sha256').update(tokens.access_token).digest().subarray(0, 16).toString('base64url')
    expect(jwtClaims(tokens.id_token!).at_hash).toBe(half)

    const info = await oauth.processUserInfoResponse(
      as,
      me,
      claims.sub,
      await oauth.userInfoRequest(as, me, tokens.access_token, insecure),
    )
    expect(info.email).toBe('ada@example.com')

    // Verifies the access token as a resource server with this library does (RFC 9068).
    const request = new Request('https://api.example.com', {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const checked = await oauth.validateJwtAccessToken(as, request, client.id, insecure)
    expect(checked).toMatchObject({ sub: userId, client_id: client.id, scope: 'openid email' })

    const again = await oauth.refreshTokenGrantRequest(as, me, oauth.None(), tokens.refresh_token!, insecure)
    expect((await oauth.processRefreshTokenResponse(as, me, again)).refresh_token).toBeDefined()
  })
})

describe('kubelogin and the API server of Kubernetes', () => {
  test('the parameter claims adds email, and a custom claim groups, to ID tokens with RS256 and to refreshed ones', async () => {
    const { owner, I } = realm.tenant
    const organization = expectStatus(await owner.post(`${I}/organizations`, { name: 'Notebooks' }), 201).data
    const O = `${I}/organizations/${organization.id}`
    const group = expectStatus(await owner.post(`${O}/groups`, { name: 'Platform' }), 201).data
    expectStatus(await owner.post(`${O}/members`, { member_id: userId, groups: [group.id] }), 201)
    const client = await realm.createClient({
      application_type: 'native',
      redirect_uris: ['http://localhost:8000'],
      response_signature_alg: 'RS256',
      claims: [{ name: 'groups', source: 'groups', in: ['id_token'] }],
    })
    // kubelogin uses the port 18000 if the port 8000 is in use.
    const redirect_uri = 'http://localhost:18000'
    const tokens = await realm.signInForTokens(
      client,
      'ada@example.com',
      {
        redirect_uri,
        scope: 'openid email offline_access',
        nonce: 'n-1',
        claims: '{"id_token":{"email":null,"email_verified":null}}',
      },
      new TestBrowser('http://localhost:18000'),
    )
    const refreshed = await realm.refresh(client, tokens.refresh_token)
    for (const token of [tokens.id_token, refreshed.body.id_token]) {
      expect(jwtHeader(token).alg).toBe('RS256')
      expect(jwtClaims(token)).toMatchObject({
        iss: realm.url,
        aud: client.id,
        sub: userId,
        email: 'ada@example.com',
        email_verified: false,
        groups: ['Platform'],
      })
    }
  })
})
