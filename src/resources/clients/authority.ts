/** What a caller must hold to change a client's settings: as much as these let the client do. */
import { canonicalJson } from '../../kernel/canonical.js'
import { insufficientScope } from '../../kernel/errors.js'
import { covers } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { addedTo, mayGrant, requireAuthorityAtConsole } from '../authority.js'
import { applicationType, type ClientSettings, grantTypesOf } from './settings.js'

/** Which client of which issuer it is about; `confidential` decides what its settings say where they are silent. */
interface Subject {
  issuerId: string
  confidential: boolean
}

/** How tokens of a client come about, where they go and where they are good: one list for each. */
function waysOf(confidential: boolean, settings: ClientSettings): readonly (readonly string[])[] {
  const client = { confidential, settings }
  const { redirect_uris = [], allowed_resources = [], allowed_audiences = [] } = settings.openid ?? {}
  return [[applicationType(client)], grantTypesOf(client), redirect_uris, allowed_resources, allowed_audiences]
}

/**
 * Nobody gives a client, to use or to exchange tokens for, platform scopes that they lack (security rule 9). What it has
 * already is asked for as well where its tokens come about, go or are good in another way than before: whoever knows its
 * secret or has the new address gains them. Tokens of a client of the console issuer are good on the accounts of whoever
 * signs in there.
 * @throws insufficient_scope
 */
export async function mayGrantAll(
  context: Context,
  { issuerId, confidential }: Subject,
  after: ClientSettings,
  before?: ClientSettings,
): Promise<void> {
  const known = before && waysOf(confidential, before)
  const widened = waysOf(confidential, after).some((list, at) => list.some((way) => !known?.[at]?.includes(way)))
  const given = addedTo(widened ? [] : (before?.scopes ?? []), after.scopes ?? [])
  for (const list of ['subject_resources', 'target_resources'] as const) {
    const entries = before?.openid?.token_exchange?.[list] ?? []
    for (const { resource, scopes } of after.openid?.token_exchange?.[list] ?? []) {
      const same = entries.filter((entry) => entry.resource === resource).flatMap((entry) => entry.scopes)
      given.push(...addedTo(same, scopes))
    }
  }
  mayGrant(context, given)
  if (given.length > 0) await requireAuthorityAtConsole(context, issuerId)
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
