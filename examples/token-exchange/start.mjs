// Starts the services orders and stock, signs a user in, and calls orders with the user's token.
import { createServer } from 'node:http'
import * as client from 'openid-client'
import { startOrders } from './orders.mjs'
import { startStock } from './stock.mjs'

const { ISSUER, CLIENT_ID } = process.env
const ordersUrl = await startOrders(await startStock())

const config = await client.discovery(new URL(ISSUER), CLIENT_ID, undefined, client.None(), {
  execute: [client.allowInsecureRequests],
})
const server = createServer()
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const redirect_uri = `http://127.0.0.1:${server.address().port}/callback`
const pkceCodeVerifier = client.randomPKCECodeVerifier()
const expectedState = client.randomState()
const url = client.buildAuthorizationUrl(config, {
  redirect_uri,
  // The access token is for orders. It includes stock:read, because an exchanged token gets no scope that the user's
  // token lacks.
  resource: 'https://orders.example',
  scope: 'openid orders:read stock:read',
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
  state: expectedState,
})
console.log(`Open this URL and sign in as anna@example.com with "a long first password":\n\n  ${url}\n`)

server.on('request', async (request, response) => {
  const callback = new URL(request.url, redirect_uri)
  if (callback.pathname !== '/callback') return response.writeHead(404).end()
  response.setHeader('Connection', 'close').end('Signed in. You can close this page.')
  const checks = { pkceCodeVerifier, expectedState, idTokenExpected: true }
  const { access_token } = await client.authorizationCodeGrant(config, callback, checks)
  const result = await fetch(ordersUrl, { headers: { authorization: `Bearer ${access_token}` } })
  console.log('Response of orders:', JSON.stringify(await result.json(), null, 2))
  process.exit(result.ok ? 0 : 1)
})
