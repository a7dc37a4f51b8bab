/** The input component of each kind of field. */
import {
  ColorInput,
  JsonInput,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core'
import { searchableSelectProps } from '../components/searchable-options'
import { ClaimList } from './claim-list'
import type { EditedClaim } from './claim-values'
import { type Field, groupOptions } from './fields'
import { LinkList, type NamedLink } from './link-list'
import { ScopePicker } from './scope-picker'

interface Props<Input> {
  field: Field<Input>
  value: unknown
  error: string | undefined
  disabled: boolean
  /** Focuses this input when the dialog opens. */
  autoFocus?: boolean
  onChange: (value: unknown) => void
}

/** The accessible name of the eye dropper button, which has no name by default. */
const colorPickerLabels = { eyeDropperButtonProps: { 'aria-label': 'Pick a color from the screen' } }

export function FieldInput<Input>({ field, value, error, disabled, autoFocus, onChange }: Props<Input>) {
  const commonProps = {
    label: field.label,
    description: field.hint,
    required: field.required,
    error,
    disabled,
    'data-field': field.path,
    ...(autoFocus && { 'data-autofocus': true }),
  }
  const textProps = { ...commonProps, value: String(value ?? ''), placeholder: field.placeholder }
  switch (field.kind) {
    case 'text':
    case 'email':
    case 'url':
      return (
        <TextInput
          {...textProps}
          type={field.kind === 'email' ? 'email' : 'text'}
          inputMode={field.kind === 'text' ? undefined : field.kind}
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'password':
      return (
        <PasswordInput
          {...textProps}
          autoComplete="new-password"
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'textarea':
      return <Textarea {...textProps} autosize minRows={3} onChange={(event) => onChange(event.currentTarget.value)} />
    case 'json':
      return (
        <JsonInput
          {...textProps}
          autosize
          minRows={4}
          formatOnBlur
          onChange={onChange}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.7813rem' } }}
        />
      )
    case 'color':
      return (
        <ColorInput
          {...textProps}
          {...colorPickerLabels}
          format="hex"
          popoverProps={{ withinPortal: true }}
          onChange={onChange}
        />
      )
    case 'number':
      return (
        <NumberInput
          {...commonProps}
          value={value === '' ? '' : Number(value)}
          placeholder={field.placeholder}
          min={field.min}
          max={field.max}
          suffix={field.unit ? ` ${field.unit}` : undefined}
          allowDecimal={false}
          thousandSeparator=","
          onChange={(next) => onChange(next)}
        />
      )
    case 'toggle':
      return (
        <Switch
          label={field.label}
          description={field.hint}
          error={error}
          disabled={disabled}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'select':
      return (
        <Select
          {...commonProps}
          value={String(value)}
          data={field.options.map(({ value: key, label }) => ({ value: key, label }))}
          allowDeselect={false}
          placeholder={field.placeholder}
          checkIconPosition="right"
          {...(field.onSearch &&
            searchableSelectProps({ options: field.options, onSearch: field.onSearch }, [String(value)]))}
          onChange={(next) => onChange(next ?? '')}
        />
      )
    case 'multiselect':
      return (
        <MultiSelect
          {...commonProps}
          value={value as string[]}
          data={groupOptions(field.options)}
          placeholder={(value as string[]).length === 0 ? field.placeholder : undefined}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': `Clear ${field.label}` }}
          hidePickedOptions
          maxDropdownHeight={280}
          nothingFoundMessage="No results"
          {...(field.onSearch &&
            searchableSelectProps({ options: field.options, onSearch: field.onSearch }, value as string[]))}
          onChange={onChange}
        />
      )
    case 'list':
      return (
        <TagsInput
          {...commonProps}
          value={value as string[]}
          placeholder={(value as string[]).length === 0 ? field.placeholder : undefined}
          splitChars={[',', ' ', '\n']}
          acceptValueOnBlur
          onChange={onChange}
        />
      )
    case 'scopes':
      return (
        <ScopePicker
          label={field.label}
          hint={field.hint}
          error={error}
          availableScopes={field.availableScopes}
          value={value as string[]}
          disabled={disabled}
          onChange={onChange}
        />
      )
    case 'links':
      return (
        <LinkList
          path={field.path}
          label={field.label}
          hint={field.hint}
          error={error}
          value={value as NamedLink[]}
          disabled={disabled}
          onChange={onChange}
        />
      )
    case 'claims':
      return (
        <ClaimList
          path={field.path}
          label={field.label}
          hint={field.hint}
          error={error}
          value={value as EditedClaim[]}
          disabled={disabled}
          onChange={onChange}
        />
      )
    case 'datetime':
      return (
        <TextInput
          {...commonProps}
          type="datetime-local"
          value={toDatetimeLocal(value)}
          onChange={(event) => onChange(event.currentTarget.value === '' ? '' : Date.parse(event.currentTarget.value))}
        />
      )
  }
}

/** Converts Unix milliseconds to the value of a datetime-local input: local time without a time zone. */
function toDatetimeLocal(at: unknown): string {
  if (typeof at !== 'number') return ''
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
