/** Which organization a page is in, and what the caller may do there. */
import { organizationGroups, organizationPermissions } from 'documents/organizations'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import type { Option } from '../../form/fields'
import { useAsk } from '../../graphql/hooks'
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
export function useGroups(): { options: Option[]; nameOf(id: string): string } {
  const { ids, may } = useOrganization()
  const { data } = useAsk(
    organizationGroups,
    { ...ids, limit: 100 },
    { typename: 'OrganizationGroup', pause: !may('organizationGroups') },
  )
  return useMemo(() => {
    const groups = data?.organizationGroups.data ?? []
    const names = new Map(groups.map(({ id, name }) => [id, name]))
    return {
      options: groups.map(({ id, name }) => ({ value: id, label: name })),
      nameOf: (id) => names.get(id) ?? id,
    }
  }, [data])
}
