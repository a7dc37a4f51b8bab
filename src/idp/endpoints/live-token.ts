/** Finds and revokes access tokens for the endpoints of oidc-provider. */
import ProviderClass, { type Provider } from 'oidc-provider'
import { isId } from '../../kernel/ids.js'
import { toUnixSeconds } from '../../kernel/time.js'
import { recordEvent } from '../../resources/events/record-event.js'
import {
  type AccessTokenClaims,
  type ActiveToken,
  verifyAccessToken,
  verifyUnexpiredAccessToken,
} from '../../resources/sessions/access-token.js'
import { withClientActor } from '../client/client.js'
import type { AccessToken } from '../provider-types.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { grantedClaims } from '../session/claims-parameter.js'

/**
 * Replaces a JWT in the parameter `token`, because oidc-provider rejects JWTs at introspection and revocation. The JWT
 * is `presentedJwt` of the request context.
 */
export const JWT_PLACEHOLDER = '~'

const liveTokens = new WeakMap<object, ActiveToken>()

/**
 * Returns the verified token from which `findLiveToken` created this token of oidc-provider; undefined in a revocation
 * request.
 */
export const liveTokenOf = (token: object): ActiveToken | undefined => liveTokens.get(token)

/**
 * oidc-provider's `AccessToken.find`: returns an active access token of this issuer. In a revocation request, the token
 * must only have a valid signature and be unexpired.
 * @param value the JWT, or JWT_PLACEHOLDER
 * @throws ApiError too_many_requests at userinfo
 */
export async function findLiveToken(
  request: RequestContext,
  provider: Provider,
  value: unknown,
): Promise<AccessToken | undefined> {
  if (typeof value !== 'string') return undefined
  const { context, runtime, presentedJwt } = request
  const isPresented = value === JWT_PLACEHOLDER
  const { ctx } = ProviderClass
  const jwt = isPresented ? (presentedJwt ?? '') : value
  const isRevocation = ctx?.oidc.route === 'revocation'
  const found = isRevocation ? await verifyUnexpiredAccessToken(context, jwt) : await verifyAccessToken(context, jwt)
  // A token of another issuer is invalid at this issuer (docs/contract.md#openid-connect-endpoints).
  if (found?.issuerId !== runtime.issuer.id) return undefined
  if (ctx?.oidc.route === 'userinfo') await consumeRateLimit(request, ctx, 'userinfo', found.claims.jti)
  const { claims } = found
  const token = new (provider.AccessToken as unknown as new (payload: object) => AccessToken)({
    kind: 'AccessToken',
    jti: claims.jti,
    clientId: claims.client_id,
    iat: claims.iat,
    exp: claims.exp,
    scope: claims.scope,
    sid: claims.sid,
    jkt: claims.cnf?.jkt,
    accountId: claims.sub === claims.client_id ? undefined : claims.sub,
    // At userinfo, oidc-provider requires the grant, and rejects tokens with an audience, so `aud` is not set. At
    // introspection and revocation the grant is not set, because oidc-provider would revoke its refresh tokens together
    // with the access token.
    ...(isPresented || !isLive(found) ? {} : { grantId: found.grantId ?? undefined }),
  })
  // oidc-provider loads the grant later, and then reads the individually requested claims from the token.
  if (ctx?.oidc.route === 'userinfo')
    Object.defineProperty(token, 'claims', { get: () => ({ userinfo: grantedClaims(ctx.oidc.grant) }) })
  if (isPresented) Object.defineProperty(token, 'destroy', { value: () => revokeAccessToken(request, claims) })
  if (isLive(found)) liveTokens.set(token, found)
  return token
}

const isLive = (found: Pick<ActiveToken, 'claims'>): found is ActiveToken => 'accountId' in found

/**
 * Adds an access token to the revocation list for the rest of its lifetime (docs/contract.md#grant-and-client-rules
 * rule 4), and records the event, unless the token is in the list already.
 */
async function revokeAccessToken(
  request: RequestContext,
  { jti, exp, sub, client_id, sid }: AccessTokenClaims,
): Promise<void> {
  const { context, runtime, unitOfWork } = request
  const { id: issuerId, accountId } = runtime.issuer
  const client = ProviderClass.ctx!.oidc.client!
  unitOfWork.addChange(async (tx) => {
    const { count } = await tx.db.revokedToken.createMany({
      data: [{ issuerId, jti, expiresAt: exp * 1000 }],
      skipDuplicates: true,
    })
    if (count === 0) return
    const userId = sub === client_id ? null : sub
    // Events name an agent in `agent_id` instead of `client_id` (docs/contract.md#event-records).
    const clientFields = isId('agt', client_id) ? { agentId: client_id, clientId: null } : { clientId: client_id }
    const target = { type: 'token', id: jti }
    const data = { token_type: 'access_token', revoked_at: toUnixSeconds(context.now()) }
    await recordEvent(withClientActor(request, tx, client), 'token.revoked', {
      accountId,
      issuerId,
      userId,
      ...clientFields,
      sessionId: sid ?? null,
      target,
      data,
    })
  })
}
