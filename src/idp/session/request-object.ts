/** Request objects (RFC 9101), which the authorization endpoint refuses (docs/contract.md#authorization-requests). */
import { decodeJwt } from 'jose'
import { type OpenIdContext, textParameter } from '../provider-types.js'

/**
 * Returns whether a client asks for the response mode `form_post` only in a request object. The error that refuses the
 * request object is sent in this mode, because the redirect URI of such a client accepts no query. The signature is
 * not verified, because every sender may choose the response mode.
 */
export function asksForFormPost(ctx: OpenIdContext): boolean {
  const request = textParameter(ctx, 'request')
  if (request === undefined || textParameter(ctx, 'response_mode') !== undefined) return false
  try {
    return decodeJwt(request)['response_mode'] === 'form_post'
  } catch {
    return false
  }
}
