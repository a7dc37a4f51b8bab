/** What a caller must hold to change a client's settings: as much as these let the client do. */
import { canonicalJson } from '../../kernel/canonical.js'
import { insufficientScope } from '../../kernel/errors.js'
import { covers } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { mayGrant } from '../authority.js'
import type { ClientSettings } from './settings.js'

/**
 * Nobody gives a client, to use or to exchange tokens for, platform scopes that they lack (security rule 9).
 * @throws insufficient_scope
 */
export function mayGrantAll(context: Context, after: ClientSettings, before?: ClientSettings): void {
  // Tokens of the client go wherever a new redirect URI leads, so it asks for all that they may hold.
  const known = before?.openid?.redirect_uris ?? []
  const readdressed = (after.openid?.redirect_uris ?? []).some((uri) => !known.includes(uri))
  mayGrant(context, after.scopes ?? [], readdressed ? [] : before?.scopes)
  for (const list of ['subject_resources', 'target_resources'] as const) {
    const known = before?.openid?.token_exchange?.[list] ?? []
    for (const { resource, scopes } of after.openid?.token_exchange?.[list] ?? []) {
      const same = known.filter((entry) => entry.resource === resource).flatMap((entry) => entry.scopes)
      mayGrant(context, scopes, same)
    }
  }
}

/**
 * The token-exchange capability changes only by `issuers.clients:manage` on the whole account (spec 4.18 rule 3): a
 * caller bound to some issuers or to an organization does not have that.
 * @throws insufficient_scope
 */
export function mayChangeExchange(context: Context, before: ClientSettings | undefined, after: ClientSettings): void {
  const capability = (settings: ClientSettings | undefined) => canonicalJson(settings?.openid?.token_exchange ?? null)
  if (capability(before) === capability(after)) return
  const { actor } = context
  const scope = 'issuers.clients:manage'
  if (!covers(actor.scopes, scope)) throw insufficientScope(scope)
  if (actor.issuerId !== null || actor.orgId !== null || actor.issuerIds !== null || actor.orgIds !== null) {
    throw insufficientScope(scope, `Token exchange needs the scope ${scope} on the whole account.`)
  }
}
