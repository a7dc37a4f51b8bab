/** Reads and verifies the `id_token_hint` of a logout request. */
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
  /**
   * Undefined if the issuer no longer has the signing key, so that the token cannot be verified. The `id_token_hint`
   * then counts as absent.
   */
  hint: IdTokenHint | undefined
}

const invalidHintError = (): ApiError =>
  new ApiError('invalid_request', 'id_token_hint is not an ID token of this issuer')
const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Reads an ID token of this issuer. An expired ID token is accepted, because it only identifies the user and grants no
 * access. The token may have any signature algorithm and host of the issuer, because the settings of the client and the
 * custom domains may have changed since it was issued. If the issuer no longer has the key
 * that signed the token, the signature cannot be verified: the result then has `clientId`, but no `hint`. This is not
 * an error, because applications may store ID tokens for longer than keys are published.
 * @throws invalid_request for altered tokens, tokens of other issuers, other types of tokens and other texts
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
