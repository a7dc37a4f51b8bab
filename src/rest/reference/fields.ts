/** Tables of parameters and of the fields of schemas. */
import { Html, html } from '../../kernel/html.js'
import { limits } from '../../kernel/limits.js'
import {
  type ApiDocument,
  alternativesOf,
  isNullable,
  nameOf,
  type Parameter,
  resolve,
  type Schema,
} from './document.js'

interface Row {
  name: string
  /** How many objects of the same table contain the field. */
  depth: number
  required: boolean
  description: string
  schema: Schema
  /** The location of a parameter. */
  location?: Parameter['in']
}

/** Requests mark the fields that are required, responses the fields that may be absent. */
type Direction = 'request' | 'response'

const join = (parts: readonly (Html | string)[], separator: string): Html =>
  new Html(parts.map((part) => html`${part}`.text).join(separator))

/** Converts Markdown code spans to `<code>`. */
export const formatInlineCode = (text: string): Html =>
  join(
    text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part)),
    '',
  )

/** Returns a link to a named schema. */
export const schemaLink = (name: string): Html => html`<a href="#schema-${name}">${name}</a>`

const isTimestamp = ({ maximum }: Schema): boolean => maximum === limits.maxTimestamp

/** Returns the type of a field, such as `array of string or null`, with links to named schemas. */
export function typeOf(schema: Schema): Html {
  const names = alternativesOf(schema).map(bareTypeOf)
  const unique = [...new Map(names.map((name) => [name.text, name])).values()]
  return join([...unique, ...(isNullable(schema) ? ['null'] : [])], ' or ')
}

function bareTypeOf(schema: Schema): Html {
  const name = nameOf(schema)
  if (name !== undefined) return schemaLink(name)
  if (schema.items) return html`array of ${typeOf(schema.items)}`
  if (isTimestamp(schema)) return html`time in Unix milliseconds`
  const type = [schema.type ?? typeof (schema.const ?? {})].flat().find((one) => one !== 'null')
  return html`${type}`
}

/** Returns the values of an enum with their meanings, which the description of a named enum contains as a list. */
function meaningsOf({ components }: ApiDocument, { enum: values = [] }: Schema): [value: string, meaning: string][] {
  const texts = values.filter((value) => value !== null).map(String)
  const named = Object.values(components.schemas).find(
    (schema) => schema.enum?.length === texts.length && schema.enum.every((value) => texts.includes(String(value))),
  )
  const meanings = new Map(
    [...(named?.description ?? '').matchAll(/^- `(.+?)`: (.*)$/gm)].map(([, value, meaning]) => [value!, meaning!]),
  )
  return texts.map((value) => [value, meanings.get(value) ?? ''])
}

function valueList(document: ApiDocument, schema: Schema): Html | false {
  const values = alternativesOf(schema)
    .map((choice) => resolve(document, choice.items ?? choice))
    .flatMap((choice) => (choice.enum ? meaningsOf(document, choice) : []))
  if (values.length === 0) return false
  if (values.every(([, meaning]) => meaning === ''))
    return html`<p>${values.length > 1 ? 'One of ' : 'Always '}${join(
      values.map(([value]) => html`<code>${value}</code>`),
      ', ',
    )}.</p>`
  return html`<ul>${values.map(([value, meaning]) => html`<li><code>${value}</code>${meaning && html`: ${formatInlineCode(meaning)}`}</li>`)}</ul>`
}

const range = (minimum: number | undefined, maximum: number | undefined, unit: string): string[] => {
  const format = (value: number) => value.toLocaleString('en-US')
  if (maximum !== undefined && minimum !== undefined && minimum > 0)
    return [`${format(minimum)} to ${format(maximum)}${unit}`]
  if (maximum !== undefined) return [`At most ${format(maximum)}${unit}`]
  return minimum === undefined ? [] : [`At least ${format(minimum)}${unit}`]
}

/** Returns the limits of a value, such as `1 to 200 characters`, and its default. */
function limitsOf(schema: Schema): Html[] {
  const texts = alternativesOf(schema).flatMap((choice) => [
    ...range(choice.minLength, choice.maxLength, ' characters'),
    ...range(choice.minItems, choice.maxItems, ' entries'),
    ...(isTimestamp(choice) ? [] : range(choice.minimum, choice.maximum, '')),
  ])
  const code = (label: string, value: unknown) =>
    value === undefined || value === null
      ? []
      : [html`${label} <code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>.`]
  return [
    ...[...new Set(texts)].map((text) => html`${text}.`),
    ...alternativesOf(schema).flatMap(({ pattern }) => code('Pattern', pattern)),
    ...code('Always', schema.const),
    ...code('Default', schema.default),
  ]
}

