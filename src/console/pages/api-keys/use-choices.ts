import { apiKeyChoices, issuerChoices } from 'documents/api-keys'
import type { Option } from '../../form/fields'
import { useAsk } from '../../graphql/hooks'
import { usePlace } from '../../place'

/** What can be chosen for a key: the scopes that the caller has, and the account's issuers as far as it sees them. */
export function useKeyChoices(): { scopes: readonly string[]; issuers: { options: readonly Option[] } } | undefined {
  const { accountId, may } = usePlace()
  const { data } = useAsk(apiKeyChoices, { accountId })
  const issuers = useAsk(issuerChoices, { accountId }, { pause: !may('issuers') })
  if (!data || issuers.loading) return undefined
  const options = issuers.data?.issuers.data.map(({ id, name }) => ({ value: id, label: name })) ?? []
  return { scopes: data.permissions.scopes, issuers: { options } }
}
