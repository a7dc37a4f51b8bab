/**
 * The redirect to an upstream provider and back. An attempt is stored in the login transaction of the browser that
 * starts it. The response of the provider is stored in the attempt with a new handle, which only the browser that
 * returns from the provider gets. The response can be consumed once, by a browser that has both the handle and the
 * interaction cookie. Therefore an attacker cannot sign in with a code of another user, or make another user sign in
 * with a code of the attacker (RFC 9700 sections 4.5 and 4.7).
 */
import { limits } from '../../../kernel/limits.js'
import { randomSecret, sha256 } from '../../../platform/crypto/secrets.js'
import type { RequestContext } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import type { UpstreamAttempt } from '../login-state.js'
import type { AuthorizationResponse } from './provider.js'

/** Values that bind the response to the attempt. They are stored encrypted, so the names must not change. */
export interface AttemptBindings {
  /** The `nonce` that the ID token must have; null without an ID token. */
  nonce: string | null
  /** The PKCE code verifier; null without PKCE. */
  verifier: string | null
}

/**
 * Creates an attempt.
 * @param uid the uid of the login transaction
 * @param returnTo URL of the page to which the browser returns
 * @returns the `state` parameter to send, and the attempt to store
 */
export function createAttempt(
  { context }: RequestContext,
  uid: string,
  methodId: string,
  bindings: AttemptBindings,
  returnTo: string,
): { state: string; attempt: UpstreamAttempt } {
  const state = `${uid}.${randomSecret()}`
  const encryptedBindings = context.encryptor.encrypt(JSON.stringify(bindings))
  const expiresAt = context.now() + limits.upstreamSignInTimeout
  return { state, attempt: { methodId, hash: sha256(state), encryptedBindings, returnTo, expiresAt } }
}

const saveResponseSql = `
  UPDATE login_states SET state = jsonb_set(state, '{upstream}',
    state->'upstream' || jsonb_build_object('handle', $5::text, 'encryptedResponse', $6::text))
  WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,methodId}' = $3 AND state#>>'{upstream,hash}' = $4
    AND state#>'{upstream,handle}' IS NULL AND (state#>>'{upstream,expiresAt}')::bigint > $7
  RETURNING state#>>'{upstream,returnTo}' AS "returnTo"`

const findAttemptSql = `
  SELECT state#>>'{upstream,returnTo}' AS "returnTo" FROM login_states
  WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,methodId}' = $3 AND state#>>'{upstream,hash}' = $4`

/**
 * Saves the first response to an upstream request.
 * @returns the URL to redirect the browser to, with `upstream=late` if the response is late or repeated; undefined if
 *   the `state` is unknown or belongs to another method
 */
export async function saveResponse(
  { context, runtime }: RequestContext,
  methodId: string,
  form: Form,
): Promise<string | undefined> {
  const state = formField(form, 'state') ?? ''
  const uid = /^([A-Za-z0-9_-]{10,64})\.[A-Za-z0-9_-]{43}$/.exec(state)?.[1]
  if (uid === undefined) return undefined
  const response: AuthorizationResponse = { state, ...parseResponse(form) }
  const handle = randomSecret()
  const values = [runtime.issuer.id, uid, methodId, sha256(state)]
  const [saved] = await context.database.query<{ returnTo: string }>('upstream-save-response', saveResponseSql, [
    ...values,
    sha256(handle),
    context.encryptor.encrypt(JSON.stringify(response)),
    context.now(),
  ])
  if (saved) return `${saved.returnTo}?upstream=${handle}`
  // The response is late or repeated, so the browser returns to the page of the current step.
  const [previous] = await context.database.query<{ returnTo: string }>('upstream-find-attempt', findAttemptSql, values)
  return previous && `${previous.returnTo}?upstream=late`
}

/**
 * Reads the parameters of an authorization response, except for empty and too long ones. If it does not have exactly
 * one of `code` and `error`, or repeats a parameter, the result is the error `malformed`.
 */
function parseResponse(form: Form): Omit<AuthorizationResponse, 'state'> {
  const readParameter = (name: 'code' | 'iss' | 'error' | 'user') => {
    const value = formField(form, name)
    return value !== undefined && value !== '' && value.length <= limits.maxUpstreamParameterLength
      ? { [name]: value }
      : {}
  }
  const parameters = {
    ...readParameter('code'),
    ...readParameter('iss'),
    ...readParameter('error'),
    ...readParameter('user'),
  } as Omit<AuthorizationResponse, 'state'>
  const hasOneResult = (parameters.code === undefined) !== (parameters.error === undefined)
  const repeated = ['code', 'iss', 'error', 'user'].some((name) => Array.isArray(form[name]))
  return hasOneResult && !repeated ? parameters : { error: 'malformed' }
}

const consumeResponseSql = `
  WITH found AS (
    SELECT uid, state->'upstream' AS upstream FROM login_states
    WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,handle}' = $3 AND state#>'{upstream,encryptedResponse}' IS NOT NULL
      AND (state#>>'{upstream,expiresAt}')::bigint > $4 FOR UPDATE)
  UPDATE login_states l SET state = l.state #- '{upstream,encryptedResponse}' FROM found
  WHERE l.issuer_id = $1 AND l.uid = found.uid RETURNING found.upstream`

/** The authorization response, and the values of its attempt. */
export interface ConsumedResponse {
  methodId: string
  bindings: AttemptBindings
  response: AuthorizationResponse
}

/** Consumes the response that was saved with a handle; undefined if there is none, or if it has expired. */
export async function consumeResponse(
  { context, runtime }: RequestContext,
  uid: string,
  handle: string,
): Promise<ConsumedResponse | undefined> {
  const values = [runtime.issuer.id, uid, sha256(handle), context.now()]
  const [row] = await context.database.query<{ upstream: UpstreamAttempt }>(
    'upstream-consume-response',
    consumeResponseSql,
    values,
  )
  if (!row) return undefined
  const { methodId, encryptedBindings, encryptedResponse } = row.upstream
  const decryptJson = <T>(text: string) => JSON.parse(context.encryptor.decrypt(text)) as T
  return {
    methodId,
    bindings: decryptJson<AttemptBindings>(encryptedBindings),
    response: decryptJson<AuthorizationResponse>(encryptedResponse!),
  }
}
