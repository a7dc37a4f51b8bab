/** A client of `/v1` and GraphQL over HTTP that uses no code of src/. */
import { sendRequest } from './http-request.js'

export interface ApiResponse<T = Record<string, unknown>> {
  status: number
  headers: Headers
  /** The parsed JSON; `{}` if the response has no JSON body. */
  body: T
  text: string
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of the response
export type AnyJson = any

export interface ApiClient {
  readonly baseUrl: string
  readonly authorization: string | undefined
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  delete(path: string, headers?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  /** Executes a GraphQL document. The body of the response is `{data, errors}`. */
  graphql(query: string, variables?: Record<string, unknown>): Promise<ApiResponse<AnyJson>>
}

/**
 * Creates a client of the Core API.
 * @param credential an API key, a Bearer token, or undefined for anonymous requests
 */
export function createApiClient(baseUrl: string, credential?: { id: string; secret: string } | string): ApiClient {
  const authorization =
    credential === undefined
      ? undefined
      : typeof credential === 'string'
        ? `Bearer ${credential}`
        : `Basic ${Buffer.from(`${credential.id}:${credential.secret}`).toString('base64')}`

  async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await sendRequest(`${baseUrl}${path}`, {
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
