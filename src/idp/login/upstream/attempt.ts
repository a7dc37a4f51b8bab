/**
 * The way to an upstream provider and back. What goes out is remembered in the state of the one browser that goes. What
 * comes back is put down there under a new word (the handle), which only the browser that brought it learns; it is used
 * once, by a browser that has both the word and the cookie of the sign-in. So a code that somebody else's browser was
 * made to bring is of no use to whoever began (RFC 9700 4.5, 4.7).
 */
import { MINUTE } from '../../../kernel/time.js'
import { randomSecret, sha256 } from '../../../platform/secrets.js'
import { type Form, field } from '../../request.js'
import { scope } from '../../scope.js'
import type { UpstreamAttempt } from '../state.js'
import type { Returned } from './provider.js'

/** How long somebody may stay with the provider (milliseconds). */
const LIFE = 10 * MINUTE
/** Longer than any real one. */
const MAX_PART = 4096

/** What must come back with the browser, or be shown to the provider. */
export interface Bindings {
  nonce: string | null
  verifier: string | null
}

/**
 * Remembers a way out.
 * @param returnTo the address of the page that the browser has open
 * @returns the `state` to send, and what stays here
 */
export function makeAttempt(
  uid: string,
  methodId: string,
  bindings: Bindings,
  returnTo: string,
): { state: string; attempt: UpstreamAttempt } {
  const { context } = scope()
  const state = `${uid}.${randomSecret()}`
  const sealed = context.sealer.seal(JSON.stringify(bindings))
  const expiresAt = context.now() + LIFE
  return { state, attempt: { methodId, hash: sha256(state), sealed, returnTo, expiresAt } }
}

const keepText = `
  UPDATE login_states SET state = jsonb_set(state, '{upstream}',
    state->'upstream' || jsonb_build_object('handle', $5::text, 'answer', $6::text))
  WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,methodId}' = $3 AND state#>>'{upstream,hash}' = $4
    AND state#>'{upstream,handle}' IS NULL AND (state#>>'{upstream,expiresAt}')::bigint > $7
  RETURNING state#>>'{upstream,returnTo}' AS "returnTo"`

const knownText = `
  SELECT state#>>'{upstream,returnTo}' AS "returnTo" FROM login_states
  WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,methodId}' = $3 AND state#>>'{upstream,hash}' = $4`

/**
 * Puts down what came back, the first time that a `state` comes back.
 * @returns where the browser goes on; undefined for a state that is not ours, of another method, or long gone
 */
export async function keepAnswer(methodId: string, form: Form): Promise<string | undefined> {
  const { context, runtime } = scope()
  const state = field(form, 'state') ?? ''
  const uid = /^([A-Za-z0-9_-]{10,64})\.[A-Za-z0-9_-]{43}$/.exec(state)?.[1]
  if (uid === undefined) return undefined
  const answer: Returned = { state, ...partsOf(form) }
  const handle = randomSecret()
  const values = [runtime.issuer.id, uid, methodId, sha256(state)]
  const [kept] = await context.tools.query<{ returnTo: string }>('upstream-keep', keepText, [
    ...values,
    sha256(handle),
    context.sealer.seal(JSON.stringify(answer)),
    context.now(),
  ])
  if (kept) return `${kept.returnTo}?upstream=${handle}`
  // Too late, or for the second time: the page that is open there says where things stand.
  const [known] = await context.tools.query<{ returnTo: string }>('upstream-known', knownText, values)
  return known && `${known.returnTo}?upstream=late`
}

/** Of an answer without exactly one code or error nothing is believed. */
function partsOf(form: Form): Omit<Returned, 'state'> {
  const part = (name: 'code' | 'iss' | 'error' | 'user') => {
    const value = field(form, name)
    return value !== undefined && value !== '' && value.length <= MAX_PART ? { [name]: value } : {}
  }
  const parts = { ...part('code'), ...part('iss'), ...part('error'), ...part('user') } as Omit<Returned, 'state'>
  const oneOf = (parts.code === undefined) !== (parts.error === undefined)
  const repeated = ['code', 'iss', 'error', 'user'].some((name) => Array.isArray(form[name]))
  return oneOf && !repeated ? parts : { error: 'malformed' }
}

const takeText = `
  WITH found AS (
    SELECT uid, state->'upstream' AS upstream FROM login_states
    WHERE issuer_id = $1 AND uid = $2 AND state#>>'{upstream,handle}' = $3 AND state#>'{upstream,answer}' IS NOT NULL
      AND (state#>>'{upstream,expiresAt}')::bigint > $4 FOR UPDATE)
  UPDATE login_states l SET state = l.state #- '{upstream,answer}' FROM found
  WHERE l.issuer_id = $1 AND l.uid = found.uid RETURNING found.upstream`

/** What came back, with what it must fit. */
export interface Taken {
  methodId: string
  bindings: Bindings
  back: Returned
}

/** Takes what came back to this browser, once. */
export async function takeAnswer(uid: string, handle: string): Promise<Taken | undefined> {
  const { context, runtime } = scope()
  const values = [runtime.issuer.id, uid, sha256(handle), context.now()]
  const [row] = await context.tools.query<{ upstream: UpstreamAttempt }>('upstream-take', takeText, values)
  if (!row) return undefined
  const { methodId, sealed, answer } = row.upstream
  const opened = <T>(text: string) => JSON.parse(context.sealer.open(text)) as T
  return { methodId, bindings: opened<Bindings>(sealed), back: opened<Returned>(answer!) }
}
