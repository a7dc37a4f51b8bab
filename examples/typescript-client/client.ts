/**
 * A client of the administration API of Gatehouse (`/v1`). Its operations and types are generated: `npm run generate`
 * writes openapi.ts.
 */
import { type ErrorResponse as ErrorBody, type ErrorDetail, type operations, routes } from './openapi.js'

/** The types of the resources: User, Client, Issuer, … */
export type * from './openapi.js'

/** An operationId of the OpenAPI document, such as `createUser`. */
export type Operation = keyof operations

/** The path and query parameters, headers and body of an operation. */
export type Request<O extends Operation> = Pick<operations[O]['parameters'], 'path' | 'query' | 'header'> &
  RequestBody<operations[O]>

/** What an operation returns: the resource, the page of a list, or undefined if the response has no body. */
export type Result<O extends Operation> = [Body<O>] extends [never] ? undefined : Unwrapped<Body<O>>

/** The value of a resource, and its ETag. */
export interface Version<T> {
  value: T
  etag: string
}

type RequestBody<T> = { [Key in keyof T as Key extends 'requestBody' ? 'body' : never]: Content<T[Key]> }
type Content<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type Body<O extends Operation> = Content<operations[O]['responses'][keyof operations[O]['responses'] & (200 | 201)]>
type Page<T> = { data: T[]; next_cursor: string | null; has_more: boolean }
type Item<O extends Operation> = Body<O> extends Page<infer Resource> ? Resource : never
type Unwrapped<T> = T extends Page<unknown> ? T : T extends { data: infer Resource } ? Resource : T
type Arguments<O extends Operation> =
  Partial<Request<O>> extends Request<O> ? [request?: Request<O>] : [request: Request<O>]

type Header<O extends Operation> = NonNullable<operations[O]['parameters']['header']>
type OperationWith<Name extends string> = {
  [O in Operation]: [Header<O>] extends [never] ? never : Name extends keyof Header<O> ? O : never
}[Operation]
type ListOperation = { [O in Operation]: Body<O> extends Page<unknown> ? O : never }[Operation]
type ReadOperation = {
  [O in Operation]: (typeof routes)[O][0] extends 'GET' ? (Body<O> extends { data: object } ? O : never) : never
}[Exclude<Operation, ListOperation>]

export interface Settings {
  /** The URL of Gatehouse, such as https://admin.example.com. */
  baseUrl: string
  /** An API key, as `key_id:secret`, or a function that returns an access token. */
  credential: string | (() => Promise<string>)
  /** The maximum number of times that a request is sent. Default: 4. */
  maxAttempts?: number
  /** The longest wait between two attempts, in milliseconds. Default: 60,000. */
  maxWait?: number
  /** The time for one attempt, in milliseconds. Default: 30,000. */
  timeout?: number
  /** Replacements for tests. */
  fetch?: typeof globalThis.fetch
  sleep?: (milliseconds: number) => Promise<unknown>
}

/** An error response of the API. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError'
  readonly status: number
  /** A stable code, such as `conflict`; `unknown` if the response is not from Gatehouse. */
  readonly code: ErrorBody['error'] | 'unknown'
  /** The invalid fields of the request. */
  readonly details: readonly ErrorDetail[]
  readonly requestId: string | undefined
  /** True if the same request can succeed later. */
  readonly isTemporary: boolean
  /** The seconds to wait before the request is repeated. */
  readonly retryAfter: number | undefined

  constructor(status: number, headers: Headers, text: string) {
    const body = parseError(text)
    super(body.error_description ?? `The response has the status ${status}.`)
    this.status = status
    this.code = body.error ?? 'unknown'
    this.details = body.details ?? []
    this.requestId = body.request_id ?? headers.get('x-request-id') ?? undefined
    const retryAfter = headers.get('retry-after') ?? ''
    this.retryAfter = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
    // Without Retry-After, 409 is a conflict with another resource, and 429 a maximum number of resources.
    const canSucceed = status === 503 || ([409, 429].includes(status) && this.retryAfter !== undefined)
    this.isTemporary = canSucceed && body.retryable !== false
  }
}

function parseError(text: string): Partial<ErrorBody> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {} // A proxy can answer with HTML.
  }
}

/**
 * Operations whose responses contain a secret. Gatehouse does not store these responses, so that the same
 * Idempotency-Key does not prevent a second resource or secret. They are not repeated after a lost response.
 */
export const notStored: ReadonlySet<Operation> = new Set<Operation>([
  'completeEnrollment',
  'createAgentVerifier',
  'createApiKey',
  'createClient',
  'createOrganizationApiKey',
  'createOrganizationInvitation',
  'createPersonalToken',
  'createVerifier',
  'createWebhook',
  'resendOrganizationInvitation',
  'rotateApiKey',
  'rotateClientSecret',
  'rotateOrganizationApiKey',
])

interface AnyRequest {
  path?: Record<string, string> | undefined
  query?: Record<string, unknown> | undefined
  header?: Record<string, string> | undefined
  body?: unknown
}

interface ApiResponse {
  status: number
  etag: string
  body: unknown
}

export class Gatehouse {
  readonly #settings: Required<Settings>

