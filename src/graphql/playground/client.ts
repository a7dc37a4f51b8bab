/** How the playground talks to the GraphQL endpoint of its own host. */
import type { Proof } from './credential.js'

export interface Answer {
  data?: Record<string, unknown> | null
  errors?: readonly { message: string }[]
}

interface Request {
  query: string
  variables?: unknown
  operationName?: string | null | undefined
}

interface Options {
  headers?: Record<string, string> | undefined
  /** Ask for Server-Sent Events instead of one answer. */
  stream?: boolean
}

const credentialNeeded: Answer = {
  errors: [{ message: 'A credential is needed: paste an API key or an access token into the field at the top.' }],
}

const sessionOver: Answer = {
  errors: [{ message: 'Your console session has ended: sign in to the console again, or paste a credential.' }],
}

/** Is somebody signed in to the console in this browser? */
export async function hasConsoleSession(): Promise<boolean> {
  try {
    const response = await fetch('/console/session?optional')
    return response.ok && ((await response.json()) as { user: object | null }).user !== null
  } catch {
    return false
  }
}

/**
 * Sends a document.
 * @param proof without one (there or as a header) nothing is sent; a header of one's own goes before the session
 * @throws TypeError when the server cannot be reached
 */
export async function ask(
  proof: Proof | undefined,
  { query, variables, operationName }: Request,
  { headers, stream = false }: Options = {},
): Promise<Answer | AsyncGenerator<Answer>> {
  const all = new Headers(headers)
  const bySession = proof === 'console session' && !all.has('Authorization')
  if (typeof proof === 'object' && !all.has('Authorization')) all.set('Authorization', proof.authorization)
  if (!bySession && !all.has('Authorization')) return credentialNeeded
  if (bySession) all.set('X-Gatehouse-Console', '1')
  all.set('Content-Type', 'application/json')
  all.set('Accept', stream ? 'text/event-stream' : 'application/json')
  const response = await fetch(bySession ? '/console/graphql' : '/graphql', {
    method: 'POST',
    headers: all,
    body: JSON.stringify({ query, variables, operationName }),
    // A refusal would otherwise open the browser's own password dialogue, because its challenge says Basic.
    credentials: bySession ? 'same-origin' : 'omit',
  })
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream') && response.body)
    return eventsOf(response.body)
  if (bySession && response.status === 401) return sessionOver
  try {
    return (await response.json()) as Answer
  } catch {
    return { errors: [{ message: `The server answered ${response.status} ${response.statusText} without JSON.` }] }
  }
}

/** The answers of a subscription: `next` events, until `complete` or the end of the stream. */
export function eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Answer> {
  const reader = body.getReader()
  const events = read(reader)
  const end = events.return.bind(events)
  // By itself a generator that waits would end only after the next event, and the stream with it.
  events.return = async (value) => {
    await reader.cancel()
    return end(value)
  }
  return events
}

async function* read(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Answer> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      rest = (rest + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n')
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line) ?? [])
        const event = fields.find(([, name]) => name === 'event')?.[2]
        const data = fields.flatMap(([, name, text]) => (name === 'data' ? [text] : [])).join('\n')
        if (event === 'complete') return
        if (data !== '') yield JSON.parse(data) as Answer
      }
    }
  } finally {
    await reader.cancel()
  }
}
