/** Chooses a user of the issuer by typing a part of a name, username or address. */
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { users } from 'documents/users'
import { useState } from 'react'
import { useAsk } from '../graphql/hooks'
import { userName } from '../pages/users/names'
import { usePlace } from '../place'

export interface Picked {
  id: string
  name: string
}

interface Props {
  label: string
  picked: Picked | undefined
  onPick: (user: Picked | undefined) => void
  error?: string | undefined
}

export function UserPicker({ label, picked, onPick, error }: Props) {
  const { accountId, issuerId } = usePlace()
  const [text, setText] = useState('')
  const [sought] = useDebouncedValue(text, 200)
  const search = sought.trim() === '' || sought === picked?.name ? null : sought.trim()
  const { data, loading } = useAsk(users, { accountId, issuerId, limit: 10, search })
  const found = (data?.users.data ?? []).map((user) => ({ value: user.id, label: userName(user) }))
  const all =
    picked && !found.some(({ value }) => value === picked.id) ? [{ value: picked.id, label: picked.name }] : []
  return (
    <Select
      label={label}
      required
      data-autofocus
      searchable
      clearable
      placeholder="Type a name, username or email"
      nothingFoundMessage={loading ? 'Looking …' : 'Nobody of this issuer is called that.'}
      data={[...all, ...found]}
      // The server has searched already, by more than the names that are shown.
      filter={({ options }) => options}
      searchValue={text}
      onSearchChange={setText}
      value={picked?.id ?? null}
      error={error}
      onChange={(id, option) => onPick(id === null || option === null ? undefined : { id, name: option.label })}
    />
  )
}
