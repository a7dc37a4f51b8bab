import { errors } from 'oidc-provider'
import { type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'
import { loadRedeemedArtifact, refreshTokenId, revokeTokenFamily } from '../store/adapter.js'
import { requireGrantedResources } from '../token/tokens.js'
import type { GrantType } from './grant.js'

/**
 * Refresh token grant with rotation (RFC 6749 section 6, RFC 9700 section 4.14.2, docs/contract.md#refresh).
 * oidc-provider's handler limits the access token to the requested scope (an empty parameter counts as absent, RFC 6749
 * section 3.2), and the new refresh token keeps the full scope. `rotateRefreshToken` in provider.ts turns on rotation.
 * Reuse is detected in this file. `UnitOfWork.commit` ensures that only one of several concurrent refreshes succeeds.
 */
export const refreshToken: GrantType = {
  parameters: ['refresh_token', 'scope', 'resource'],
  repeatable: ['resource'],
  async handle(request, ctx, libraryHandler) {
    const value = textParameter(ctx, 'refresh_token')
    if (value) await requireUnusedRefreshToken(request, ctx, value)
    await libraryHandler(ctx)
    requireGrantedResources(ctx, ctx.oidc.refreshToken)
    const { context, unitOfWork } = request
    const { sid } = ctx.oidc.refreshToken ?? {}
    const { refresh_token: newValue } = ctx.body as { refresh_token?: string }
    if (sid && value && newValue) {
      unitOfWork.updateSession(context, sid, { refresh: refreshTokenId(newValue), replaced: refreshTokenId(value) })
    }
  },
}

/**
 * Revokes the token family if a client presents its used refresh token again, even if the request has other errors
 * (docs/contract.md#reuse-of-codes-and-refresh-tokens). oidc-provider checks scope, grant and account before it detects
 * reuse, so it would not detect an attacker who requests a wrong scope.
 * @throws InvalidGrant if the refresh token was used before
 */
async function requireUnusedRefreshToken(request: RequestContext, ctx: OpenIdContext, value: string): Promise<void> {
  const artifact = await loadRedeemedArtifact(request, 'RefreshToken', value)
  if (!artifact || artifact.consumedAt === null || artifact.payload.clientId !== ctx.oidc.client?.clientId) return
  if (artifact.payload.grantId) await revokeTokenFamily(request, artifact.payload.grantId, 'token_compromised')
  throw new errors.InvalidGrant('refresh token already used')
}
