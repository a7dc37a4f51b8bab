/**
 * One request to `/v1`, as named steps. The order matters: who, may they, was this key used before, and only then
 * what do they say, so that a key sent with another body is refused as such, whatever that body is (decisions D20).
 */
import type { IncomingMessage } from 'node:http'
import type { GraphQLInputType } from 'graphql'
import { authorize } from '../access/guard.js'
import { commitsItself, demandOf, placeOf } from '../graphql/demands.js'
import {
  type Answer,
  authorityPart,
  checkKey,
  fingerprintsOf,
  idempotent,
  type Keeping,
} from '../graphql/idempotency.js'
import { type Operation, readOperations, run } from '../graphql/operations.js'
import type { Actor } from '../kernel/context.js'
import { ApiError, badRequest, type Detail, insufficientScope, invalid } from '../kernel/errors.js'
import { etagOf, noneMatch } from '../kernel/etag.js'
import { GateError, gateFault, parseJson } from '../kernel/gate.js'
import { isObject } from '../kernel/merge.js'
import { camel, wireName } from '../kernel/names.js'
import { covers, isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { mustBeJson, readBody } from '../platform/http.js'
import { inWireWords } from './errors.js'
import { inputOf, queryOf, variablesOf } from './input.js'
import { match } from './match.js'
import { settlementOf } from './payment.js'
import { type Route, routes } from './routes.js'

/** Bytes (decisions D19). */
const BODY_LIMIT = 1024 * 1024

interface Entry {
  operation: Operation
  input: GraphQLInputType | undefined
  /** Variables that come from the query string. */
  query: Map<string, GraphQLInputType>
}

let read: Map<Route, Entry> | undefined

/** The operation of each route, read once. @throws Error at start when a row names none, or its parameters do not fit */
export function readEntries(): Map<Route, Entry> {
  if (!read) {
    const operations = readOperations('rest', wireName)
    read = new Map(routes.map((route) => [route, entryOf(route, operations.get(route.operation))]))
  }
  return read
}

function entryOf(route: Route, operation: Operation | undefined): Entry {
  if (!operation)
    throw new Error(`${route.method} ${route.path}: there is no operation ${route.operation} in graphql/rest.`)
  const query = variablesOf(operation)
  for (const [, name] of route.path.matchAll(/\{(\w+)\}/g)) {
    if (!query.delete(camel(name!))) throw new Error(`${route.operation} does not take ${name}.`)
  }
  if (query.delete('ifMatch') !== (route.ifMatch === true))
    throw new Error(`${route.operation}: ifMatch and its row differ.`)
  if (query.delete('paymentSignature') !== (route.payment === true))
    throw new Error(`${route.operation}: paymentSignature and its row differ.`)
  const input = query.get('input')
  query.delete('input')
  return { operation, input, query }
}

/** A `/v1` answer before it is written. */
export interface Reply extends Answer {
  headers: Record<string, string>
}

/**
 * Answers one request.
 * @param context of a caller already authenticated
 * @throws ApiError for everything that is not a success
 */
export async function serve(entries: Map<Route, Entry>, context: Context, request: IncomingMessage): Promise<Reply> {
  // 1. Which row?
  const [path = '/', search = ''] = splitUrl(request.url ?? '/')
  const found = match(request.method ?? 'GET', path)
  if (!found) throw new ApiError('not_found', 'There is no such address.')
  const { route, parameters } = found
  if (!route) {
    const headers = { Allow: found.allowed.join(', ') }
    throw new ApiError('method_not_allowed', `This address takes ${found.allowed.join(', ')}.`, { headers })
  }
  const { operation, input, query } = entries.get(route)!

  // 2. May they?
  const place = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [camel(name), value]))
  const { actor } = await authorize(context, demandOf(operation.field)!, placeOf(place))

  // 3. What is to be done: check what they say, and do it.
  const text = route.method === 'GET' ? '' : await readBody(request, BODY_LIMIT)
  const work = async (inside: Context): Promise<Answer> => {
    if (text !== '') mustBeJson(request)
    const variables = { ...place, ...inputs({ input, query }, search, text) }
    if (route.ifMatch && request.headers['if-match'] !== undefined) variables['ifMatch'] = request.headers['if-match']
    const payment = request.headers['payment-signature']
    if (route.payment && payment !== undefined) variables['paymentSignature'] = String(payment)
    try {
      return answerOf(route, await run(operation, inside, variables))
    } catch (error) {
      throw inWireWords(error)
    }
  }

  // 4. Answered before? If not, do it.
  const once = async (key: string): Promise<Answer> => {
    const body = looseBody(text)
    const keeping = keepingOf(route, body)
    const fingerprints = fingerprintsOf(context, path, text, ...(keeping === 'encrypted' ? [authorityPart(actor)] : []))
    const accountId = parameters['account_id'] ?? actor.accountId ?? ''
    const call = { accountId, key, fingerprints, keeping, commitsItself: commitsItself(operation.field) }
    const answer = await idempotent(context, call, work)
    if (answer.replayed) mayRepeat(actor, body)
    return answer
  }
  const key = route.method === 'POST' ? request.headers['idempotency-key'] : undefined
  const isKeyed = key !== undefined && checkKey('Idempotency-Key', String(key)) && route.neverCached !== true
  const answer = isKeyed ? await once(String(key)) : await work(context)

  // 5. Do they have it already?
  const tag = route.method === 'GET' && !route.derived ? answer.etag : null
  const fresh = tag !== null && noneMatch(request.headers['if-none-match'], tag)
  const headers = {
    ...answer.headers,
    ...(answer.etag && { ETag: answer.etag }),
    ...(answer.replayed && { 'Idempotent-Replayed': 'true' }),
  }
  return { ...answer, ...(fresh && { status: 304, body: '' }), headers }
}

