/**
 * Serves a request to `/v1`. Authorization and the check of the Idempotency-Key come before input validation, so that a
 * key that was used with another body is reported even if the new body is invalid (docs/contract.md#idempotency-key).
 */
import type { IncomingMessage } from 'node:http'
import type { GraphQLInputType } from 'graphql'
import { authorize } from '../access/authorize.js'
import {
  commitsItself,
  requiredPermissionOf,
  resourcePathOf,
  responseStorageOf,
  storageOf,
} from '../graphql/field-extensions.js'
import {
  authorityFingerprint,
  checkIdempotencyKey,
  fingerprintsOf,
  runIdempotently,
  type StoredResponse,
} from '../graphql/idempotency.js'
import { type Operation, runOperation } from '../graphql/operations.js'
import type { Actor } from '../kernel/context.js'
import { ApiError, badRequest, type ErrorDetail, insufficientScope, invalidFields } from '../kernel/errors.js'
import { etagOf, matchesIfNoneMatch } from '../kernel/etag.js'
import { camelCase } from '../kernel/field-names.js'
import { limits } from '../kernel/limits.js'
import { isObject } from '../kernel/merge-patch.js'
import { unsafeInputError } from '../kernel/safe-json.js'
import { coversScope, isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { parseJsonBody, readBody, requireContentType } from '../platform/http/body.js'
import { toRestError } from './errors.js'
import { type BodyInput, bodyInput, parseBody, parseQuery, variableTypesOf } from './input.js'
import { createOperation } from './operations.js'
import { splitSettlement } from './payment.js'
import { matchRoute } from './route-match.js'
import { type Route, routes } from './routes.js'
import { ignoringUnchanged } from './unchanged-members.js'

interface RouteBinding {
  operation: Operation
  input: BodyInput | undefined
  /** The types of the variables that are read from the query string, by name. */
  query: Map<string, GraphQLInputType>
}

let routeBindings: Map<Route, RouteBinding> | undefined

/**
 * Returns the operation of each route and the types of its variables. The result is created once.
 * @throws Error if the schema has no operation for a route, or its variables do not match the route
 */
export function loadRouteBindings(): Map<Route, RouteBinding> {
  routeBindings ??= new Map(routes.map((route) => [route, createRouteBinding(route)]))
  return routeBindings
}

function createRouteBinding(route: Route): RouteBinding {
  const operation = createOperation(route)
  const query = variableTypesOf(operation)
  for (const [, name] of route.path.matchAll(/\{(\w+)\}/g)) {
    if (!query.delete(camelCase(name!)))
      throw new Error(
        `The root field of ${route.operation} must have the argument ${camelCase(name!)} for the path parameter ${name}.`,
      )
  }
  if (query.delete('ifMatch') !== (route.ifMatch === true))
    throw new Error(
      `The root field of ${route.operation} must have the argument ifMatch if and only if its route has ifMatch: true.`,
    )
  if (query.delete('paymentSignature') !== (route.payment === true))
    throw new Error(
      `The root field of ${route.operation} must have the argument paymentSignature if and only if its route has payment: true.`,
    )
  const input = query.get('input')
  query.delete('input')
  return { operation, input: input && bodyInput(input), query }
}

/** A response of `/v1`. */
export interface RestResponse extends StoredResponse {
  headers: Record<string, string>
}

/**
 * Serves one request.
 * @param context the context of the authenticated caller
 * @throws ApiError for an error response; other errors, such as those of the database, unchanged
 */
export async function serveRequest(
  bindings: Map<Route, RouteBinding>,
  context: Context,
  request: IncomingMessage,
): Promise<RestResponse> {
  // 1. Find the route.
  const [path = '/', search = ''] = splitUrl(request.url ?? '/')
  const routeMatch = matchRoute(request.method ?? 'GET', path)
  if (!routeMatch) throw new ApiError('not_found', 'There is no endpoint at this path.')
  const { route, parameters } = routeMatch
  if (!route) {
    const methods = [...routeMatch.routesByMethod.keys()].join(', ')
    throw new ApiError('method_not_allowed', `This path supports only ${methods}.`, { headers: { Allow: methods } })
  }
  const { operation, input, query } = bindings.get(route)!

  // 2. Authorize.
  const pathVariables = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [camelCase(name), value]))
  const permission = requiredPermissionOf(operation.field)!
  const allowed = await authorize(context, permission, resourcePathOf(pathVariables))
  const authorized: Context = { ...allowed, authorizedField: operation.field.name }

  // 3. Define the work: validate the input and run the operation.
  const text = route.method === 'GET' ? '' : await readBody(request, limits.maxRestBodyBytes)
  const runWith = async (tx: Context, body: unknown): Promise<StoredResponse> => {
    const { checked, ...inputs } = readInputs({ input, query }, search, body)
    const variables: Record<string, unknown> = { ...pathVariables, ...inputs.variables }
    if (route.ifMatch && request.headers['if-match'] !== undefined) variables['ifMatch'] = request.headers['if-match']
    const payment = request.headers['payment-signature']
    if (route.payment && payment !== undefined) variables['paymentSignature'] = String(payment)
    try {
      return createResponse(route, await runOperation(operation, { ...tx, checkedInput: checked }, variables))
    } catch (error) {
      throw toRestError(error)
    }
  }
  const work = async (tx: Context): Promise<StoredResponse> => {
    if (text !== '') requireContentType(request, 'json')
    const body = text === '' ? undefined : parseJsonBody(text)
    if (route.method !== 'PATCH' || !isObject(body)) return runWith(tx, body)
    // A PATCH without members changes nothing and returns the resource. The caller pays for the other PATCH only.
    const readCurrent = async () => {
      const unchanged = await runWith({ ...tx, prices: {} }, {})
      return (JSON.parse(unchanged.body) as { data: Record<string, unknown> }).data
    }
    return ignoringUnchanged(body as Record<string, unknown>, readCurrent, (changed) => runWith(tx, changed))
  }

  // 4. Replay a stored response for the Idempotency-Key, or run the work.
  const runOnce = async (key: string): Promise<StoredResponse> => {
    const body = parseBodyLeniently(text)
    const responseStorage = storageOf(operation.field, body)
    const fingerprints = fingerprintsOf(
      context,
      path,
      text,
      ...(responseStorage === 'encrypted' ? [authorityFingerprint(allowed.actor)] : []),
    )
    const accountId = parameters['account_id'] ?? allowed.actor.accountId ?? ''
    const call = { accountId, key, fingerprints, responseStorage, commitsItself: commitsItself(operation.field) }
    const answer = await runIdempotently(authorized, call, work)
    if (answer.replayed) requireReplayAllowed(allowed.actor, body)
    return answer
  }
  const key = route.method === 'POST' ? request.headers['idempotency-key'] : undefined
  const isKeyed =
    key !== undefined &&
    checkIdempotencyKey('Idempotency-Key', String(key)) &&
    responseStorageOf(operation.field) !== 'never'
  const answer = isKeyed ? await runOnce(String(key)) : await work(authorized)

  // 5. Evaluate If-None-Match.
  const tag = route.method === 'GET' && !route.hasDerivedFields ? answer.etag : null
  const isNotModified = tag !== null && matchesIfNoneMatch(request.headers['if-none-match'], tag)
  const headers = {
    ...answer.headers,
    ...(answer.etag && { ETag: answer.etag }),
    ...(answer.replayed && { 'Idempotent-Replayed': 'true' }),
  }
  return { ...answer, ...(isNotModified && { status: 304, body: '' }), headers }
}

