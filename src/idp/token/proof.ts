/** The header `DPoP` of token requests and pushed authorization requests (docs/contract.md#sender-constrained-tokens). */
import { errors } from 'oidc-provider'
import { checkUnverifiedProof, InvalidProofError } from '../../platform/crypto/dpop.js'
import { isFapi2 } from '../../resources/issuers/settings.js'
import { proofHeaderOf } from '../../resources/sessions/proof-of-possession.js'
import type { OpenIdContext } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * Requires a proof for a token request of a client with `dpop_bound_access_tokens`, or at an issuer with the profile
 * `fapi2`, and checks the proof with `checkProofHeader`.
 * @throws InvalidRequest without a proof; InvalidDpopProof
 */
export function requireProofHeader(request: RequestContext, ctx: OpenIdContext): void {
  const isRequired = ctx.oidc.client?.dpopBoundAccessTokens || isFapi2(request.runtime.issuer.settings)
  if (isRequired && proofHeaderOf(ctx.req) === undefined)
    throw new errors.InvalidRequest('this client must send a DPoP proof with each token request, in the header DPoP')
  checkProofHeader(request, ctx)
}

/**
 * Checks the proof of a request, if it has one, except for the signature, which oidc-provider verifies. Unlike the errors
 * of oidc-provider, the error names the wrong member and its expected value.
 * @throws InvalidDpopProof
 */
export function checkProofHeader({ context, runtime }: RequestContext, ctx: OpenIdContext): void {
  const header = proofHeaderOf(ctx.req)
  if (header === undefined) return
  try {
    checkUnverifiedProof(header, { method: ctx.method, url: `${runtime.url}${ctx.path}`, now: context.now() })
  } catch (error) {
    throw error instanceof InvalidProofError ? new errors.InvalidDpopProof(error.message) : error
  }
}
