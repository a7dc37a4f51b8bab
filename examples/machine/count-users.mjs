// A service without a person: client credentials, here for a token with which it reads the users of its issuer.
import * as client from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API, USERS } = process.env

// Gatehouse on localhost speaks plain http; leave `execute` out for https.
const config = await client.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  CLIENT_SECRET,
  client.ClientSecretBasic(CLIENT_SECRET),
  {
    execute: [client.allowInsecureRequests],
  },
)
const token = await client.clientCredentialsGrant(config, { resource: API, scope: 'issuers.users:read' })
console.log(`A token for ${token.expires_in} seconds with the scope ${token.scope}`)

const answer = await fetch(`${API}/v1/${USERS}`, { headers: { authorization: `Bearer ${token.access_token}` } })
const { data } = await answer.json()
console.log(`${data.length} user${data.length === 1 ? '' : 's'}:`, data.map(({ id }) => id).join(' '))
