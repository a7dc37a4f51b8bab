/** The client of the GraphQL endpoint on the same host. */
import type { Authentication } from './credential.js'

export interface GraphqlResponse {
  data?: Record<string, unknown> | null
  errors?: readonly { message: string }[]
}

interface GraphqlRequest {
  query: string
  variables?: unknown
  operationName?: string | null | undefined
}

interface RequestOptions {
  headers?: Record<string, string> | undefined
  /** Requests server-sent events instead of a single response. */
  stream?: boolean
}

const credentialRequiredResponse: GraphqlResponse = {
  errors: [{ message: 'A credential is required: paste an API key or an access token into the field at the top.' }],
}

const sessionEndedResponse: GraphqlResponse = {
  errors: [{ message: 'Your console session has ended: sign in to the console again, or paste a credential.' }],
}

/** Returns true when this browser has a console session. */
export async function hasConsoleSession(): Promise<boolean> {
  try {
    const response = await fetch('/console/session?optional')
    return response.ok && ((await response.json()) as { user: object | null }).user !== null
  } catch {
    return false
  }
}

/**
 * Sends a document. An Authorization header in `headers` takes precedence over `authentication`. Without either of them
 * no request is sent, and the result is an error.
 * @throws TypeError when the server cannot be reached
 */
export async function sendRequest(
  authentication: Authentication | undefined,
  { query, variables, operationName }: GraphqlRequest,
  { headers, stream = false }: RequestOptions = {},
): Promise<GraphqlResponse | AsyncGenerator<GraphqlResponse>> {
  const requestHeaders = new Headers(headers)
  const usesConsoleSession = authentication === 'console session' && !requestHeaders.has('Authorization')
  if (typeof authentication === 'object' && !requestHeaders.has('Authorization'))
    requestHeaders.set('Authorization', authentication.authorization)
  if (!usesConsoleSession && !requestHeaders.has('Authorization')) return credentialRequiredResponse
  if (usesConsoleSession) requestHeaders.set('X-Gatehouse-Console', '1')
  requestHeaders.set('Content-Type', 'application/json')
  requestHeaders.set('Accept', stream ? 'text/event-stream' : 'application/json')
  const response = await fetch(usesConsoleSession ? '/console/graphql' : '/graphql', {
    method: 'POST',
    headers: requestHeaders,
    body: JSON.stringify({ query, variables, operationName }),
    // With 'omit', browsers do not open their password dialog for the Basic challenge of a 401 response.
    credentials: usesConsoleSession ? 'same-origin' : 'omit',
  })
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream') && response.body)
    return readEvents(response.body)
  if (usesConsoleSession && response.status === 401) return sessionEndedResponse
  try {
    return (await response.json()) as GraphqlResponse
  } catch {
    return {
      errors: [{ message: `The server returned ${response.status} ${response.statusText} without a JSON body.` }],
    }
  }
}

/** Yields the results of a subscription: the `next` events until `complete` or the end of the stream. */
export function readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<GraphqlResponse> {
  const reader = body.getReader()
  const events = parseEvents(reader)
  const returnGenerator = events.return.bind(events)
  // `return` of a generator takes effect only after the next event, so the reader is canceled first.
  events.return = async (value) => {
    await reader.cancel()
    return returnGenerator(value)
  }
  return events
}

async function* parseEvents(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<GraphqlResponse> {
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
        if (data !== '') yield JSON.parse(data) as GraphqlResponse
      }
    }
  } finally {
    await reader.cancel()
  }
}
