/** DPoP proofs of token requests (RFC 9449 section 5, docs/contract.md#sender-constrained-tokens). */
import { errors } from 'oidc-provider'
import { checkUnverifiedProof, InvalidProofError } from '../../platform/crypto/dpop.js'
import { proofHeaderOf } from '../../resources/sessions/proof-of-possession.js'
import type { OpenIdContext } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * Checks the header `DPoP` of a token request before the grant handles the request: a client with
 * `dpop_bound_access_tokens` must send it. The error names the wrong member of the proof; oidc-provider then verifies
 * the signature.
 * @throws InvalidDpopProof
 */
export function checkProofHeader({ context, runtime }: RequestContext, ctx: OpenIdContext): void {
  const header = proofHeaderOf(ctx.req)
  if (header === undefined) {
    if (!ctx.oidc.client?.dpopBoundAccessTokens) return
    throw new errors.InvalidDpopProof('this client must send a DPoP proof with each token request, in the header DPoP')
  }
  try {
    checkUnverifiedProof(header, { method: ctx.method, url: `${runtime.url}/token`, now: context.now() })
  } catch (error) {
    throw error instanceof InvalidProofError ? new errors.InvalidDpopProof(error.message) : error
  }
}
