/** Server-Sent Events as a client reads them that knows nothing but the format. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api, Loose } from './api.js'

export interface Message {
  id: string | undefined
  event: string | undefined
  data: Loose
}

export interface EventStream {
  status: number
  headers: Headers
  /** The JSON of an answer that is no stream. */
  body: Loose
  /** What came so far, without comments. */
  messages: Message[]
  /** The events among it. */
  events(): Loose[]
  /** Waits until so many events have come. @throws Error after ten seconds */
  until(count: number): Promise<Loose[]>
  /** Resolves when it is over, be it in due form or cut off. */
  ended: Promise<void>
  close(): void
}

const query = `subscription ($a: ID!, $after: ID, $types: [String!], $user: String) {
  eventAdded(accountId: $a, after: $after, eventTypes: $types, userId: $user) { id type userId target { id } } }`

/** Subscribes to the events of an account. */
export async function subscribe(
  api: Api,
  accountId: string,
  { after, lastEventId, types, user, document = query, variables = { a: accountId, after, types, user } }: Loose = {},
): Promise<EventStream> {
  const stop = new AbortController()
  const response = await fetch(`${api.baseUrl}/graphql`, {
    method: 'POST',
    signal: stop.signal,
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
    async until(count) {
      for (let tries = 0; stream.events().length < count; tries++) {
        if (tries > 1000) throw new Error(`${stream.events().length} of ${count} events came`)
        await sleep(10)
      }
      return stream.events()
    },
    ended: isStream ? read(response, messages) : Promise.resolve(),
    close: () => stop.abort(),
  }
  return stream
}

async function read(response: Response, messages: Message[]): Promise<void> {
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
    // Cut off: by the test, or by the end of the server.
  }
}
