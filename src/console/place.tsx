/** Where in the console somebody is, and what they may do there. */
import { permissions } from 'documents/accounts'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { useAsk } from './graphql/hooks'

export interface Place {
  accountId: string
  /** Empty outside of an issuer. */
  issuerId: string
  /** May the caller run this field of Query or Mutation with the ids of this place? False until the answer is there. */
  may(field: string): boolean
  /** The answer to `may` is there. */
  known: boolean
}

const PlaceContext = createContext<Place>({ accountId: '', issuerId: '', may: () => false, known: false })

export const usePlace = (): Place => useContext(PlaceContext)

/** Everything below is at this place. */
export function PlaceOf({ accountId, issuerId = '', children }: PlaceProps) {
  const { data, fault } = useAsk(
    permissions,
    { accountId, issuerId: issuerId || null },
    { pause: accountId === '', typename: 'Permissions' },
  )
  const place = useMemo(() => {
    const allowed = new Set([...(data?.permissions.queries ?? []), ...(data?.permissions.mutations ?? [])])
    const known = data !== undefined || fault !== undefined
    return { accountId, issuerId, may: (field: string) => allowed.has(field), known }
  }, [accountId, issuerId, data, fault])
  return <PlaceContext value={place}>{children}</PlaceContext>
}

interface PlaceProps {
  accountId: string
  issuerId?: string
  children: ReactNode
}

export const accountHref = (accountId: string): string => `/accounts/${accountId}`
export const issuerHref = (accountId: string, issuerId: string): string => `/accounts/${accountId}/issuers/${issuerId}`
/** The address of the account or issuer that this place is in. */
export const hrefOf = ({ accountId, issuerId }: Pick<Place, 'accountId' | 'issuerId'>): string =>
  issuerId === '' ? accountHref(accountId) : issuerHref(accountId, issuerId)
