import { administratorsPermissions, administratorsPlace } from 'documents/administrators'
import type { Fault } from '../../graphql/fault'
import { useAsk } from '../../graphql/hooks'
import { usePlace } from '../../place'
import { useVisit } from '../../shell/person'

export interface Administration {
  /** The organization of the account's administrators; it lies in the console issuer. */
  org: { accountId: string; issuerId: string; orgId: string }
  ownerUserId: string | null | undefined
  /** What the caller has there, and so can give. */
  scopes: readonly string[]
  may(field: string): boolean
}

/** Where the administrators of this account are kept, and what the caller may do there. */
export function useAdministration(): { administration?: Administration; fault?: Fault; loading: boolean } {
  const { accountId } = usePlace()
  const place = useAsk(administratorsPlace, { accountId })
  const home = useVisit()?.home
  const account = place.data?.account
  const org = home && account?.adminOrgId ? { ...home, orgId: account.adminOrgId } : undefined
  const rights = useAsk(administratorsPermissions, org ?? { accountId: '', issuerId: '', orgId: '' }, { pause: !org })
  if (!org || !rights.data) {
    const fault = place.fault ?? rights.fault
    return { fault, loading: place.loading || (org !== undefined && rights.loading) }
  }
  const { scopes, queries, mutations } = rights.data.permissions
  const allowed = new Set([...queries, ...mutations])
  const administration = { org, ownerUserId: account?.ownerUserId, scopes, may: (field: string) => allowed.has(field) }
  return { administration, loading: false }
}
