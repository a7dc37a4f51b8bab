/** Access tokens as the library's endpoints see them: found, if they are good now. */
import ProviderClass, { type Provider } from 'oidc-provider'
import { isId } from '../../kernel/ids.js'
import { seconds } from '../../kernel/time.js'
import { emit } from '../../resources/events/events.js'
import {
  type AccessTokenClaims,
  type LiveToken,
  readAccessToken,
  verifyAccessToken,
} from '../../resources/sessions/access-token.js'
import { asClient } from '../client.js'
import type { AccessToken } from '../library.js'
import { spend } from '../limits.js'
import { scope } from '../scope.js'

/** What the library sees in place of a JWT that it would refuse to look at; the JWT itself stands in the scope. */
export const JWT_STAND_IN = '~'

const live = new WeakMap<object, LiveToken>()

/** What is known of a token that `findLiveToken` found. */
export const liveTokenOf = (token: object): LiveToken | undefined => live.get(token)

/**
 * The library's `AccessToken.find`.
 * @param value the JWT, or what stands for it
 */
export async function findLiveToken(provider: Provider, value: unknown): Promise<AccessToken | undefined> {
  if (typeof value !== 'string') return undefined
  const { context, runtime, jwt: presented } = scope()
  const isPresented = value === JWT_STAND_IN
  const { ctx } = ProviderClass
  const jwt = isPresented ? (presented ?? '') : value
  const isRevocation = ctx?.oidc.route === 'revocation'
  const found = isRevocation ? await readAccessToken(context, jwt) : await verifyAccessToken(context, jwt)
  // Another issuer's token is no token here (spec 4.17).
  if (found?.issuerId !== runtime.issuer.id) return undefined
  if (ctx?.oidc.route === 'userinfo') await spend(ctx, context, 'userinfo', found.claims.jti)
  const { claims } = found
  const token = new (provider.AccessToken as unknown as new (payload: object) => AccessToken)({
    kind: 'AccessToken',
    jti: claims.jti,
    clientId: claims.client_id,
    iat: claims.iat,
    exp: claims.exp,
    scope: claims.scope,
    sid: claims.sid,
    accountId: claims.sub === claims.client_id ? undefined : claims.sub,
    // At userinfo the library wants the grant, and refuses every token with an audience. At introspection and
    // revocation it must not know the grant, or revoking one access token would end the refresh tokens too.
    ...(isPresented || !isLive(found) ? {} : { grantId: found.grantId ?? undefined }),
  })
  if (isPresented) Object.defineProperty(token, 'destroy', { value: () => denylist(claims) })
  if (isLive(found)) live.set(token, found)
  return token
}

const isLive = (found: Pick<LiveToken, 'claims'>): found is LiveToken => 'accountId' in found

/** Spec 5.2 rule 4: on the revocation list for as long as it would live. */
async function denylist({ jti, exp, sub, client_id, sid }: AccessTokenClaims): Promise<void> {
  const { context, runtime, writes } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const client = ProviderClass.ctx!.oidc.client!
  writes.change(async (inside) => {
    const { count } = await inside.db.revokedToken.createMany({
      data: [{ issuerId, jti, expiresAt: exp * 1000 }],
      skipDuplicates: true,
    })
    if (count === 0) return
    const userId = sub === client_id ? null : sub
    // An agent is no client of the trail (decisions D3).
    const whose = isId('agt', client_id) ? { agentId: client_id, clientId: null } : { clientId: client_id }
    const target = { type: 'token', id: jti }
    const data = { token_type: 'access_token', revoked_at: seconds(context.now()) }
    await emit(asClient(inside, client), 'token.revoked', {
      accountId,
      issuerId,
      userId,
      ...whose,
      sessionId: sid ?? null,
      target,
      data,
    })
  })
}
