import { CloseButton, Group, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../components/icon'
import classes from './list.module.css'
import type { ListParams } from './use-list-params'

export interface Filter {
  /** The name of the query variable. */
  name: string
  label: string
  options: readonly { value: string; label: string }[]
  /** True if the query variable is a Boolean. The values of the options are then `true` and `false`. */
  boolean?: boolean
}

interface Props {
  search: { name: string; placeholder: string } | undefined
  filters: readonly Filter[]
  listParams: ListParams
}

export function FilterBar({ search, filters, listParams }: Props) {
  return (
    <Group gap="xs" className={classes.bar}>
      {search && <SearchField {...search} listParams={listParams} />}
      {filters.map(({ name, label, options }) => (
        <Select
          key={name}
          aria-label={label}
          placeholder={label}
          value={listParams.filters[name] ?? null}
          data={[...options]}
          clearable
          searchable={options.length > 12}
          size="sm"
          w={170}
          checkIconPosition="right"
          onChange={(value) => listParams.set(name, value ?? '')}
        />
      ))}
    </Group>
  )
}

function SearchField({ name, placeholder, listParams }: { name: string; placeholder: string; listParams: ListParams }) {
  const currentValue = listParams.filters[name] ?? ''
  const [text, setText] = useState(currentValue)
  const setSearchDebounced = useDebouncedCallback((value: string) => listParams.set(name, value.trim()), 250)
  useEffect(() => setText(currentValue), [currentValue])
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
            aria-label="Clear search"
            onClick={() => {
              setText('')
              listParams.set(name, '')
            }}
          />
        )
      }
      className={classes.search}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        setSearchDebounced(event.currentTarget.value)
      }}
    />
  )
}