const splitUrl = (url: string): [string, string] => {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

/** @throws invalid_request with all faults of query and body */
function inputs(
  { input, query }: Pick<Entry, 'input' | 'query'>,
  search: string,
  text: string,
): Record<string, unknown> {
  const details: Detail[] = []
  const parameters = new URLSearchParams(search)
  const fault = gateFault([...parameters.entries()].flat())
  if (fault) throw badRequest(fault.replace(/^\[\d+\]/, 'The query'))
  const variables = queryOf(query, parameters, details)
  const body = text === '' ? undefined : jsonOf(text)
  if (body !== undefined && !isObject(body)) throw badRequest('The body must be a JSON object.')
  if (input) {
    const required = String(input).endsWith('!')
    if (body !== undefined || required) variables['input'] = inputOf(input, body ?? {}, '', details)
  } else if (body !== undefined && Object.keys(body).length > 0) {
    throw badRequest('This request takes no body.')
  }
  if (details.length > 0) throw invalid(details)
  return variables
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof GateError) throw badRequest(error.message)
    throw error
  }
}

/** A body that nobody has checked yet, for what is asked of it before: empty where it is no JSON object. */
function looseBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : {}
  } catch {
    return {}
  }
}

/**
 * A replay must not show a weaker caller what only a stronger one could make (security rule 9): the platform scopes that
 * a body gives away are asked for here too, since the rules behind the operation do not run again.
 * @throws insufficient_scope
 */
function mayRepeat(actor: Actor, { scopes, settings }: Record<string, unknown>): void {
  const given = [scopes, isObject(settings) ? settings['scopes'] : undefined].flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  )
  for (const scope of given) {
    if (isPlatformScope(scope) && !covers(actor.scopes, scope)) throw insufficientScope(scope)
  }
}

function keepingOf({ neverCached, encrypted }: Route, body: Record<string, unknown>): Keeping {
  if (typeof neverCached === 'function' && neverCached(body)) return 'never'
  return encrypted?.(body) ? 'encrypted' : 'plain'
}

const bareBody = ({ omitted }: Route, value: unknown): string =>
  JSON.stringify(value, omitted && ((key, part) => (part === null && omitted.includes(key) ? undefined : part)))

/** One resource is `{data}` with its ETag (spec 2.1, 4.1); a page is itself; a deletion has no body. */
function answerOf(route: Route, value: unknown): Answer {
  const { success: status } = route
  if (route.payment) {
    const { headers, body } = settlementOf(value)
    return { ...answerOf({ ...route, payment: undefined }, body), headers }
  }
  if (status === 204 || status === 202) return { status, body: '', etag: null }
  const page = value as { data?: unknown }
  if (route.bare || Array.isArray(page.data)) return { status, body: bareBody(route, value), etag: null }
  const { updated_at } = value as { updated_at?: number }
  const etag = updated_at === undefined ? null : etagOf({ updatedAt: updated_at })
  return { status, body: JSON.stringify({ data: value }), etag }
}
