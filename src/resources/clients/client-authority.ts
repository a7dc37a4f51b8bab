/**
 * Authority that a caller needs to change client settings: at least the scopes that the settings give to the client.
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

/** Returns the settings that determine how a client gets tokens, where they are sent and what they are valid for. */
function tokenUseSettings(confidential: boolean, settings: ClientSettings): readonly (readonly string[])[] {
  const client = { confidential, settings }
  const { redirect_uris = [], allowed_resources = [], allowed_audiences = [] } = settings.openid ?? {}
  return [[applicationType(client)], grantTypesOf(client), redirect_uris, allowed_resources, allowed_audiences]
}

/**
 * A caller must have every platform scope that it gives to a client or its token exchange policy
 * (docs/contract.md#no-granting-beyond-the-callers-authority). Existing scopes are checked again if the client gets
 * tokens in a new way, at a new redirect URI or for a new resource, because that gives them to other parties. A client
 * of the console issuer needs full authority, because its tokens are valid for the accounts of the users who sign in.
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
 * A change of the token exchange policy needs `issuers.clients:manage` on the whole account
 * (docs/contract.md#token-exchange rule 3), which a caller restricted to issuers or organizations does not have.
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
