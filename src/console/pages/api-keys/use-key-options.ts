import { apiKeyOptions } from 'documents/api-keys'
import { useMemo } from 'react'
import { type SearchableOptions, useIssuerOptions } from '../../components/searchable-options'
import { useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'

/**
 * Returns the options of key forms: the scopes that the caller can grant, and the account's issuers that the caller can
 * see. Undefined until both are loaded.
 */
export function useKeyOptions(): { scopes: readonly string[]; issuers: SearchableOptions } | undefined {
  const { accountId } = useConsoleContext()
  const { data } = useQuery(apiKeyOptions, { accountId })
  const issuers = useIssuerOptions()
  return useMemo(() => data && issuers && { scopes: data.permissions.scopes, issuers }, [data, issuers])
}
