import { errors } from 'oidc-provider'
import { refreshTokenId } from '../adapter.js'
import { param } from '../library.js'
import { scope } from '../scope.js'
import { refuseUngranted } from '../tokens.js'
import type { Grant } from './grant.js'

/** Authorization code with PKCE (RFC 6749 4.1, RFC 7636, spec 5.2). The library does the rest. */
export const authorizationCode: Grant = {
  parameters: ['code', 'code_verifier', 'redirect_uri', 'resource'],
  repeatable: ['resource'],
  async handle(ctx, library) {
    // Spec 5.2 rule 3: 43 to 128 URL-safe characters; anything else is a wrong verifier, and a wrong one is invalid_grant.
    const verifier = param(ctx, 'code_verifier')
    if (verifier !== undefined && !/^[\w.~-]{43,128}$/.test(verifier)) throw new errors.InvalidGrant({})
    await library(ctx)
    refuseUngranted(ctx, ctx.oidc.entities.AuthorizationCode)
    // The session knows its current refresh token from the first one on (spec 2.13).
    const { context, writes } = scope()
    const { sid } = ctx.oidc.entities.AuthorizationCode ?? {}
    const { refresh_token: first } = ctx.body as { refresh_token?: string }
    if (sid && first) writes.touch(context, sid, { refresh: refreshTokenId(first) })
  },
}
