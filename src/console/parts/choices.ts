/** Things to choose from where there may be very many: the newest, and those that the server finds by what is typed. */
import type { OptionsFilter } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { issuerChoices } from 'documents/api-keys'
import { useMemo, useRef, useState } from 'react'
import type { Option } from '../form/fields'
import { useAsk } from '../graphql/hooks'
import { usePlace } from '../place'

export interface Choices {
  options: readonly Option[]
  /** Hears what is typed. */
  onSearch: (text: string) => void
}

/** What is typed once it rests, for a query's `search`: null while nothing is. */
export function useSought(): [sought: string | null, onSearch: (text: string) => void] {
  const [text, setText] = useState('')
  const [sought] = useDebouncedValue(text.trim(), 200)
  return [sought || null, setText]
}

/** What is found, and what was before, so that what is chosen keeps its name when something else is looked for. */
export function useKnown(found: readonly Option[] | undefined): readonly Option[] {
  const known = useRef(new Map<string, Option>())
  return useMemo(() => {
    const now = new Set(found?.map(({ value }) => value))
    for (const option of found ?? []) known.current.set(option.value, option)
    return [...known.current.values()].map((option) =>
      found && !now.has(option.value) ? { ...option, kept: true } : option,
    )
  }, [found])
}

/** Choices with the chosen one among them: by its id where its name is not known. */
export function withOne(choices: Choices | undefined, id: string | null | undefined): Choices {
  const { options, onSearch } = choices ?? { options: [], onSearch: () => {} }
  const isKnown = !id || options.some(({ value }) => value === id)
  return { onSearch, options: isKnown ? options : [...options, { value: id, label: id }] }
}

/** For a Select that the server searches: by more than the labels that are shown. */
export const soughtBy = ({ options, onSearch }: Choices, chosen: readonly string[]) => ({
  data: options
    .filter(({ value, kept }) => !kept || chosen.includes(value))
    .map(({ value, label }) => ({ value, label })),
  filter: ((input) => input.options) as OptionsFilter,
  searchable: true,
  // The name of what is chosen is no search.
  onSearchChange: (text: string) =>
    onSearch(options.some(({ value, label }) => label === text && chosen.includes(value)) ? '' : text),
  nothingFoundMessage: 'Nothing is called that',
})

/** The account's issuers, as far as the caller sees them; undefined until the first are here. */
export function useIssuerChoices(): Choices | undefined {
  const { accountId, may } = usePlace()
  const [search, onSearch] = useSought()
  const { data, fault } = useAsk(issuerChoices, { accountId, search }, { pause: !may('issuers') })
  const found = useMemo(() => data?.issuers.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useKnown(found)
  const isHere = options.length > 0 || data !== undefined || fault !== undefined || !may('issuers')
  return useMemo(() => (isHere ? { options, onSearch } : undefined), [isHere, options, onSearch])
}
