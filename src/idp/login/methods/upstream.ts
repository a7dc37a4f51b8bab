/** Signing in through another provider (spec 2.4: oidc, oauth2, apple, github): the way out, and who comes back. */
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
} from 'openid-client'
import { ApiError } from '../../../kernel/errors.js'
import { translated } from '../../../platform/database.js'
import { OutboundError } from '../../../platform/outbound.js'
import { recordFailure } from '../../../resources/credentials/sign-in.js'
import {
  callbackUrl,
  openUpstreamSecret,
  type UpstreamKind,
  type UpstreamSettings,
} from '../../../resources/issuers/upstream-settings.js'
import type { MethodFacts } from '../../runtime.js'
import { scope } from '../../scope.js'
import { anew } from '../state.js'
import type { Asked, Move } from '../steps/step.js'
import { arrive } from '../upstream/account.js'
import { makeAttempt, type Taken, takeAnswer } from '../upstream/attempt.js'
import { connected } from '../upstream/connection.js'
import { upstreams } from '../upstream/index.js'
import type { UpstreamPerson } from '../upstream/person.js'
import { failed, type OpenMethod, type Upstream, UpstreamFault } from '../upstream/provider.js'
import { type FirstFactor, isOffered } from './method.js'

interface Opened {
  upstream: Upstream
  method: OpenMethod
  redirectUri: string
}

/** @throws UpstreamFault for a method that has gone meanwhile */
async function open({ id, kind, settings }: MethodFacts): Promise<Opened> {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const secret = await openUpstreamSecret(context, { accountId, issuerId }, id)
  if (secret === undefined) throw failed('method_gone')
  const upstream = upstreams[kind as UpstreamKind]
  const method = { id, settings: settings as unknown as UpstreamSettings, secret }
  return { upstream, method, redirectUri: upstream.redirectUri?.(method) ?? callbackUrl(context.config, issuerId, id) }
}

const configurationOf = ({ upstream, method }: Opened) => connected(method.id, () => upstream.connect(method))

/** The button: the browser goes to the provider. */
export const upstream: FirstFactor = async (asked, _form, facts) => {
  try {
    return await wayOut(asked, facts)
  } catch (error) {
    return notSignedIn(asked, facts, error)
  }
}

async function wayOut({ state, journey, view }: Asked, facts: MethodFacts): Promise<Move> {
  const { runtime } = scope()
  const opened = await open(facts)
  const { upstream: provider, method, redirectUri } = opened
  const config = await configurationOf(opened)
  const nonce = provider.idToken ? randomNonce() : null
  const verifier = provider.pkce(config, method) ? randomPKCECodeVerifier() : null
  const returnTo = new URL(view.action, runtime.url).href
  const sent = makeAttempt(journey.uid, facts.id, { nonce, verifier }, returnTo)
  const scopes = provider.scopes(method)
  const url = buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    state: sent.state,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    ...(nonce === null ? {} : { nonce }),
    ...(verifier === null
      ? {}
      : { code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }),
    ...provider.parameters?.(journey, state.username),
  })
  return { to: { ...state, upstream: sent.attempt }, redirect: url.href }
}

/**
 * Somebody comes back with this handle.
 * @returns undefined when this browser has brought nothing, or nothing any more
 */
export async function comeBack(asked: Asked, handle: string): Promise<Move | undefined> {
  const { journey, state } = asked
  const taken = await takeAnswer(journey.uid, handle)
  if (!taken) return undefined
  const facts = scope().runtime.issuer.methods.find((method) => method.id === taken.methodId && isOffered(method))
  if (!facts) return { to: anew(state, state.username), problems: [{ key: 'stale' }] }
  try {
    const person = await identify(facts, taken)
    return arrive({ ...anew(state, state.username), ...used(asked) }, person, facts, journey)
  } catch (error) {
    return notSignedIn(asked, facts, error)
  }
}

/** What is left of the way, for a browser that comes back by it twice. */
const used = ({ state: { upstream: attempt } }: Asked) => {
  if (!attempt) return {}
  const { answer: _, ...rest } = attempt
  return { upstream: rest }
}

/** Asks the provider whom it means. */
async function identify(facts: MethodFacts, { bindings, back }: Taken): Promise<UpstreamPerson> {
  if (back.error === 'access_denied' || back.error === 'user_cancelled_authorize')
    throw new UpstreamFault('upstream_denied', 'upstream_denied')
  if (back.code === undefined) throw failed('upstream_error')
  const opened = await open(facts)
  const { upstream: provider, method, redirectUri } = opened
  const config = await configurationOf(opened)
  const answer = new URL(redirectUri)
  answer.searchParams.set('code', back.code)
  answer.searchParams.set('state', back.state)
  if (back.iss !== undefined && provider.idToken) answer.searchParams.set('iss', back.iss)
  const tokens = await authorizationCodeGrant(config, answer, {
    expectedState: back.state,
    ...(bindings.nonce === null ? {} : { expectedNonce: bindings.nonce }),
    ...(bindings.verifier === null ? {} : { pkceCodeVerifier: bindings.verifier }),
    idTokenExpected: provider.idToken,
  })
  return provider.person(config, tokens, method, back)
}

/** Back to the sign-in page, with a sentence of ours. What the provider said is in the log only as a code. */
function notSignedIn({ state, journey }: Asked, { id, kind, name }: MethodFacts, error: unknown): Move {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const { key, reason } = error instanceof UpstreamFault ? error : failed(codeOf(error))
  const about = { issuer_id: issuerId, method_id: id, request_id: context.request.id, uid: journey.uid }
  if (key === 'upstream_failed') context.log.warn({ ...about, reason }, 'signing in through a provider failed')
  return {
    to: anew(state, state.username),
    problems: [{ key, places: { method: name } }],
    effects: (inside) => recordFailure(inside, { accountId, issuerId }, undefined, { method: kind, reason: key }),
  }
}

/** What kind of failure it was, in a word of the library's or ours. @throws when it was the database */
function codeOf(error: unknown): string {
  const { cause, code, name } = error as { cause?: { cause?: unknown }; code?: unknown; name?: unknown }
  for (const one of [error, cause, cause?.cause]) if (one instanceof OutboundError) return one.fault
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return 'provider_refused'
  const known = translated(error)
  if (known instanceof ApiError) throw known
  return typeof code === 'string' && /^(OAUTH|ERR)_[A-Z_]+$/.test(code) ? code.toLowerCase() : `unexpected ${name}`
}
