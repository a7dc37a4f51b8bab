import { errors } from 'oidc-provider'
import { endFamily, redeemedBy, refreshTokenId } from '../adapter.js'
import { type OpenIdContext, param } from '../library.js'
import { scope } from '../scope.js'
import { refuseUngranted } from '../tokens.js'
import type { Grant } from './grant.js'

/**
 * Refresh token with rotation (RFC 6749 6, RFC 9700 4.14.2, spec 4.17). The library narrows the scope (an empty one is
 * none, RFC 6749 3.2) and keeps the full grant in the new token; that a used one ends its family is ours, as is one winner
 * of a race, see `Writes`.
 */
export const refreshToken: Grant = {
  parameters: ['refresh_token', 'scope', 'resource'],
  repeatable: ['resource'],
  async handle(ctx, library) {
    const value = param(ctx, 'refresh_token')
    if (value) await refuseUsed(ctx, value)
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

/**
 * Security rule 2: a used token that comes again ends its family, whatever else is wrong with the request. The library
 * asks for the scope, the grant and the account before that, and a thief who got one of them wrong would go unnoticed.
 * @throws InvalidGrant
 */
async function refuseUsed(ctx: OpenIdContext, value: string): Promise<void> {
  const found = await redeemedBy('RefreshToken', value)
  if (!found || found.consumedAt === null || found.payload.clientId !== ctx.oidc.client?.clientId) return
  if (found.payload.grantId) await endFamily(found.payload.grantId, 'token_compromised')
  throw new errors.InvalidGrant('refresh token already used')
}
