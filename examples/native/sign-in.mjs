/**
 * A native application that signs a user in with the authorization code flow and PKCE. It receives the redirect on a
 * loopback port and verifies the ID token with the issuer's public keys.
 *
 *   node examples/native/sign-in.mjs <issuer> <client_id>
 */
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'

const [issuer, clientId] = process.argv.slice(2)
if (!issuer || !clientId) {
  console.error('Usage: node examples/native/sign-in.mjs <issuer> <client_id>')
  process.exit(1)
}

// `allowInsecureRequests` is only for plain http on localhost.
const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(issuer).hostname)
const options = isLocal ? { execute: [client.allowInsecureRequests] } : {}
const config = await client.discovery(new URL(issuer), clientId, undefined, client.None(), options)

const server = createServer()
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const redirectUri = `http://127.0.0.1:${server.address().port}/callback`

const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()
const nonce = client.randomNonce()
const url = client.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope: 'openid profile email',
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  state,
  nonce,
})
console.log(`Open this URL in a browser and sign in:\n\n  ${url}\n`)

const callback = await new Promise((done) => {
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, redirectUri)
    response.setHeader('Connection', 'close')
    if (pathname !== '/callback') return response.writeHead(404).end()
    response.end('Signed in. You can close this page.')
    return done(new URL(request.url, redirectUri))
  })
})
server.close()

const tokens = await client.authorizationCodeGrant(config, callback, {
  pkceCodeVerifier: verifier,
  expectedState: state,
  expectedNonce: nonce,
})
const { jwks_uri } = config.serverMetadata()
const { payload } = await jwtVerify(tokens.id_token, createRemoteJWKSet(new URL(jwks_uri)), {
  issuer,
  audience: clientId,
})
console.log('ID token verified:', JSON.stringify(payload, null, 2))
