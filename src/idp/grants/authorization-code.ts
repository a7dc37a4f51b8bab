import { errors } from 'oidc-provider'
import { textParameter } from '../provider-types.js'
import { refreshTokenId } from '../store/adapter.js'
import { requireGrantedResources } from '../token/tokens.js'
import type { GrantType } from './grant.js'

/**
 * Authorization code grant with PKCE (RFC 6749 section 4.1, RFC 7636, docs/contract.md#code-exchange). oidc-provider's
 * handler exchanges the code.
 */
export const authorizationCode: GrantType = {
  parameters: ['code', 'code_verifier', 'redirect_uri', 'resource'],
  repeatable: ['resource'],
  async handle({ context, unitOfWork }, ctx, libraryHandler) {
    // A verifier has 43 to 128 URL-safe characters (docs/contract.md#grant-and-client-rules rule 3). For any other
    // format oidc-provider would return `invalid_request`, but a wrong verifier is `invalid_grant`.
    const verifier = textParameter(ctx, 'code_verifier')
    if (verifier !== undefined && !/^[\w.~-]{43,128}$/.test(verifier)) throw new errors.InvalidGrant({})
    await libraryHandler(ctx)
    requireGrantedResources(ctx, ctx.oidc.entities.AuthorizationCode)
    // The session stores the ids of its refresh tokens (docs/contract.md#sessions).
    const { sid } = ctx.oidc.entities.AuthorizationCode ?? {}
    const { refresh_token: refreshToken } = ctx.body as { refresh_token?: string }
    if (sid && refreshToken) unitOfWork.updateSession(context, sid, { refresh: refreshTokenId(refreshToken) })
  },
}
