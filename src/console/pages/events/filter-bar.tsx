import { Group, MultiSelect, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { searchableSelectProps, useIssuerOptions, withSelectedOption } from '../../components/searchable-options'
import { useConsoleContext } from '../../console-context'
import { groupOptions } from '../../form/fields'
import { eventTypeOptions } from './event-types'
import classes from './events.module.css'
import type { useEventFilter } from './use-event-filter'

type Filter = ReturnType<typeof useEventFilter>

/** @param showTimeRange true to show the fields From and Until, which live events and charts do not use */
export function EventFilterBar({
  filter,
  set,
  showTimeRange,
}: Pick<Filter, 'filter' | 'set'> & { showTimeRange: boolean }) {
  const { may } = useConsoleContext()
  const issuers = useIssuerOptions()
  return (
    <Group gap="xs" className={classes.filters}>
      <MultiSelect
        aria-label="Event types"
        placeholder={filter.eventTypes ? undefined : 'Any type'}
        data={groupOptions(eventTypeOptions)}
        value={filter.eventTypes ?? []}
        onChange={(types) => set('eventTypes', types)}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Clear event types' }}
        hidePickedOptions
        size="sm"
        className={classes.types}
      />
      {may('issuers') && (
        <Select
          aria-label="Issuer"
          placeholder="Any issuer"
          {...searchableSelectProps(
            withSelectedOption(issuers, filter.issuerId),
            filter.issuerId ? [filter.issuerId] : [],
          )}
          value={filter.issuerId ?? null}
          onChange={(value) => set('issuerId', value ?? '')}
          clearable
          size="sm"
          w={170}
        />
      )}
      <IdField label="User ID" value={filter.userId} onChange={(value) => set('userId', value)} />
      <IdField label="Client ID" value={filter.clientId} onChange={(value) => set('clientId', value)} />
      {showTimeRange && (
        <>
          <DatetimeField label="From" value={filter.after} onChange={(value) => set('after', value)} />
          <DatetimeField label="Until" value={filter.before} onChange={(value) => set('before', value)} />
        </>
      )}
    </Group>
  )
}

function IdField({ label, value = '', onChange }: FieldProps<string>) {
  const [text, setText] = useState(value)
  const onChangeDebounced = useDebouncedCallback((next: string) => onChange(next.trim()), 300)
  useEffect(() => setText(value), [value])
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      size="sm"
      w={170}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        onChangeDebounced(event.currentTarget.value)
      }}
    />
  )
}

interface FieldProps<Value> {
  label: string
  value?: Value | undefined
  onChange: (value: Value | undefined) => void
}

function DatetimeField({ label, value, onChange }: FieldProps<number>) {
  const local = value === undefined ? '' : new Date(value - new Date(value).getTimezoneOffset() * 60_000)
  return (
    <TextInput
      type="datetime-local"
      aria-label={label}
      size="sm"
      leftSection={<span className={classes.when}>{label}</span>}
      leftSectionWidth={48}
      w={252}
      value={local === '' ? '' : local.toISOString().slice(0, 16)}
      onChange={(event) =>
        onChange(event.currentTarget.value === '' ? undefined : Date.parse(event.currentTarget.value))
      }
    />
  )
}
