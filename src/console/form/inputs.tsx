/** One input for each kind of field. */
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
import { soughtBy } from '../parts/choices'
import { type Field, inGroups } from './fields'
import { LinkList, type NamedLink } from './link-list'
import { ScopePicker } from './scope-picker'

interface Props<Input> {
  field: Field<Input>
  value: unknown
  fault: string | undefined
  disabled: boolean
  /** The cursor begins here when the dialogue opens. */
  autoFocus?: boolean
  onChange: (value: unknown) => void
}

/** For those who cannot see the picker. */
const colourLabels = { eyeDropperButtonProps: { 'aria-label': 'Pick a colour from the screen' } }

export function FieldInput<Input>({ field, value, fault, disabled, autoFocus, onChange }: Props<Input>) {
  const frame = {
    label: field.label,
    description: field.hint,
    required: field.required,
    error: fault,
    disabled,
    'data-field': field.path,
    ...(autoFocus && { 'data-autofocus': true }),
  }
  const text = { ...frame, value: String(value ?? ''), placeholder: field.placeholder }
  switch (field.kind) {
    case 'text':
    case 'email':
    case 'url':
      return (
        <TextInput
          {...text}
          type={field.kind === 'email' ? 'email' : 'text'}
          inputMode={field.kind === 'text' ? undefined : field.kind}
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'password':
      return (
        <PasswordInput
          {...text}
          autoComplete="new-password"
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'long':
      return <Textarea {...text} autosize minRows={3} onChange={(event) => onChange(event.currentTarget.value)} />
    case 'json':
      return (
        <JsonInput
          {...text}
          autosize
          minRows={4}
          formatOnBlur
          onChange={onChange}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.7813rem' } }}
        />
      )
    case 'colour':
      return (
        <ColorInput
          {...text}
          {...colourLabels}
          format="hex"
          popoverProps={{ withinPortal: true }}
          onChange={onChange}
        />
      )
    case 'number':
      return (
        <NumberInput
          {...frame}
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
          error={fault}
          disabled={disabled}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'choice':
      return (
        <Select
          {...frame}
          value={String(value)}
          data={field.options.map(({ value: key, label }) => ({ value: key, label }))}
          allowDeselect={false}
          placeholder={field.placeholder}
          checkIconPosition="right"
          {...(field.onSearch && soughtBy({ options: field.options, onSearch: field.onSearch }, [String(value)]))}
          onChange={(next) => onChange(next ?? '')}
        />
      )
    case 'choices':
      return (
        <MultiSelect
          {...frame}
          value={value as string[]}
          data={inGroups(field.options)}
          placeholder={(value as string[]).length === 0 ? field.placeholder : undefined}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': `Clear ${field.label}` }}
          hidePickedOptions
          maxDropdownHeight={280}
          nothingFoundMessage="Nothing matches"
          {...(field.onSearch && soughtBy({ options: field.options, onSearch: field.onSearch }, value as string[]))}
          onChange={onChange}
        />
      )
    case 'list':
      return (
        <TagsInput
          {...frame}
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
          fault={fault}
          offered={field.offered}
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
          fault={fault}
          value={value as NamedLink[]}
          disabled={disabled}
          onChange={onChange}
        />
      )
    case 'moment':
      return (
        <TextInput
          {...frame}
          type="datetime-local"
          value={localTime(value)}
          onChange={(event) => onChange(event.currentTarget.value === '' ? '' : Date.parse(event.currentTarget.value))}
        />
      )
  }
}

/** As the browser's own picker wants it: without a zone, by the clock of whoever looks. */
function localTime(at: unknown): string {
  if (typeof at !== 'number') return ''
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
