/** Which organization a page is in, and what the caller may do there. */
import { organizationGroups, organizationPermissions } from 'documents/organizations'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { useAsk } from '../../graphql/hooks'
import { type Choices, useKnown, useSought } from '../../parts/choices'
import { PageLoading } from '../../parts/states'
import { issuerHref, usePlace } from '../../place'

interface OrganizationPlace {
  ids: { accountId: string; issuerId: string; orgId: string }
  /** Its own address, below /console. */
  href: string
  may(field: string): boolean
  /** The platform scopes that the caller has there. */
  scopes: readonly string[]
}

const OrganizationContext = createContext<OrganizationPlace | undefined>(undefined)

export function useOrganization(): OrganizationPlace {
  const place = useContext(OrganizationContext)
  if (!place) throw new Error('This belongs below an OrganizationPlaceOf.')
  return place
}

/** Waits until it is known what the caller may do in the organization. */
export function OrganizationPlaceOf({ orgId, children }: { orgId: string; children: ReactNode }) {
  const { accountId, issuerId } = usePlace()
  const { data, fault } = useAsk(
    organizationPermissions,
    { accountId, issuerId, orgId },
    { typename: 'Permissions', pause: orgId === '' },
  )
  const place = useMemo(() => {
    const allowed = new Set([...(data?.permissions.queries ?? []), ...(data?.permissions.mutations ?? [])])
    return {
      ids: { accountId, issuerId, orgId },
      href: `${issuerHref(accountId, issuerId)}/organizations/${orgId}`,
      may: (field: string) => allowed.has(field),
      scopes: data?.permissions.scopes ?? [],
    }
  }, [accountId, issuerId, orgId, data])
  if (!data && !fault) return <PageLoading />
  return <OrganizationContext value={place}>{children}</OrganizationContext>
}

/** The groups to choose from, and their names by id. */
export function useGroups(): Choices & { nameOf(id: string): string } {
  const { ids, may } = useOrganization()
  const [search, onSearch] = useSought()
  const { data } = useAsk(
    organizationGroups,
    { ...ids, limit: 100, search },
    { typename: 'OrganizationGroup', pause: !may('organizationGroups') },
  )
  const found = useMemo(() => data?.organizationGroups.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useKnown(found)
  return useMemo(() => {
    const names = new Map(options.map(({ value, label }) => [value, label]))
    return { options, onSearch, nameOf: (id) => names.get(id) ?? id }
  }, [options, onSearch])
}
