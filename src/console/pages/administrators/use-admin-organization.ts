import { administratorsOrganization, administratorsPermissions } from 'documents/administrators'
import { useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import type { RequestError } from '../../graphql/request-error'
import { useConsoleSession } from '../../shell/console-session'

export interface AdminOrganization {
  /** The IDs of the organization whose members administer the account. The organization is in the console issuer. */
  organizationIds: { accountId: string; issuerId: string; orgId: string }
  ownerUserId: string | null | undefined
  /** The scopes that the caller has in this organization and therefore can grant. */
  scopes: readonly string[]
  may(field: string): boolean
}

/** Loads the organization whose members administer the account, and what the caller may do in this organization. */
export function useAdminOrganization(): {
  adminOrganization?: AdminOrganization
  error?: RequestError
  loading: boolean
} {
  const { accountId } = useConsoleContext()
  const accountQuery = useQuery(administratorsOrganization, { accountId })
  const consoleIssuer = useConsoleSession()?.home
  const account = accountQuery.data?.account
  const organizationIds =
    consoleIssuer && account?.adminOrgId ? { ...consoleIssuer, orgId: account.adminOrgId } : undefined
  const permissionsQuery = useQuery(
    administratorsPermissions,
    organizationIds ?? { accountId: '', issuerId: '', orgId: '' },
    { pause: !organizationIds },
  )
  if (!organizationIds || !permissionsQuery.data) {
    const error = accountQuery.error ?? permissionsQuery.error
    return { error, loading: accountQuery.loading || (organizationIds !== undefined && permissionsQuery.loading) }
  }
  const { scopes, queries, mutations } = permissionsQuery.data.permissions
  const allowed = new Set([...queries, ...mutations])
  const adminOrganization = {
    organizationIds,
    ownerUserId: account?.ownerUserId,
    scopes,
    may: (field: string) => allowed.has(field),
  }
  return { adminOrganization, loading: false }
}
