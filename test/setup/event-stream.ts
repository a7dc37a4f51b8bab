/** A minimal Server-Sent Events client. */
import type { AnyJson, ApiClient } from './api.js'
import { waitUntil } from './wait-until.js'

export interface Message {
  id: string | undefined
  event: string | undefined
  data: AnyJson
}

export interface EventStream {
  status: number
  headers: Headers
  /** The JSON body of a response that is not an event stream; otherwise undefined. */
  body: AnyJson
  /** The messages received so far. Comments of the stream, such as keep-alives, are omitted. */
  messages: Message[]
  /** The Gatehouse events in the messages received so far. */
  events(): AnyJson[]
  /** Waits until at least `count` events have arrived. @throws Error after 20 seconds */
  waitForEvents(count: number): Promise<AnyJson[]>
  /** Resolves when the server has ended the stream, or the connection was closed. */
  ended: Promise<void>
  close(): void
}

const query = `subscription ($a: ID!, $after: ID, $types: [String!], $user: ID) {
  eventAdded(accountId: $a, after: $after, eventTypes: $types, userId: $user) { id type userId target { id } } }`

/**
 * Subscribes to the events of an account with `eventAdded`.
 * @param options arguments of the subscription, `lastEventId` for the header Last-Event-ID, or another document and its
 * variables
 */
export async function subscribe(
  api: ApiClient,
  accountId: string,
  { after, lastEventId, types, user, document = query, variables = { a: accountId, after, types, user } }: AnyJson = {},
): Promise<EventStream> {
  const abortController = new AbortController()
  const response = await fetch(`${api.baseUrl}/graphql`, {
    method: 'POST',
    signal: abortController.signal,
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(api.authorization && { authorization: api.authorization }),
      ...(lastEventId && { 'last-event-id': lastEventId }),
    },
    body: JSON.stringify({ query: document, variables }),
  })
  const messages: Message[] = []
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const stream: EventStream = {
    status: response.status,
    headers: response.headers,
    body: isStream ? undefined : await response.json(),
    messages,
    events: () => messages.flatMap(({ data }) => data?.data?.eventAdded ?? []),
    async waitForEvents(count) {
      await waitUntil(`${count} events have arrived`, () => stream.events().length >= count, {
        details: () => JSON.stringify(messages),
      })
      return stream.events()
    },
    ended: isStream ? readMessages(response, messages) : Promise.resolve(),
    close: () => abortController.abort(),
  }
  return stream
}

async function readMessages(response: Response, messages: Message[]): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const lines = block.split('\n').filter((line) => !line.startsWith(':'))
        const field = (name: string) =>
          lines
            .find((line) => line.startsWith(`${name}:`))
            ?.slice(name.length + 1)
            .trim()
        const data = field('data')
        if (field('event'))
          messages.push({ id: field('id'), event: field('event'), data: data ? JSON.parse(data) : null })
      }
    }
  } catch {
    // The connection was closed by the test, or because the server stopped.
  }
}
