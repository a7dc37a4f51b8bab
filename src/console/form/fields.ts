/**
 * A form is a table of fields. Each has a path into the thing that it edits; what has changed becomes a merge patch
 * (RFC 7396), so that nobody overwrites what they did not touch.
 */
import type { FieldFault } from '../graphql/fault'
import type { NamedLink } from './link-list'

/** `name`, or `settings.openid.redirect_uris` in an object: the first part must be a key of the input. */
export type PathOf<Input> = (keyof Input & string) | `${keyof Input & string}.${string}`

interface Basics<Input> {
  path: PathOf<Input>
  label: string
  /** A sentence below the label. */
  hint?: string
  required?: boolean
  placeholder?: string
  /** Shown only while the form's values say so. */
  when?: (values: Values) => boolean
}

export type Field<Input> = Basics<Input> &
  (
    | { kind: 'text' | 'email' | 'url' | 'password' | 'long' | 'colour' }
    | { kind: 'number'; min?: number; max?: number; unit?: string }
    | { kind: 'toggle'; otherwise?: boolean }
    | { kind: 'choice'; options: readonly Option[]; otherwise?: string; onSearch?: (text: string) => void }
    /** With `emptyIsNull` an empty list is removed from the settings. */
    | { kind: 'list'; emptyIsNull?: boolean }
    /** Platform scopes, of those that may be given. */
    | { kind: 'scopes'; offered: readonly string[] }
    /** Unix milliseconds. */
    | { kind: 'moment' }
    /** Any number of these; with `onSearch` the server finds more by what is typed. */
    | { kind: 'choices'; options: readonly Option[]; onSearch?: (text: string) => void }
    /** Objects with `type` and `url`. */
    | { kind: 'links' }
    | { kind: 'json' }
  )

export interface Option {
  value: string
  label: string
  hint?: string
  /** Under which heading it stands. */
  group?: string
  /** Found for another search: offered only while it is chosen. */
  kept?: boolean
}

type Choosable = Pick<Option, 'value' | 'label'>

/** Options under their headings, if they have any; the rest first. */
export function inGroups(options: readonly Option[]): (Choosable | { group: string; items: Choosable[] })[] {
  const below = (heading: string | undefined): Choosable[] =>
    options.filter(({ group }) => group === heading).map(({ value, label }) => ({ value, label }))
  const headings = new Set(options.flatMap(({ group }) => group ?? []))
  return [...below(undefined), ...[...headings].map((group) => ({ group, items: below(group) }))]
}

const isList = ({ kind }: { kind: string }): boolean => ['list', 'choices', 'scopes', 'links'].includes(kind)

/** What the fields hold, by path: text, number, boolean, string[]; json as its text. */
export type Values = Record<string, unknown>

type Tree = Record<string, unknown>

export function valueAt(source: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => (at as Tree | null | undefined)?.[key], source)
}

/** What a field shows for a thing. */
export function initialValue<Input>(field: Field<Input>, source: unknown): unknown {
  const value = valueAt(source, field.path)
  switch (field.kind) {
    case 'toggle':
      return value ?? field.otherwise ?? false
    case 'choice':
      return value ?? field.otherwise ?? ''
    case 'list':
    case 'scopes':
    case 'choices':
    case 'links':
      return value ?? []
    case 'json':
      return value === undefined || value === null ? '' : JSON.stringify(value, null, 2)
    default:
      return value ?? ''
  }
}

export const initialValues = <Input>(fields: readonly Field<Input>[], source: unknown): Values =>
  Object.fromEntries(fields.map((field) => [field.path, initialValue(field, source)]))

/** @returns what is wrong with the values before anything is sent, by path */
export function faultsIn<Input>(fields: readonly Field<Input>[], values: Values): Record<string, string> {
  const faults: Record<string, string> = {}
  for (const field of fields) {
    if (field.when && !field.when(values)) continue
    const value = values[field.path]
    if (field.required && (value === '' || (Array.isArray(value) && value.length === 0))) {
      faults[field.path] = `${field.label} is needed.`
    }
    if (field.kind === 'json' && value !== '' && parsedObject(value) === undefined) {
      faults[field.path] = 'This must be a JSON object, such as {"plan": "pro"}.'
    }
    if (field.kind === 'links' && links(value).some(({ url }) => !URL.canParse(url ?? ''))) {
      faults[field.path] = 'Each link needs an address, such as https://example.com.'
    }
  }
  return faults
}

/** What somebody has begun to fill in. */
const links = (value: unknown): NamedLink[] =>
  (value as NamedLink[]).filter((link) => Object.values(link).some((part) => part !== ''))

function parsedObject(text: unknown): Tree | undefined {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : undefined
  } catch {
    return undefined
  }
}

/** What is sent for a field's value; null clears. */
function sent<Input>(field: Field<Input>, value: unknown): unknown {
  if (field.kind === 'json') return value === '' ? {} : parsedObject(value)
  if (field.kind === 'links') return links(value)
  if (field.kind === 'list' && field.emptyIsNull && (value as string[]).length === 0) return null
  if (field.kind === 'toggle' || isList(field)) return value
  return value === '' ? null : value
}

/** The fields whose value differs. */
export const changed = <Input>(fields: readonly Field<Input>[], before: Values, values: Values): Field<Input>[] =>
  fields.filter((field) => JSON.stringify(before[field.path]) !== JSON.stringify(values[field.path]))

/** The input for these fields; where the thing is new, what was left empty is left out. */
export function inputOf<Input>(fields: readonly Field<Input>[], values: Values, isNew: boolean): Input {
  const input: Tree = {}
  for (const field of fields) {
    if (field.when && !field.when(values)) continue
    const value = sent(field, values[field.path])
    if (isNew && (value === null || (Array.isArray(value) && value.length === 0))) continue
    const keys = field.path.split('.')
    const last = keys.pop()!
    let at = input
    for (const key of keys) {
      at[key] ??= {}
      at = at[key] as Tree
    }
    at[last] = value
  }
  return input as Input
}

const snake = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Puts the server's faults to the fields that they are about; the rest is for the form as a whole. */
export function placeFaults<Input>(fields: readonly Field<Input>[], details: readonly FieldFault[]) {
  const faults: Record<string, string> = {}
  const rest: string[] = []
  for (const { field: name, message } of details) {
    const plain = snake(name).replace(/^input\./, '')
    const found = fields
      .filter(
        ({ path }) =>
          plain === snake(path) || plain.startsWith(`${snake(path)}[`) || plain.startsWith(`${snake(path)}.`),
      )
      .sort((a, b) => b.path.length - a.path.length)[0]
    const entry = /\[(\d+)\]/.exec(plain)?.[1]
    const text = `${entry === undefined ? '' : `Entry ${Number(entry) + 1} `}${entry === undefined ? capital(message) : message}`
    if (found) faults[found.path] = text
    else rest.push(`${name} ${message}`)
  }
  return { faults, rest }
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
