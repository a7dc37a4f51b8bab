// An agent that authenticates by signing with its wallet. Gatehouse stores no secret, and no secret is sent.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { addressOf, signMessage } from './wallet.mjs'

const { ISSUER, AGENT_ID, PRIVATE_KEY } = process.env

async function post(path, form) {
  const response = await fetch(`${ISSUER}${path}`, { method: 'POST', body: new URLSearchParams(form) })
  const body = await response.json()
  if (!response.ok) throw new Error(`${path}: ${body.error}: ${body.error_description}`)
  return body
}

// 1. Request a challenge.
const address = addressOf(PRIVATE_KEY)
const { message } = await post('/agents/challenge', { client_id: AGENT_ID, network: 'eip155:8453', address })
console.log(`${message}\n`)

// 2. Sign the message, and exchange the signature for a token.
const proof = { message, signature: signMessage(PRIVATE_KEY, message), type: 'eip191' }
const { access_token, expires_in } = await post('/token', {
  grant_type: 'client_credentials',
  client_id: AGENT_ID,
  client_assertion_type: 'urn:gatehouse:params:oauth:client-assertion-type:caip-122',
  client_assertion: Buffer.from(JSON.stringify(proof)).toString('base64url'),
  resource: 'https://stock.example',
})

// 3. Verify the token. The service that `resource` names does the same when it receives the token.
const keys = createRemoteJWKSet(new URL(`${ISSUER}/jwks.json`))
const { payload } = await jwtVerify(access_token, keys, { issuer: ISSUER, audience: 'https://stock.example' })
console.log(`A token for ${expires_in} seconds:`, payload)
