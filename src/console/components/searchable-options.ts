/** Options for selects that the server searches: the newest ones, and those that match the typed text. */
import type { OptionsFilter } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { issuerOptions } from 'documents/api-keys'
import { useMemo, useRef, useState } from 'react'
import { useConsoleContext } from '../console-context'
import type { Option } from '../form/fields'
import { useQuery } from '../graphql/hooks'

export interface SearchableOptions {
  options: readonly Option[]
  /** Receives the typed text. */
  onSearch: (text: string) => void
}

/** The debounced text for a query's `search` variable; null while it is empty. */
export function useDebouncedSearch(): [search: string | null, onSearch: (text: string) => void] {
  const [text, setText] = useState('')
  const [debouncedText] = useDebouncedValue(text.trim(), 200)
  return [debouncedText || null, setText]
}

/** Accumulates the results of all searches, so that a selected option keeps its label during another search. */
export function useAccumulatedOptions(found: readonly Option[] | undefined): readonly Option[] {
  const seenOptions = useRef(new Map<string, Option>())
  return useMemo(() => {
    const now = new Set(found?.map(({ value }) => value))
    for (const option of found ?? []) seenOptions.current.set(option.value, option)
    return [...seenOptions.current.values()].map((option) =>
      found && !now.has(option.value) ? { ...option, isStale: true } : option,
    )
  }, [found])
}

/** Adds the selected option if it is missing, with its id as label. */
export function withSelectedOption(
  searchable: SearchableOptions | undefined,
  id: string | null | undefined,
): SearchableOptions {
  const { options, onSearch } = searchable ?? { options: [], onSearch: () => {} }
  const isKnown = !id || options.some(({ value }) => value === id)
  return { onSearch, options: isKnown ? options : [...options, { value: id, label: id }] }
}

/** Props of a Select that the server searches. It does not filter, because the server matches more than the labels. */
export const searchableSelectProps = ({ options, onSearch }: SearchableOptions, selectedValues: readonly string[]) => ({
  data: options
    .filter(({ value, isStale }) => !isStale || selectedValues.includes(value))
    .map(({ value, label }) => ({ value, label })),
  filter: ((input) => input.options) as OptionsFilter,
  searchable: true,
  // The label of a selected option is not a search.
  onSearchChange: (text: string) =>
    onSearch(options.some(({ value, label }) => label === text && selectedValues.includes(value)) ? '' : text),
  nothingFoundMessage: 'No results',
})

/** Options with the account's issuers that the caller can see; undefined while the first page is loading. */
export function useIssuerOptions(): SearchableOptions | undefined {
  const { accountId, may } = useConsoleContext()
  const [search, onSearch] = useDebouncedSearch()
  const { data, error } = useQuery(issuerOptions, { accountId, search }, { pause: !may('issuers') })
  const found = useMemo(() => data?.issuers.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useAccumulatedOptions(found)
  const isLoaded = options.length > 0 || data !== undefined || error !== undefined || !may('issuers')
  return useMemo(() => (isLoaded ? { options, onSearch } : undefined), [isLoaded, options, onSearch])
}