/** Returns the description without the list of the meanings of enum values. */
const introductionOf = (text: string | undefined): string => text?.split('\n\n- `')[0] ?? ''

function rowHtml(
  document: ApiDocument,
  direction: Direction,
  { name, depth, required, description, schema, location }: Row,
): Html {
  const values = valueList(document, schema)
  const { pattern, ...shown } = schema
  // The descriptions of parameters say in words what their patterns allow.
  const constraints = limitsOf(location ? shown : schema)
  const [example] = schema.examples ?? []
  const exampleText = typeof example === 'string' ? example : JSON.stringify(example)
  const hasExample = !values && schema.const === undefined && typeof example !== 'boolean'
  const choices = location && resolve(document, schema).enum
  return html`<tr${location && html` data-in="${location}" data-name="${name}"${choices && html` data-values="${choices.join(' ')}"`}`}${depth > 0 && html` class="d${Math.min(depth, 4)}"`}><th scope="row"><code>${name}</code>${required && direction === 'request' && html` <span class="need">required</span>`}${!required && direction === 'response' && html` <span class="soft">may be absent</span>`}</th><td>${typeOf(schema)}</td><td>${description && html`<p>${formatInlineCode(introductionOf(description))}</p>`}${values}${constraints.length > 0 && html`<p class="soft">${join(constraints, ' ')}</p>`}${hasExample && exampleText && exampleText.length <= 160 && html`<p class="soft">Example: <code>${exampleText}</code></p>`}</td></tr>`
}

const table = (document: ApiDocument, direction: Direction, label: string, rows: readonly Row[]): Html =>
  html`<table aria-label="${label}"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead><tbody>${rows.map((row) => rowHtml(document, direction, row))}</tbody></table>`

/** Returns the rows of the properties of a schema and, indented, of the unnamed objects that they contain. */
function rowsOf(document: ApiDocument, { properties = {}, required = [] }: Schema, depth = 0): Row[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    { name, depth, required: required.includes(name), description: schema.description ?? '', schema },
    ...alternativesOf(schema)
      .flatMap((choice) => (choice.items ? alternativesOf(choice.items) : [choice]))
      .flatMap((choice) => rowsOf(document, choice, depth + 1)),
  ])
}

/**
 * Returns the tables of an object: one for each alternative, and one for the fields that it adds to other schemas.
 * @param label the accessible name of the table
 */
export function fieldTables(document: ApiDocument, direction: Direction, schema: Schema, label: string): Html {
  const target = resolve(document, schema)
  const alternatives = alternativesOf(target)
  if (alternatives.length > 1)
    return join(
      alternatives.map(
        (choice, at) =>
          html`<h5>${alternativeName(document, choice, at)}</h5>${fieldTables(document, direction, choice, label)}`,
      ),
      '',
    )
  const bases = (target.allOf ?? []).flatMap((part) => nameOf(part) ?? [])
  const own = [target, ...(target.allOf ?? []).filter((part) => !part.$ref)].flatMap((part) => rowsOf(document, part))
  const links = bases.map(schemaLink)
  return html`${links.length > 0 && html`<p>The fields of ${join(links, ' and ')}, and:</p>`}${own.length > 0 ? table(document, direction, label, own) : valueList(document, target) || html`<p>No fields.</p>`}`
}

/** Names an alternative by its fields with one value, such as `type: password`. */
function alternativeName(document: ApiDocument, schema: Schema, at: number): Html {
  const constants = Object.entries(resolve(document, schema).properties ?? {}).flatMap(([name, field]) => {
    const value = field.const ?? (field.enum?.length === 1 ? field.enum[0] : undefined)
    return value === undefined ? [] : [html`<code>${name}: ${String(value)}</code>`]
  })
  return html`Alternative ${at + 1}${constants.length > 0 && html`: ${join(constants, ', ')}`}`
}

/** Returns the table of the parameters in a location. */
export function parameterTable(
  document: ApiDocument,
  parameters: readonly Parameter[],
  location: Parameter['in'],
  label: string,
): Html | false {
  const rows = parameters
    .filter((parameter) => parameter.in === location)
    .map(({ name, required, description = '', schema }) => ({
      name,
      depth: 0,
      required,
      description,
      schema,
      location,
    }))
  return rows.length > 0 && html`<h4>${label}</h4>${table(document, 'request', label, rows)}`
}
