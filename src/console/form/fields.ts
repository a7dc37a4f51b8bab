/**
 * A form is a table of fields. Each field has a path into the resource that the form edits. An edit
 * sends only the changed fields, so that it does not overwrite fields that the user did not change.
 */
import type { FieldError } from '../graphql/request-error'
import { type EditedClaim, incompleteClaimError } from './claim-values'
import type { NamedLink } from './link-list'

/** `name`, or a dotted path such as `settings.openid.redirect_uris`, whose first part is a key of the input. */
export type FieldPath<Input> = (keyof Input & string) | `${keyof Input & string}.${string}`

/** Form values by field path. The compiler checks that the paths begin with keys of the input. */
type FieldValues<Input> = { readonly [Path in FieldPath<Input>]?: unknown }

interface FieldBase<Input> {
  path: FieldPath<Input>
  label: string
  /** Help text below the label. */
  hint?: string
  required?: boolean
  placeholder?: string
  /** Returns true for form values with which the field is shown and sent. If absent, the field is always shown. */
  visibleWhen?: (values: FieldValues<Input>) => boolean
}

export type Field<Input> = FieldBase<Input> &
  (
    | { kind: 'text' | 'email' | 'url' | 'password' | 'textarea' | 'color' }
    | { kind: 'number'; min?: number; max?: number; unit?: string }
    | { kind: 'toggle'; defaultValue?: boolean }
    | { kind: 'select'; options: readonly Option[]; defaultValue?: string; onSearch?: (text: string) => void }
    /** With `emptyIsNull`, an empty list is sent as null, which removes the setting. */
    | { kind: 'list'; emptyIsNull?: boolean }
    /** Platform scopes, from those that the caller may grant. */
    | { kind: 'scopes'; availableScopes: readonly string[] }
    /** Unix milliseconds. */
    | { kind: 'datetime' }
    /** Any number of options. With `onSearch`, the server searches more options by the typed text. */
    | { kind: 'multiselect'; options: readonly Option[]; onSearch?: (text: string) => void }
    /** Objects with `type` and `url`. */
    | { kind: 'links' }
    /** Custom claims. */
    | { kind: 'claims' }
    /**
     * With `isMerged`, the server merges the object at the top level, so keys that the user removed are sent as null.
     * With `emptyIsNull`, an empty text is sent as null, which removes the setting.
     */
    | { kind: 'json'; isMerged?: boolean; emptyIsNull?: boolean }
  )

export interface Option {
  value: string
  label: string
  hint?: string
  /** The heading under which the option is listed. */
  group?: string
  /** True for a result of an earlier search, which is listed only while it is selected. */
  isStale?: boolean
}

type SelectItem = Pick<Option, 'value' | 'label'>

/** Groups options by their headings; options without a heading come first. */
export function groupOptions(options: readonly Option[]): (SelectItem | { group: string; items: SelectItem[] })[] {
  const below = (heading: string | undefined): SelectItem[] =>
    options.filter(({ group }) => group === heading).map(({ value, label }) => ({ value, label }))
  const headings = new Set(options.flatMap(({ group }) => group ?? []))
  return [...below(undefined), ...[...headings].map((group) => ({ group, items: below(group) }))]
}

const isList = ({ kind }: { kind: string }): boolean =>
  ['list', 'multiselect', 'scopes', 'links', 'claims'].includes(kind)

/** Values by field path: string, number, boolean, string[] or links; JSON as text. */
export type FormValues = Record<string, unknown>

type JsonObject = Record<string, unknown>

export function getByPath(source: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => (at as JsonObject | null | undefined)?.[key], source)
}

/** Reads the initial value of a field from a resource. */
export function initialValue<Input>(field: Field<Input>, source: unknown): unknown {
  const value = getByPath(source, field.path)
  switch (field.kind) {
    case 'toggle':
      return value ?? field.defaultValue ?? false
    case 'select':
      return value ?? field.defaultValue ?? ''
    case 'list':
    case 'scopes':
    case 'multiselect':
    case 'links':
    case 'claims':
      return value ?? []
    case 'json':
      return value === undefined || value === null ? '' : JSON.stringify(value, null, 2)
    default:
      return value ?? ''
  }
}

export const initialValues = <Input>(fields: readonly Field<Input>[], source: unknown): FormValues =>
  Object.fromEntries(fields.map((field) => [field.path, initialValue(field, source)]))

/** Returns true if the form shows the field for these values. */
export const isFieldVisible = <Input>({ visibleWhen }: Field<Input>, values: FormValues): boolean =>
  visibleWhen?.(values as FieldValues<Input>) ?? true

