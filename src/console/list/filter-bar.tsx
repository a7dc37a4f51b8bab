import { CloseButton, Group, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../parts/icon'
import classes from './list.module.css'
import type { Filter } from './list-page'
import type { ListAddress } from './use-list-address'

interface Props {
  search: { name: string; placeholder: string } | undefined
  filters: readonly Filter[]
  address: ListAddress
}

export function FilterBar({ search, filters, address }: Props) {
  return (
    <Group gap="xs" className={classes.bar}>
      {search && <SearchField {...search} address={address} />}
      {filters.map(({ name, label, options }) => (
        <Select
          key={name}
          aria-label={label}
          placeholder={label}
          value={address.given[name] ?? null}
          data={[...options]}
          clearable
          searchable={options.length > 12}
          size="sm"
          w={170}
          checkIconPosition="right"
          onChange={(value) => address.set(name, value ?? '')}
        />
      ))}
    </Group>
  )
}

function SearchField({ name, placeholder, address }: { name: string; placeholder: string; address: ListAddress }) {
  const given = address.given[name] ?? ''
  const [text, setText] = useState(given)
  const send = useDebouncedCallback((value: string) => address.set(name, value.trim()), 250)
  useEffect(() => setText(given), [given])
  return (
    <TextInput
      type="search"
      aria-label={placeholder}
      placeholder={placeholder}
      leftSection={<Icon name="search" />}
      rightSection={
        text === '' ? null : (
          <CloseButton
            size="sm"
            aria-label="Clear the search"
            onClick={() => {
              setText('')
              address.set(name, '')
            }}
          />
        )
      }
      className={classes.search}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        send(event.currentTarget.value)
      }}
    />
  )
}
