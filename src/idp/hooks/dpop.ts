/**
 * DPoP (RFC 9449) with oidc-provider, which validates the proofs of its endpoints and grants. This file detects replays
 * in every process, binds refresh tokens, and gives the grants of Gatehouse the key of the proof.
 */
import Provider, { errors } from 'oidc-provider'
import validateProof, { checkDpopReplay, getDpopJwt } from 'oidc-provider/lib/helpers/validate_dpop.js'
import { checkProofAge, InvalidProofError, thumbprintOf } from '../../platform/crypto/dpop.js'
import { consumeValue } from '../../resources/single-use-values.js'
import type { OpenIdContext, RefreshToken } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * Validates the proof of a token request and consumes it.
 * @returns the thumbprint of its key; undefined without a proof
 * @throws InvalidDpopProof
 */
export async function consumeProof(ctx: OpenIdContext): Promise<string | undefined> {
  const { provider, client } = ctx.oidc
  const proof = await validateProof(provider, ctx)
  if (!proof) return undefined
  await checkDpopReplay(provider, ctx, proof, client!.clientId)
  return proof.thumbprint
}

/** The static method `unique` of oidc-provider's `ReplayDetection`. */
type IsUnique = (sender: string, jti: string, expiresAt: number) => Promise<boolean>

/**
 * Replaces `ReplayDetection.unique` for proofs. oidc-provider looks for the `jti` before it saves it, so concurrent
 * replays would succeed, and it forgets a proof whose `iat` is in the future before the proof expires. Proofs of two
 * keys may have the same `jti`.
 */
export const createReplayDetection =
  (original: IsUnique) =>
  async ({ context, runtime }: RequestContext, ...[sender, id, expiresAt]: Parameters<IsUnique>): Promise<boolean> => {
    const ctx = Provider.ctx!
    const proof = getDpopJwt(ctx.oidc.provider, ctx)
    // The call is for a client assertion, which oidc-provider validates before the proof.
    if (!proof) return original(sender, id, expiresAt)
    const age = ageOf(proof.payload, context.now())
    const key = `${await thumbprintOf(proof.protectedHeader)} ${age.jti}`
    if (await consumeValue(context, runtime.issuer.id, 'DPoPProof', key, age.expiresAt)) return true
    throw new errors.InvalidDpopProof('the DPoP proof was used before; create a proof for each request')
  }

function ageOf(claims: Record<string, unknown>, now: number): ReturnType<typeof checkProofAge> {
  try {
    return checkProofAge(claims, now)
  } catch (error) {
    throw error instanceof InvalidProofError ? new errors.InvalidDpopProof(error.message) : error
  }
}

/**
 * Binds a new refresh token of a public client to the key of the proof (RFC 9449 section 5). oidc-provider does so at the
 * code exchange, but not if the client sends its first proof with a refresh.
 */
export async function bindRefreshToken(token: RefreshToken): Promise<void> {
  const { ctx } = Provider
  if (!ctx || token.jkt !== undefined || ctx.oidc.client?.tokenEndpointAuthMethod !== 'none') return
  const proof = getDpopJwt(ctx.oidc.provider, ctx)
  if (proof) token.jkt = await thumbprintOf(proof.protectedHeader)
}
