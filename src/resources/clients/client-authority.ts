/**
 * The authority that a caller needs to change the settings of a client: at least the platform scopes that the settings
 * give to the client.
 */
import { canonicalJson } from '../../kernel/canonical-json.js'
import { insufficientScope } from '../../kernel/errors.js'
import { coversScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { addedPlatformScopes, requireFullAuthorityIfConsoleIssuer, requireGrantableScopes } from '../authority.js'
import { applicationType, type ClientSettings, grantTypesOf } from './settings.js'

/** The issuer of the client, and `confidential`, which determines defaults of its settings. */
interface ClientTraits {
  issuerId: string
  confidential: boolean
}

/** Returns the settings that say how a client gets tokens, where it receives them, and for whom they are valid. */
function tokenUseSettings(confidential: boolean, settings: ClientSettings): readonly (readonly string[])[] {
  const client = { confidential, settings }
  const { redirect_uris = [], allowed_resources = [], allowed_audiences = [] } = settings.openid ?? {}
  return [[applicationType(client)], grantTypesOf(client), redirect_uris, allowed_resources, allowed_audiences]
}

/**
 * Requires that the caller has every platform scope that a change adds to a client or to its token exchange policy
 * (docs/contract.md#no-granting-beyond-the-callers-authority). If the change adds an application type, grant type,
 * redirect URI, resource or audience, all platform scopes of the client are checked, because new parties can get tokens
 * with them. Adding platform scopes to a client of the console issuer requires full authority, because tokens of the
 * client are valid for the accounts of the users who sign in.
 * @param before the settings before the change; undefined to check all platform scopes
 * @throws insufficient_scope
 */
export async function requireGrantableClientScopes(
  context: Context,
  { issuerId, confidential }: ClientTraits,
  after: ClientSettings,
  before?: ClientSettings,
): Promise<void> {
  const previousSettings = before && tokenUseSettings(confidential, before)
  const isWidened = tokenUseSettings(confidential, after).some((list, at) =>
    list.some((way) => !previousSettings?.[at]?.includes(way)),
  )
  const addedScopes = addedPlatformScopes(isWidened ? [] : (before?.scopes ?? []), after.scopes ?? [])
  for (const list of ['subject_resources', 'target_resources'] as const) {
    const entries = before?.openid?.token_exchange?.[list] ?? []
    for (const { resource, scopes } of after.openid?.token_exchange?.[list] ?? []) {
      const same = entries.filter((entry) => entry.resource === resource).flatMap((entry) => entry.scopes)
      addedScopes.push(...addedPlatformScopes(same, scopes))
    }
  }
  requireGrantableScopes(context, addedScopes)
  if (addedScopes.length > 0) await requireFullAuthorityIfConsoleIssuer(context, issuerId)
}

/**
 * Requires `issuers.clients:manage` on the whole account if the token exchange policy changes
 * (docs/contract.md#token-exchange rule 3). A caller who is restricted to issuers or organizations does not have it.
 * @param before the settings before the change; undefined for a new client
 * @throws insufficient_scope
 */
export function requireTokenExchangeAuthority(
  context: Context,
  before: ClientSettings | undefined,
  after: ClientSettings,
): void {
  const capability = (settings: ClientSettings | undefined) => canonicalJson(settings?.openid?.token_exchange ?? null)
  if (capability(before) === capability(after)) return
  const { actor } = context
  const scope = 'issuers.clients:manage'
  if (!coversScope(actor.scopes, scope)) throw insufficientScope(scope)
  if (actor.issuerId !== null || actor.orgId !== null || actor.issuerIds !== null || actor.orgIds !== null) {
    throw insufficientScope(scope, `Changing token_exchange requires the scope ${scope} on the whole account.`)
  }
}
