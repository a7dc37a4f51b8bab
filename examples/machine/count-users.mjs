// A service without users: it gets a token with client credentials and lists the users of its issuer.
import * as client from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API, USERS } = process.env

// `allowInsecureRequests` is only for plain http on localhost. Omit `execute` for an issuer with https.
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

const response = await fetch(`${API}/v1/${USERS}`, { headers: { authorization: `Bearer ${token.access_token}` } })
const { data } = await response.json()
console.log(`${data.length} user${data.length === 1 ? '' : 's'}:`, data.map(({ id }) => id).join(' '))
