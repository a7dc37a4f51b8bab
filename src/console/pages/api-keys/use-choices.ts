import { apiKeyChoices } from 'documents/api-keys'
import { useMemo } from 'react'
import { useAsk } from '../../graphql/hooks'
import { type Choices, useIssuerChoices } from '../../parts/choices'
import { usePlace } from '../../place'

/** What can be chosen for a key: the scopes that the caller has, and the account's issuers as far as it sees them. */
export function useKeyChoices(): { scopes: readonly string[]; issuers: Choices } | undefined {
  const { accountId } = usePlace()
  const { data } = useAsk(apiKeyChoices, { accountId })
  const issuers = useIssuerChoices()
  return useMemo(() => data && issuers && { scopes: data.permissions.scopes, issuers }, [data, issuers])
}