/** Validates values before they are sent. @returns error messages by field path */
export function validateFields<Input>(fields: readonly Field<Input>[], values: FormValues): Record<string, string> {
  const errors: Record<string, string> = {}
  for (const field of fields) {
    if (!isFieldVisible(field, values)) continue
    const value = values[field.path]
    if (field.required && (value === '' || (Array.isArray(value) && value.length === 0))) {
      errors[field.path] = `${field.label} is required.`
    }
    if (field.kind === 'json' && value !== '' && parseJsonObject(value) === undefined) {
      errors[field.path] = 'Enter a JSON object, such as {"plan": "pro"}.'
    }
    if (field.kind === 'links' && nonEmptyLinks(value).some(({ url }) => !URL.canParse(url ?? ''))) {
      errors[field.path] = 'Each link needs a URL, such as https://example.com.'
    }
    const claimError = field.kind === 'claims' && incompleteClaimError(value as EditedClaim[])
    if (claimError) errors[field.path] = claimError
  }
  return errors
}

/** Links with at least one value. */
const nonEmptyLinks = (value: unknown): NamedLink[] =>
  (value as NamedLink[]).filter((link) => Object.values(link).some((part) => part !== ''))

function parseJsonObject(text: unknown): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Converts the value of a field to its input value. An empty text, number or time becomes null. */
function toInputValue<Input>(field: Field<Input>, value: unknown): unknown {
  if (field.kind === 'json') return value === '' ? (field.emptyIsNull ? null : {}) : parseJsonObject(value)
  if (field.kind === 'links') return nonEmptyLinks(value)
  if (field.kind === 'list' && field.emptyIsNull && (value as string[]).length === 0) return null
  if (field.kind === 'toggle' || isList(field)) return value
  return value === '' ? null : value
}

/** Returns the fields whose values differ. */
export const changedFields = <Input>(
  fields: readonly Field<Input>[],
  initial: FormValues,
  values: FormValues,
): Field<Input>[] =>
  fields.filter((field) => JSON.stringify(initial[field.path]) !== JSON.stringify(values[field.path]))

/** Adds each key of the object before the change that the value lacks, with null. */
function withRemovedKeys(before: unknown, value: JsonObject): JsonObject {
  const removed = Object.keys(parseJsonObject(before) ?? {}).filter((key) => !Object.hasOwn(value, key))
  return { ...value, ...Object.fromEntries(removed.map((key) => [key, null])) }
}

/**
 * Builds the input from the values of these fields.
 * @param savedValues the values before the change; undefined for a new resource, for which null and empty lists are
 *   omitted
 */
export function buildInput<Input>(
  fields: readonly Field<Input>[],
  values: FormValues,
  savedValues: FormValues | undefined,
): Input {
  const input: JsonObject = {}
  for (const field of fields) {
    if (!isFieldVisible(field, values)) continue
    const formValue = toInputValue(field, values[field.path])
    const value =
      field.kind === 'json' && field.isMerged && savedValues
        ? withRemovedKeys(savedValues[field.path], formValue as JsonObject)
        : formValue
    if (!savedValues && (value === null || (Array.isArray(value) && value.length === 0))) continue
    const keys = field.path.split('.')
    const last = keys.pop()!
    let at = input
    for (const key of keys) {
      at[key] ??= {}
      at = at[key] as JsonObject
    }
    at[last] = value
  }
  return input as Input
}

const toSnakeCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * Assigns the error details of the server to form fields. Details of fields that the form does not have become messages
 * of the form as a whole.
 */
export function assignFieldErrors<Input>(fields: readonly Field<Input>[], details: readonly FieldError[]) {
  const fieldErrors: Record<string, string> = {}
  const otherMessages: string[] = []
  for (const { field: name, message } of details) {
    const normalizedPath = toSnakeCase(name).replace(/^input\./, '')
    const found = fields
      .filter(
        ({ path }) =>
          normalizedPath === toSnakeCase(path) ||
          normalizedPath.startsWith(`${toSnakeCase(path)}[`) ||
          normalizedPath.startsWith(`${toSnakeCase(path)}.`),
      )
      .sort((a, b) => b.path.length - a.path.length)[0]
    const entry = /\[(\d+)\]/.exec(normalizedPath)?.[1]
    const text = `${entry === undefined ? '' : `Entry ${Number(entry) + 1} `}${entry === undefined ? capitalize(message) : message}`
    if (found) fieldErrors[found.path] = text
    else otherMessages.push(`${name} ${message}`)
  }
  return { fieldErrors, otherMessages }
}

const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
