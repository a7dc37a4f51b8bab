import { Group, MultiSelect, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { inGroups } from '../../form/fields'
import { soughtBy, useIssuerChoices, withOne } from '../../parts/choices'
import { usePlace } from '../../place'
import classes from './events.module.css'
import { eventTypes } from './types'
import type { useEventFilter } from './use-event-filter'

type Filter = ReturnType<typeof useEventFilter>

/** @param span may the time be chosen? Not where only what happens now is shown. */
export function EventFilterBar({ filter, set, span }: Pick<Filter, 'filter' | 'set'> & { span: boolean }) {
  const { may } = usePlace()
  const issuers = useIssuerChoices()
  return (
    <Group gap="xs" className={classes.filters}>
      <MultiSelect
        aria-label="Types"
        placeholder={filter.eventTypes ? undefined : 'Any type'}
        data={inGroups(eventTypes)}
        value={filter.eventTypes ?? []}
        onChange={(types) => set('eventTypes', types)}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the types' }}
        hidePickedOptions
        size="sm"
        className={classes.types}
      />
      {may('issuers') && (
        <Select
          aria-label="Issuer"
          placeholder="Any issuer"
          {...soughtBy(withOne(issuers, filter.issuerId), filter.issuerId ? [filter.issuerId] : [])}
          value={filter.issuerId ?? null}
          onChange={(value) => set('issuerId', value ?? '')}
          clearable
          size="sm"
          w={170}
        />
      )}
      <IdField label="User id" value={filter.userId} onChange={(value) => set('userId', value)} />
      <IdField label="Client id" value={filter.clientId} onChange={(value) => set('clientId', value)} />
      {span && (
        <>
          <MomentField label="From" value={filter.after} onChange={(value) => set('after', value)} />
          <MomentField label="Until" value={filter.before} onChange={(value) => set('before', value)} />
        </>
      )}
    </Group>
  )
}

function IdField({ label, value = '', onChange }: FieldProps<string>) {
  const [text, setText] = useState(value)
  const send = useDebouncedCallback((next: string) => onChange(next.trim()), 300)
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
        send(event.currentTarget.value)
      }}
    />
  )
}

interface FieldProps<Value> {
  label: string
  value?: Value | undefined
  onChange: (value: Value | undefined) => void
}

function MomentField({ label, value, onChange }: FieldProps<number>) {
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
