/** A script's view of `/v1` and GraphQL: plain HTTP, nothing of the product's code. */
import { ask } from './ask.js'

export interface Answer<T = Record<string, unknown>> {
  status: number
  headers: Headers
  body: T
  text: string
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads out of an answer is its own claim
export type Loose = any

export interface Api {
  readonly baseUrl: string
  readonly authorization: string | undefined
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Loose>>
  get(path: string, headers?: Record<string, string>): Promise<Answer<Loose>>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Loose>>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Loose>>
  delete(path: string, headers?: Record<string, string>): Promise<Answer<Loose>>
  /** Runs a document and answers `{data, errors}`. */
  graphql(query: string, variables?: Record<string, unknown>): Promise<Answer<Loose>>
}

/** The interface as this caller sees it: an API key, a Bearer token, or nobody. */
export function apiAs(baseUrl: string, credential?: { id: string; secret: string } | string): Api {
  const authorization =
    credential === undefined
      ? undefined
      : typeof credential === 'string'
        ? `Bearer ${credential}`
        : `Basic ${Buffer.from(`${credential.id}:${credential.secret}`).toString('base64')}`

  async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await ask(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(authorization && { authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = response.headers.get('content-type')?.includes('json') && text !== ''
    return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : {} }
  }

  return {
    baseUrl,
    authorization,
    request,
    get: (path, headers) => request('GET', path, undefined, headers),
    post: (path, body, headers) => request('POST', path, body, headers),
    patch: (path, body, headers) => request('PATCH', path, body, headers),
    delete: (path, headers) => request('DELETE', path, undefined, headers),
    graphql: (query, variables) => request('POST', '/graphql', { query, variables }),
  }
}
