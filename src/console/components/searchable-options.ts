/** Options of selects whose search runs on the server: the newest resources, or those that match the typed text. */
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

/**
 * Returns the debounced text for the `search` variable of a query (null while the text is empty), and a function that
 * receives the typed text.
 */
export function useDebouncedSearch(): [search: string | null, onSearch: (text: string) => void] {
  const [text, setText] = useState('')
  const [debouncedText] = useDebouncedValue(text.trim(), 200)
  return [debouncedText || null, setText]
}

/**
 * Accumulates the results of all searches, so that a selected option keeps its label during another search. Options
 * that are not in the latest result are `isStale`. Without a result, no option is.
 */
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

/** Adds the selected option, with its id as label, if it is not among the options. */
export function withSelectedOption(
  searchable: SearchableOptions | undefined,
  id: string | null | undefined,
): SearchableOptions {
  const { options, onSearch } = searchable ?? { options: [], onSearch: () => {} }
  const isKnown = !id || options.some(({ value }) => value === id)
  return { onSearch, options: isKnown ? options : [...options, { value: id, label: id }] }
}

/**
 * Returns the props of a Select whose search runs on the server. The Select does not filter the options again, because
 * the server also matches values that are not in the labels.
 */
export const searchableSelectProps = ({ options, onSearch }: SearchableOptions, selectedValues: readonly string[]) => ({
  data: options
    .filter(({ value, isStale }) => !isStale || selectedValues.includes(value))
    .map(({ value, label }) => ({ value, label })),
  filter: ((input) => input.options) as OptionsFilter,
  searchable: true,
  // Mantine also reports the label of the selected option as search text, which must not start a search.
  onSearchChange: (text: string) =>
    onSearch(options.some(({ value, label }) => label === text && selectedValues.includes(value)) ? '' : text),
  nothingFoundMessage: 'No results',
})

/** Returns the account's issuers that the caller can see, as options; undefined while they are loading. */
export function useIssuerOptions(): SearchableOptions | undefined {
  const { accountId, may } = useConsoleContext()
  const [search, onSearch] = useDebouncedSearch()
  const { data, error } = useQuery(issuerOptions, { accountId, search }, { pause: !may('issuers') })
  const found = useMemo(() => data?.issuers.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useAccumulatedOptions(found)
  const isLoaded = options.length > 0 || data !== undefined || error !== undefined || !may('issuers')
  return useMemo(() => (isLoaded ? { options, onSearch } : undefined), [isLoaded, options, onSearch])
}
