/** The ID token by which an application says whom it wants to sign out. */
import { compactVerify, decodeJwt, decodeProtectedHeader, importJWK } from 'jose'
import { ApiError } from '../../kernel/errors.js'
import { signingAlgorithms } from '../../resources/issuer-keys.js'
import { readIssuerUrl } from '../../resources/issuer-url.js'
import { scope } from '../scope.js'

/** Whom and which session a genuine ID token names. */
export interface Hint {
  sub: string
  sid: string | undefined
}

export interface ReadHint {
  /** The client that it was issued to. */
  clientId: string
  /** Undefined where nobody can tell any more whether the token is genuine: then it is as good as none. */
  hint: Hint | undefined
}

const notValid = (): ApiError => new ApiError('invalid_request', 'id_token_hint is not valid')
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Reads an ID token of this issuer, expired or not: it says who was signed in, and lets nobody in. What counts is the
 * signature by a key of the issuer, not what has changed since: the algorithm that its client wants, the names that the
 * issuer is served under. Of a key that is gone nothing can be said; applications keep their tokens for longer.
 * @throws invalid_request for what this issuer does not make: altered and foreign tokens, tokens of another kind
 */
export async function readHint(token: string): Promise<ReadHint> {
  const { context, runtime } = scope()
  const { header, claims } = parts(token)
  // Access tokens and logout tokens are signed by the same keys (RFC 8725 3.11).
  if (header.typ !== undefined && header.typ !== 'JWT') throw notValid()
  if (readIssuerUrl(context.config, text(claims.iss))?.issuerId !== runtime.issuer.id) throw notValid()
  const [clientId, sub, kid] = [text(claims.aud), text(claims.sub), text(header.kid)]
  if (!clientId || !sub || !kid || !signingAlgorithms.some((alg) => alg === header.alg)) throw notValid()
  const key = runtime.keys.find((one) => one.kid === kid)
  if (!key) return { clientId, hint: undefined }
  try {
    await compactVerify(token, await importJWK({ ...key.publicJwk }, key.alg), { algorithms: [key.alg] })
  } catch {
    throw notValid()
  }
  return { clientId, hint: { sub, sid: text(claims['sid']) || undefined } }
}

function parts(token: string) {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) }
  } catch {
    throw notValid()
  }
}
