import { refreshTokenId } from '../adapter.js'
import { param } from '../library.js'
import { scope } from '../scope.js'
import { refuseUngranted } from '../tokens.js'
import type { Grant } from './grant.js'

/**
 * Refresh token with rotation (RFC 6749 6, RFC 9700 4.14.2, spec 4.17). The library narrows the scope (an empty one is
 * none, RFC 6749 3.2), keeps the full grant in the new token and revokes the family of a used one; one winner of a race is ours, see `Writes`.
 */
export const refreshToken: Grant = {
  parameters: ['refresh_token', 'scope', 'resource'],
  repeatable: ['resource'],
  async handle(ctx, library) {
    const value = param(ctx, 'refresh_token')
    await library(ctx)
    refuseUngranted(ctx, ctx.oidc.refreshToken)
    const { context, writes } = scope()
    const { sid } = ctx.oidc.refreshToken ?? {}
    const { refresh_token: fresh } = ctx.body as { refresh_token?: string }
    if (sid && value && fresh) {
      writes.touch(context, sid, { refresh: refreshTokenId(fresh), gone: refreshTokenId(value) })
    }
  },
}
