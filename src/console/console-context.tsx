/** The current account and issuer of the console, and what the caller may do in them. */
import { permissions } from 'documents/accounts'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { useQuery } from './graphql/hooks'
import type { RequestError } from './graphql/request-error'

export interface ConsoleContextValue {
  accountId: string
  /** Empty on pages of the account. */
  issuerId: string
  /**
   * Returns true if the caller may run this field of Query or Mutation in the current account or issuer. Returns false
   * while the permissions are not loaded.
   */
  may(field: string): boolean
  /** True when the permissions have been loaded or could not be loaded. */
  isLoaded: boolean
  /** The error if the permissions could not be loaded. */
  error: RequestError | undefined
  /** Loads the permissions again. */
  refetch(): void
}

const ConsoleContext = createContext<ConsoleContextValue>({
  accountId: '',
  issuerId: '',
  may: () => false,
  isLoaded: false,
  error: undefined,
  refetch: () => {},
})

export const useConsoleContext = (): ConsoleContextValue => useContext(ConsoleContext)

/** Sets the current account and issuer for its children, and loads the caller's permissions in them. */
export function ConsoleContextProvider({ accountId, issuerId = '', children }: ConsoleContextProviderProps) {
  const { data, error, refetch } = useQuery(
    permissions,
    { accountId, issuerId: issuerId || null },
    { pause: accountId === '', typename: 'Permissions' },
  )
  const value = useMemo(() => {
    const allowed = new Set([...(data?.permissions.queries ?? []), ...(data?.permissions.mutations ?? [])])
    const isLoaded = data !== undefined || error !== undefined
    const may = (field: string) => allowed.has(field)
    return { accountId, issuerId, may, isLoaded, error: data === undefined ? error : undefined, refetch }
  }, [accountId, issuerId, data, error, refetch])
  return <ConsoleContext value={value}>{children}</ConsoleContext>
}

interface ConsoleContextProviderProps {
  accountId: string
  issuerId?: string
  children: ReactNode
}

export const accountHref = (accountId: string): string => `/accounts/${accountId}`
export const issuerHref = (accountId: string, issuerId: string): string => `/accounts/${accountId}/issuers/${issuerId}`
/** The path of the open issuer, or of the account if no issuer is open. */
export const baseHref = ({ accountId, issuerId }: Pick<ConsoleContextValue, 'accountId' | 'issuerId'>): string =>
  issuerId === '' ? accountHref(accountId) : issuerHref(accountId, issuerId)
