/** How the console talks to GraphQL: by its own server part, which knows who is signed in. */
import { Client, cacheExchange, fetchExchange, mapExchange } from 'urql'
import { faultOf } from './fault'

/** Off to the issuer, and back to this very place. */
export function signInAgain(): void {
  const here = location.pathname + location.search
  location.assign(`/console/sign-in?${new URLSearchParams({ return_to: here })}`)
}

export const client = new Client({
  url: '/console/graphql',
  // Subscriptions are Server-Sent Events of the same address.
  fetchSubscriptions: true,
  preferGetMethod: false,
  requestPolicy: 'cache-and-network',
  fetchOptions: { headers: { 'X-Gatehouse-Console': '1' }, credentials: 'same-origin' },
  exchanges: [
    cacheExchange,
    mapExchange({
      onError(error) {
        if (faultOf(error).code === 'UNAUTHORIZED') signInAgain()
      },
    }),
    fetchExchange,
  ],
})
