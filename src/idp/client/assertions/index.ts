/**
 * Client authentication with `private_key_jwt` (docs/contract.md#client-assertions, OpenID Connect Core 1.0 section 9, RFC
 * 7523), for clients and agents. Gatehouse verifies the assertion instead of oidc-provider, because an agent can have
 * several authentication methods, and because replays must be detected in all processes. As with wallet assertions, the
 * assertion is replaced in the form by a random client secret, which `compareClientSecret` accepts if the assertion is
 * valid.
 */
import type { Context as KoaContext } from 'koa'
import { limits } from '../../../kernel/limits.js'
import { isSignedByOneOf } from '../../../platform/crypto/public-keys.js'
import { randomSecret } from '../../../platform/crypto/secrets.js'
import { areClientAssertionsEnabled, usesPrivateKeyJwt } from '../../../resources/clients/authentication-method.js'
import { isFapi2 } from '../../../resources/issuers/settings.js'
import { consumeValue } from '../../../resources/single-use-values.js'
import type { IssuerRuntime } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import type { ClientRow } from '../client.js'
import {
  assertionSubject,
  type ClientAssertion,
  JWT_BEARER_ASSERTION_TYPE,
  type PresentedAssertion,
  readAssertion,
} from './assertion.js'
import { type FetchBudget, inRequestOrder, type KeySource, loadKeys } from './key-sets.js'

/** Returns the client id that the client assertion of a form claims; undefined without such an assertion. */
export function claimedAssertionSubject(form: Form): string | undefined {
  const text = formField(form, 'client_assertion')
  const isJwtBearer = formField(form, 'client_assertion_type') === JWT_BEARER_ASSERTION_TYPE
  return isJwtBearer && text !== undefined ? assertionSubject(text) : undefined
}

/**
 * Reads a client assertion, replaces it in the form, and sets `request.clientAssertion`.
 * @returns the form for oidc-provider, unchanged if it has no JWT assertion, or also another authentication method, which
 *   oidc-provider refuses (RFC 6749 section 2.3)
 */
export function replaceClientAssertion(request: RequestContext, ctx: KoaContext, form: Form): Form {
  const { client_assertion: _, ...otherFields } = form
  const text = formField(form, 'client_assertion')
  if (text === undefined || formField(form, 'client_assertion_type') !== JWT_BEARER_ASSERTION_TYPE) return form
  if (ctx.req.headers.authorization !== undefined || form['client_secret'] !== undefined) return form
  const secret = randomSecret()
  request.clientAssertion = { secret, ...checkAssertion(request, ctx, form, text) }
  const clientId = form['client_id'] ?? assertionSubject(text)
  return { ...otherFields, ...(clientId !== undefined && { client_id: clientId }), client_secret: secret }
}

function checkAssertion(
  { context, runtime }: RequestContext,
  ctx: KoaContext,
  form: Form,
  text: string,
): Omit<PresentedAssertion, 'secret'> {
  if (!areClientAssertionsEnabled(runtime.issuer)) {
    const problem =
      'client assertions are not enabled at this issuer; see settings.security.openid_policy.client_assertions'
    return { assertion: undefined, problem }
  }
  const followsFapi2 = isFapi2(runtime.issuer.settings)
  const result = readAssertion(text, {
    clientId: formField(form, 'client_id'),
    isAudience: (audience) => isAudienceOf(runtime, audience, followsFapi2 ? [] : endpointsOf(ctx)),
    isFapi2: followsFapi2,
    now: context.now(),
  })
  return 'problem' in result ? { assertion: undefined, ...result } : { assertion: result }
}

/** The token endpoint and the endpoint of the request, relative to the issuer identifier (RFC 9126 section 2). */
const endpointsOf = (ctx: KoaContext): string[] => ['/token', `/${ctx.path.split('/').at(-1)}`]

/** Accepts the issuer identifiers of an issuer under each of its hosts, and these endpoints. */
function isAudienceOf(runtime: IssuerRuntime, audience: string, endpoints: readonly string[]): boolean {
  const endpoint = endpoints.find((path) => audience.endsWith(path))
  const candidates = endpoint === undefined ? [audience] : [audience, audience.slice(0, -endpoint.length)]
  return candidates.some((url) => runtime.withUrl(url) !== undefined)
}

/** The outcome of the verification; `reason` is for the log and the audit log. */
export type AssertionOutcome = { verifierId?: string | undefined } | { reason: string }

/**
 * Verifies the assertion of the request with the keys of the client, and uses its `jti`.
 * @param secret the client secret that oidc-provider got
 */
export async function verifyClientAssertion(
  request: RequestContext,
  presented: PresentedAssertion,
  client: ClientRow,
  secret: string,
): Promise<AssertionOutcome> {
  const { assertion } = presented
  if (!assertion) return { reason: presented.problem ?? 'the client assertion is invalid' }
  if (secret !== presented.secret || assertion.jws.claims['sub'] !== client.id)
    return { reason: 'the client assertion is for another client' }
  const sources = keySourcesOf(client)
  if (sources.length === 0)
    return {
      reason: client.kind === 'agent' ? 'the agent has no public key' : 'the client does not use private_key_jwt',
    }
  // 1. Verify the signature first, so that an assertion with an invalid signature does not use the `jti`.
  const signer = await findSigner(request, assertion, sources)
  if ('reason' in signer) return signer
  // 2. Use the `jti`, which is remembered longer than the assertion is valid, because the clock of another server may be
  // behind.
  const rememberedUntil = assertion.expiresAt + limits.clientAssertionClockToleranceSeconds * 1000
  const { context, runtime } = request
  const value = `${client.id} ${assertion.id}`
  const isFirstUse = await consumeValue(context, runtime.issuer.id, 'ClientAssertion', value, rememberedUntil)
  if (isFirstUse) return signer
  presented.problem = 'the client assertion was used before; each assertion needs a new jti'
  return { reason: presented.problem }
}

function keySourcesOf({ kind, settings, keys = [] }: ClientRow): readonly KeySource[] {
  if (kind === 'agent') return keys
  const { jwks, jwks_uri } = settings.openid ?? {}
  return usesPrivateKeyJwt(settings) ? [{ jwks, jwksUri: jwks_uri }] : []
}

/**
 * Finds the keys that verify an assertion. If none does, the keys of each `jwks_uri` are requested again, because the
 * client may have replaced them. An assertion causes at most `maxKeySetFetchesPerAssertion` requests.
 */
async function findSigner(
  { context, runtime: { issuer } }: RequestContext,
  { jws }: ClientAssertion,
  unorderedSources: readonly KeySource[],
): Promise<AssertionOutcome> {
  const errors = new Set<string>()
  const budget: FetchBudget = { remaining: limits.maxKeySetFetchesPerAssertion }
  const sources = inRequestOrder(context, issuer, unorderedSources, jws.header.kid)
  for (const reload of [false, true]) {
    const keySets = await Promise.all(sources.map((source) => loadKeys(context, issuer, source, { reload, budget })))
    const at = keySets.findIndex((keySet) => keySet !== undefined && isSignedByOneOf(keySet.keys, jws))
    if (at >= 0) return { verifierId: sources[at]!.verifierId }
    for (const keySet of keySets) if (keySet?.error !== undefined) errors.add(keySet.error)
  }
  const details = [...errors].map((error) => `; ${error}`).join('')
  return { reason: `no public key of the client verifies the client assertion${details}` }
}