const splitUrl = (url: string): [string, string] => {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

/**
 * Reads the variables from the query and the body.
 * @returns `checked`: the checked input, which the resolver does not check again
 * @throws invalid_request with all errors in the query and the body
 */
function readInputs(
  { input, query }: Pick<RouteBinding, 'input' | 'query'>,
  search: string,
  body: unknown,
): { variables: Record<string, unknown>; checked?: object | undefined } {
  const details: ErrorDetail[] = []
  const parameters = new URLSearchParams(search)
  const inputError = unsafeInputError([...parameters.entries()].flat())
  if (inputError) throw badRequest(inputError.replace(/^\[\d+\]/, 'The query'))
  const variables = parseQuery(query, parameters, details)
  if (body !== undefined && !isObject(body)) throw badRequest('The body must be a JSON object.')
  if (!input && body !== undefined && Object.keys(body).length > 0)
    throw badRequest('This request must not have a body.')
  const isRead = input && (body !== undefined || input.isRequired)
  const read = isRead ? parseBody(input, (body ?? {}) as Record<string, unknown>, details) : undefined
  if (details.length > 0) throw invalidFields(details)
  return { variables: { ...variables, ...(read && { input: read.input }) }, checked: read?.checked }
}

/** Parses a body that was not validated yet. Returns an empty object if the body is not a JSON object. */
function parseBodyLeniently(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : {}
  } catch {
    return {}
  }
}

/**
 * Checks that the caller has the platform scopes that the request grants. For a replayed response the operation does
 * not run, so its own check does not run either (docs/contract.md#no-granting-beyond-the-callers-authority).
 * @throws insufficient_scope
 */
function requireReplayAllowed(actor: Actor, { scopes, settings }: Record<string, unknown>): void {
  const grantedScopes = [scopes, isObject(settings) ? settings['scopes'] : undefined].flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  )
  for (const scope of grantedScopes) {
    if (isPlatformScope(scope) && !coversScope(actor.scopes, scope)) throw insufficientScope(scope)
  }
}

const serializeUnwrapped = ({ omittedWhenNull }: Route, value: unknown): string =>
  JSON.stringify(
    value,
    omittedWhenNull && ((key, part) => (part === null && omittedWhenNull.includes(key) ? undefined : part)),
  )

/**
 * Creates the response: `{data}` with an ETag for a resource, the value itself for a list or an unwrapped route, no
 * body for a deletion, and a header with the settlement for a payment
 * (docs/contract.md#resource-conventions).
 */
function createResponse(route: Route, value: unknown): StoredResponse {
  const { success: status } = route
  if (route.payment) {
    const { headers, body } = splitSettlement(value)
    return { ...createResponse({ ...route, payment: undefined }, body), headers }
  }
  if (status === 204 || status === 202) return { status, body: '', etag: null }
  const page = value as { data?: unknown }
  if (route.unwrapped || Array.isArray(page.data)) return { status, body: serializeUnwrapped(route, value), etag: null }
  const { updated_at } = value as { updated_at?: number }
  const etag = updated_at === undefined ? null : etagOf({ updatedAt: updated_at })
  return { status, body: JSON.stringify({ data: value }), etag }
}
