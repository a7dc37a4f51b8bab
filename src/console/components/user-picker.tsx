/** Selects a user of the issuer by name, username or email. */
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { users } from 'documents/users'
import { useState } from 'react'
import { useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import { userName } from '../pages/users/names'

export interface SelectedUser {
  id: string
  name: string
}

interface Props {
  label: string
  selected: SelectedUser | undefined
  onSelect: (user: SelectedUser | undefined) => void
  error?: string | undefined
}

export function UserPicker({ label, selected, onSelect, error }: Props) {
  const { accountId, issuerId } = useConsoleContext()
  const [text, setText] = useState('')
  const [debouncedText] = useDebouncedValue(text, 200)
  const search = debouncedText.trim() === '' || debouncedText === selected?.name ? null : debouncedText.trim()
  const { data, loading } = useQuery(users, { accountId, issuerId, limit: 10, search })
  const found = (data?.users.data ?? []).map((user) => ({ value: user.id, label: userName(user) }))
  const selectedOption =
    selected && !found.some(({ value }) => value === selected.id) ? [{ value: selected.id, label: selected.name }] : []
  return (
    <Select
      label={label}
      required
      data-autofocus
      searchable
      clearable
      placeholder="Type a name, username or email"
      nothingFoundMessage={loading ? 'Searching…' : 'No results'}
      data={[...selectedOption, ...found]}
      // The results must not be filtered again, because the server also matches values that are not in the labels.
      filter={({ options }) => options}
      searchValue={text}
      onSearchChange={setText}
      value={selected?.id ?? null}
      error={error}
      onChange={(id, option) => onSelect(id === null || option === null ? undefined : { id, name: option.label })}
    />
  )
}
