/** The GraphQL client. Requests go through the console's server part, which adds the access token of the session. */
import { Client, cacheExchange, fetchExchange, mapExchange } from 'urql'
import { toRequestError } from './request-error'

/** Redirects to the sign-in, which returns to the current page. */
export function redirectToSignIn(): void {
  const returnTo = location.pathname + location.search
  location.assign(`/console/sign-in?${new URLSearchParams({ return_to: returnTo })}`)
}

/** Sends a request with the Accept header of its operation: an event stream for subscriptions, otherwise JSON. */
const fetchWithAccept: typeof fetch = (url, init) => {
  const { query } = JSON.parse(String(init?.body)) as { query: string }
  const accept = /^\s*subscription\b/.test(query) ? 'text/event-stream' : 'application/json'
  return fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), accept } })
}

export const client = new Client({
  url: '/console/graphql',
  // Subscriptions use Server-Sent Events at the same URL.
  fetchSubscriptions: true,
  fetch: fetchWithAccept,
  preferGetMethod: false,
  requestPolicy: 'cache-and-network',
  fetchOptions: { headers: { 'X-Gatehouse-Console': '1' }, credentials: 'same-origin' },
  exchanges: [
    cacheExchange,
    mapExchange({
      onError(error) {
        if (toRequestError(error).code === 'UNAUTHORIZED') redirectToSignIn()
      },
    }),
    fetchExchange,
  ],
})
