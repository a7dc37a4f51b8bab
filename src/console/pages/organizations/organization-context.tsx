/** The open organization, and what the caller may do in it. */
import { organizationGroups, organizationPermissions } from 'documents/organizations'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { type SearchableOptions, useAccumulatedOptions, useDebouncedSearch } from '../../components/searchable-options'
import { PageLoading } from '../../components/states'
import { issuerHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'

interface OrganizationContextValue {
  ids: { accountId: string; issuerId: string; orgId: string }
  /** Path of the organization's page, below /console. */
  href: string
  may(field: string): boolean
  /** The platform scopes that the caller has in the organization. */
  scopes: readonly string[]
}

const OrganizationContext = createContext<OrganizationContextValue | undefined>(undefined)

export function useOrganization(): OrganizationContextValue {
  const value = useContext(OrganizationContext)
  if (!value) throw new Error('useOrganization must be used inside an OrganizationProvider.')
  return value
}

/** Loads what the caller may do in the organization, then renders the children, also if loading failed. */
export function OrganizationProvider({ orgId, children }: { orgId: string; children: ReactNode }) {
  const { accountId, issuerId } = useConsoleContext()
  const { data, error } = useQuery(
    organizationPermissions,
    { accountId, issuerId, orgId },
    { typename: 'Permissions', pause: orgId === '' },
  )
  const value = useMemo(() => {
    const allowed = new Set([...(data?.permissions.queries ?? []), ...(data?.permissions.mutations ?? [])])
    return {
      ids: { accountId, issuerId, orgId },
      href: `${issuerHref(accountId, issuerId)}/organizations/${orgId}`,
      may: (field: string) => allowed.has(field),
      scopes: data?.permissions.scopes ?? [],
    }
  }, [accountId, issuerId, orgId, data])
  if (!data && !error) return <PageLoading />
  return <OrganizationContext value={value}>{children}</OrganizationContext>
}

/** Returns groups of the organization as options, and a function that returns the name of a group, otherwise its id. */
export function useGroupOptions(): SearchableOptions & { nameOf(id: string): string } {
  const { ids, may } = useOrganization()
  const [search, onSearch] = useDebouncedSearch()
  const { data } = useQuery(
    organizationGroups,
    { ...ids, limit: 100, search },
    { typename: 'OrganizationGroup', pause: !may('organizationGroups') },
  )
  const found = useMemo(() => data?.organizationGroups.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useAccumulatedOptions(found)
  return useMemo(() => {
    const names = new Map(options.map(({ value, label }) => [value, label]))
    return { options, onSearch, nameOf: (id) => names.get(id) ?? id }
  }, [options, onSearch])
}