  constructor(settings: Settings) {
    const sleep = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds))
    this.#settings = { maxAttempts: 4, maxWait: 60_000, timeout: 30_000, fetch: globalThis.fetch, sleep, ...settings }
  }

  /**
   * Calls an operation. A list returns one page.
   * @throws GatehouseError if the response is an error; TypeError or DOMException if there is no response
   */
  async call<O extends Operation>(operation: O, ...[request]: Arguments<O>): Promise<Result<O>> {
    const { body } = await this.#send(operation, request as AnyRequest)
    return unwrap(body) as Result<O>
  }

  /** Returns the resources of a list, from all pages. Each page is requested when it is needed. */
  async *list<O extends ListOperation>(
    operation: O,
    ...[request]: Arguments<O>
  ): AsyncGenerator<Item<O>, void, undefined> {
    const { query, ...rest } = (request ?? {}) as AnyRequest
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { body } = await this.#send(operation, { ...rest, query: { ...query, ...(cursor && { cursor }) } })
      const page = body as Page<Item<O>>
      yield* page.data
      cursor = page.next_cursor
    }
  }

  /** Reads a resource with its ETag. */
  async read<O extends ReadOperation>(operation: O, request: Request<O>): Promise<Version<Result<O>>> {
    return versionOf(await this.#send(operation, request as AnyRequest))
  }

  /** Reads a resource, unless it still has this ETag. Returns undefined if it has. */
  async readIfChanged<O extends ReadOperation & OperationWith<'If-None-Match'>>(
    operation: O,
    request: Request<O>,
    etag: string,
  ): Promise<Version<Result<O>> | undefined> {
    const response = await this.#send(operation, withHeader(request as AnyRequest, 'If-None-Match', etag))
    return response.status === 304 ? undefined : versionOf(response)
  }

  /** Updates or deletes a resource that still has this ETag. Otherwise throws GatehouseError with the status 412. */
  async update<O extends OperationWith<'If-Match'>>(
    operation: O,
    request: Request<O>,
    etag: string,
  ): Promise<Version<Result<O>>> {
    return versionOf(await this.#send(operation, withHeader(request as AnyRequest, 'If-Match', etag)))
  }

  /**
   * Reads a resource and updates it with the body that `patch` returns. If the resource changes between the two
   * requests, does both again, once.
   */
  async change<R extends ReadOperation, U extends OperationWith<'If-Match'>>(
    read: R,
    update: U,
    path: Request<R>['path'] & Request<U>['path'],
    patch: (current: Result<R>) => Request<U>['body'],
  ): Promise<Version<Result<U>>> {
    for (let attempt = 1; ; attempt++) {
      const { value, etag } = versionOf<Result<R>>(await this.#send(read, { path }))
      try {
        return versionOf(await this.#send(update, withHeader({ path, body: patch(value) }, 'If-Match', etag)))
      } catch (error) {
        if (attempt === 2 || !(error instanceof GatehouseError && error.status === 412)) throw error
      }
    }
  }

  /** Sends a request, and repeats it after temporary errors. */
  async #send(operation: Operation, request: AnyRequest = {}): Promise<ApiResponse> {
    const { baseUrl, credential, maxAttempts, timeout, fetch, sleep } = this.#settings
    const [method, template] = routes[operation]
    const url = new URL(baseUrl + template.replace(/\{(\w+)\}/g, (_, name) => pathSegment(name, request.path?.[name])))
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value)) // The text of an array is comma-separated.
    }
    const headers: Record<string, string> = {
      Authorization: typeof credential === 'string' ? `Basic ${btoa(credential)}` : `Bearer ${await credential()}`,
      'Content-Type': 'application/json',
      // The same in all attempts, so that Gatehouse runs the operation once.
      ...(method === 'POST' && { 'Idempotency-Key': crypto.randomUUID() }),
      ...request.header,
    }
    const body = request.body === undefined ? null : JSON.stringify(request.body)
    for (let attempt = 1; ; attempt++) {
      try {
        const signal = AbortSignal.timeout(timeout)
        const response = await fetch(url, { method, headers, body, signal })
        const text = await response.text()
        const { status } = response
        if (!response.ok && status !== 304) throw new GatehouseError(status, response.headers, text)
        return { status, etag: response.headers.get('etag') ?? '', body: text === '' ? undefined : JSON.parse(text) }
      } catch (error) {
        const wait = attempt < maxAttempts ? this.#waitAfter(error, operation, attempt) : undefined
        if (wait === undefined) throw error
        await sleep(wait)
      }
    }
  }

  /** Returns the milliseconds to wait before the next attempt; undefined if the request must not be repeated. */
  #waitAfter(error: unknown, operation: Operation, attempt: number): number | undefined {
    const backoff = 200 * 2 ** attempt
    const jitter = Math.random() * backoff
    if (error instanceof GatehouseError) {
      if (!error.isTemporary) return undefined
      const wait = (error.retryAfter === undefined ? backoff : error.retryAfter * 1000) + jitter
      return wait <= this.#settings.maxWait ? wait : undefined
    }
    // There is no response, or not all of it. The operation may have taken effect.
    const [method] = routes[operation]
    const isSafe = method === 'GET' || (method === 'POST' && !notStored.has(operation))
    return isSafe ? jitter : undefined
  }
}

const withHeader = (request: AnyRequest, name: string, value: string): AnyRequest => ({
  ...request,
  header: { ...request.header, [name]: value },
})

/** Encodes a path parameter. In a URL, the segments `.` and `..` would change the path. */
function pathSegment(name: string, value = ''): string {
  if (['', '.', '..'].includes(value)) throw new TypeError(`The path parameter ${name} is not an id: "${value}"`)
  return encodeURIComponent(value)
}

/** Returns `data` of a response with one resource; other bodies as they are. */
function unwrap(body: unknown): unknown {
  const isResource = typeof body === 'object' && body !== null && 'data' in body && !('next_cursor' in body)
  return isResource ? body.data : body
}

const versionOf = <T>({ body, etag }: ApiResponse): Version<T> => ({ value: unwrap(body) as T, etag })
