/** How the console talks to GraphQL: by its own server part, which knows who is signed in. */
import { Client, cacheExchange, fetchExchange, mapExchange } from 'urql'
import { faultOf } from './fault'

/** Off to the issuer, and back to this very place. */
export function signInAgain(): void {
  const here = location.pathname + location.search
  location.assign(`/console/sign-in?${new URLSearchParams({ return_to: here })}`)
}

/** Says of each document what it wants: a stream for a subscription, one answer for the rest. */
const send: typeof fetch = (url, init) => {
  const { query } = JSON.parse(String(init?.body)) as { query: string }
  const accept = /^\s*subscription\b/.test(query) ? 'text/event-stream' : 'application/json'
  return fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), accept } })
}

export const client = new Client({
  url: '/console/graphql',
  // Subscriptions are Server-Sent Events of the same address.
  fetchSubscriptions: true,
  fetch: send,
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
