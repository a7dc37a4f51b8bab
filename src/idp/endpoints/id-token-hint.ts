/** Reads `id_token_hint` of a logout request. */
import { createPublicKey } from 'node:crypto'
import { ApiError } from '../../kernel/errors.js'
import { isSignatureValid, parseJws } from '../../platform/crypto/jws.js'
import { signingAlgorithms } from '../../resources/issuer-keys.js'
import { parseIssuerUrl } from '../../resources/issuer-url.js'
import type { RequestContext } from '../request-context.js'

/** User and session of a verified ID token. */
export interface IdTokenHint {
  sub: string
  sid: string | undefined
}

export interface IdTokenHintResult {
  /** The client that the token was issued to. */
  clientId: string
  /** Undefined if the signing key is gone, so that the token cannot be verified; it counts as absent then. */
  hint: IdTokenHint | undefined
}

const invalidHintError = (): ApiError =>
  new ApiError('invalid_request', 'id_token_hint is not an ID token of this issuer')
const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Reads an ID token of this issuer, expired or not: it identifies who was signed in and grants no access. Only the
 * signature by a key of the issuer counts; the client's algorithm and the issuer's hosts may have changed since. A
 * token whose key is gone cannot be verified, and is no error, because applications keep ID tokens for long.
 * @throws invalid_request for any other text: altered tokens, tokens of other issuers, and other token types
 */
export function readIdTokenHint({ context, runtime }: RequestContext, token: string): IdTokenHintResult {
  const jws = parseJws(token)
  if (!jws) throw invalidHintError()
  const { header, claims } = jws
  // Access tokens and logout tokens are signed with the same keys; `typ` distinguishes them (RFC 8725 section 3.11).
  if (header['typ'] !== undefined && header['typ'] !== 'JWT') throw invalidHintError()
  if (parseIssuerUrl(context.config, textOrEmpty(claims['iss']))?.issuerId !== runtime.issuer.id)
    throw invalidHintError()
  const [clientId, sub, kid] = [textOrEmpty(claims['aud']), textOrEmpty(claims['sub']), textOrEmpty(header['kid'])]
  if (!clientId || !sub || !kid || !signingAlgorithms.some((alg) => alg === header['alg'])) throw invalidHintError()
  const key = runtime.keys.find((one) => one.kid === kid)
  if (!key) return { clientId, hint: undefined }
  const publicKey = createPublicKey({ key: { ...key.publicJwk }, format: 'jwk' })
  if (!isSignatureValid(jws, key.alg, publicKey)) throw invalidHintError()
  return { clientId, hint: { sub, sid: textOrEmpty(claims['sid']) || undefined } }
}
