// The service that users call. It exchanges the user's token, and calls the service stock with the new token.
import * as client from 'openid-client'
import { serve } from './service.mjs'

const { ISSUER, ACTOR_ID, ACTOR_SECRET, ORG } = process.env

// `allowInsecureRequests` is only for plain http on localhost. Omit `execute` for an issuer with https.
const config = await client.discovery(new URL(ISSUER), ACTOR_ID, undefined, client.ClientSecretBasic(ACTOR_SECRET), {
  execute: [client.allowInsecureRequests],
})

export const startOrders = (stockUrl) =>
  serve('https://orders.example', async (_user, token) => {
    const exchanged = await client.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:token-exchange', {
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: 'https://stock.example',
      scope: 'stock:read',
      org: ORG,
    })
    const response = await fetch(stockUrl, { headers: { authorization: `Bearer ${exchanged.access_token}` } })
    return { orders: ['two bunches of tulips'], stock: await response.json() }
  })
