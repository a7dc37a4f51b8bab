/**
 * Checks that the sender of an access token has the key to which the token is bound (RFC 9449 section 7,
 * docs/contract.md#sender-constrained-tokens). For endpoints that oidc-provider does not serve.
 */
import type { IncomingMessage } from 'node:http'
import type { Context } from '../../platform/context.js'
import { dpopAlgorithms, InvalidProofError, verifyDpopProof } from '../../platform/crypto/dpop.js'
import { consumeValue } from '../single-use-values.js'
import type { ActiveToken } from './access-token.js'

/** An access token as the request presents it. */
export interface PresentedToken {
  token: string
  scheme: 'Bearer' | 'DPoP'
  /** The value of the header `DPoP`; undefined if the request has none. */
  proof: string | undefined
  method: string
  /** The public URL of the request. */
  url: string
}

/** Returns the value of the header `DPoP`; undefined if the request has none. */
export const proofHeaderOf = ({ headers }: IncomingMessage): string | undefined =>
  headers['dpop'] === undefined ? undefined : [headers['dpop']].flat().join(',')

export type PossessionErrorCode = 'invalid_token' | 'invalid_dpop_proof'

/** The request may not use the token: `code` is the error code of RFC 6750 or RFC 9449. */
export class PossessionError extends Error {
  constructor(
    readonly code: PossessionErrorCode,
    message: string,
  ) {
    super(message)
  }
}

/** Returns the challenge of RFC 9449 section 7.1 for `WWW-Authenticate`, without the scheme. */
export const dpopChallenge = (realm: string, error?: { code: string; description?: string }): string =>
  [
    `DPoP realm="${realm}"`,
    `algs="${dpopAlgorithms.join(' ')}"`,
    ...(error ? [`error="${error.code}"`] : []),
    ...(error?.description === undefined ? [] : [`error_description="${error.description}"`]),
  ].join(', ')

/**
 * Checks the scheme of the token and, for a bound token, the proof, which is consumed.
 * @throws PossessionError
 */
export async function requirePossession(
  context: Context,
  { claims, issuerId }: Pick<ActiveToken, 'claims' | 'issuerId'>,
  { token, scheme, proof, method, url }: PresentedToken,
): Promise<void> {
  const boundTo = claims.cnf?.jkt
  if (boundTo === undefined) {
    if (scheme === 'Bearer') return
    throw new PossessionError('invalid_token', 'the access token is not bound to a key; send it with the scheme Bearer')
  }
  if (scheme === 'Bearer')
    throw new PossessionError(
      'invalid_token',
      'the access token is bound to a key; send it with the scheme DPoP and a proof in the header DPoP',
    )
  if (proof === undefined)
    throw new PossessionError('invalid_dpop_proof', 'send a proof in the header DPoP with this access token')
  const { thumbprint, jti, expiresAt } = await verifyDpopProof(proof, {
    method,
    url,
    accessToken: token,
    now: context.now(),
  }).catch((error: unknown) => {
    throw error instanceof InvalidProofError ? new PossessionError('invalid_dpop_proof', error.message) : error
  })
  if (thumbprint !== boundTo)
    throw new PossessionError('invalid_token', 'the access token is bound to another key than that of the DPoP proof')
  if (!(await consumeValue(context, issuerId, 'DPoPProof', `${thumbprint} ${jti}`, expiresAt)))
    throw new PossessionError('invalid_dpop_proof', 'the DPoP proof was used before; create a proof for each request')
}
