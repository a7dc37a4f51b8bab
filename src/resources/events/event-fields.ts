/**
 * Allowlist of the names in `changes` and `data` of events (docs/contract.md#erasure,
 * docs/decisions/0052-event-field-names.md): the fields of the target that `/v1` shows, from its declaration; for
 * `data`, also the names of `eventDataFields`, but not those of `hiddenFields`; for `changes`, also the names of
 * `hiddenFields`, without values. Other names are dropped, so that a new column appears in no event until `/v1` shows
 * the column.
 */
import { eventTarget, propertiesOf, restNameOfProperty } from '../declaration.js'
import type { EventTargetType } from './event.js'
import { type EventType, eventDataFields } from './event-catalog.js'

/** Changes by API field name. The text `changed` replaces values that events must not contain. */
export type Changes = Record<string, { old: unknown; new: unknown } | typeof CHANGED>

export const CHANGED = 'changed'

type TargetType = keyof typeof EventTargetType

type HiddenFields = Record<string, (row: Record<string, unknown>) => unknown>

/** Reads a secret of an upstream provider from the column `secrets` of an authentication method. */
const upstreamSecret = (name: string) => (row: Record<string, unknown>) =>
  (row['secrets'] as Record<string, unknown>)[name]

/**
 * Fields whose values must not appear in events, by target type and API field name. The function of a field reads the
 * stored value from a row, so that `changesBetween` can detect a change of the value.
 */
export const hiddenFields: Partial<Record<TargetType, HiddenFields>> = {
  api_key: { secret: (row) => row['secrets'] },
  auth_method: {
    'settings.client_secret': upstreamSecret('client_secret'),
    'settings.private_key': upstreamSecret('private_key'),
  },
  client: { client_secret: (row) => row['secrets'] },
  // Deleting a note must delete its content, so events do not copy it.
  note: { content: (row) => row['content'] },
  verifier: { password: (row) => row['hash'] },
  webhook: {
    bearer_token_plain: (row) => row['bearer'],
    signature_secret_plain: (row) => row['signature'],
  },
}

/** Fields that `changes` omits. */
const ignoredFields = ['id', 'created_at', 'updated_at']

const fieldsByKind = new Map<string, ReadonlyMap<string, string>>()

/**
 * Maps the API field names of a target type to the properties of the row. Tokens have no fields.
 * @throws Error for a target type for which no class is declared
 */
function fieldsOfKind(kind: string): ReadonlyMap<string, string> {
  let fields = fieldsByKind.get(kind)
  if (!fields) {
    const Class = eventTarget(kind)
    if (!Class && kind !== 'token')
      throw new Error(
        `Unknown event target type ${kind}. Declare the class of the resource with @EventTarget('${kind}').`,
      )
    const shown = (Class ? propertiesOf(Class) : []).filter(
      ({ writeOnly, once, graphqlOnly }) => !writeOnly && !once && !graphqlOnly,
    )
    fields = new Map(shown.map((property) => [restNameOfProperty(property), property.name]))
    fieldsByKind.set(kind, fields)
  }
  return fields
}

/**
 * Compares two versions of a row, whose properties have GraphQL names, and returns the changed fields by API field
 * name.
 * @param after properties that are missing here, and hidden fields without a value here, are not compared
 */
export function changesBetween(kind: TargetType, before: object, after: object): Changes {
  const [old, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>]
  const changes: Changes = {}
  for (const [name, column] of fieldsOfKind(kind)) {
    if (ignoredFields.includes(name) || hiddenFields[kind]?.[name] || !(column in now)) continue
    if (jsonText(old[column] ?? null) !== jsonText(now[column] ?? null))
      changes[name] = { old: jsonOf(old[column]), new: jsonOf(now[column]) }
  }
  for (const [name, secretOf] of Object.entries(hiddenFields[kind] ?? {})) {
    const value = secretOf(now) ?? null
    if (value !== null && jsonText(secretOf(old) ?? null) !== jsonText(value)) changes[name] = CHANGED
  }
  return changes
}

/** Drops names from `data` that are not on the allowlist of the event. */
export function allowedEventData(
  kind: string,
  type: EventType,
  data: Record<string, unknown>,
): Record<string, unknown> {
  const fields = fieldsOfKind(kind)
  const dataFields: Record<string, string> =
    (eventDataFields as Partial<Record<EventType, Record<string, string>>>)[type] ?? {}
  return pickAllowed(data, (name) => name in dataFields || (fields.has(name) && !isHidden(kind, name)))
}

/** Drops names from `changes` that are not on the allowlist, and replaces hidden values by `changed`. */
export function allowedEventChanges(kind: string, changes: Changes): Changes {
  const fields = fieldsOfKind(kind)
  const allowed = pickAllowed(changes, (name) => fields.has(name) || isHidden(kind, name))
  return Object.fromEntries(
    Object.entries(allowed).map(([name, change]) => [name, isHidden(kind, name) ? CHANGED : change]),
  )
}

const isHidden = (kind: string, name: string): boolean => hiddenFields[kind as TargetType]?.[name] !== undefined

const pickAllowed = <Value>(values: Record<string, Value>, allows: (name: string) => boolean): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => allows(name)))

/** Converts a value to plain JSON: bigint values become numbers, undefined becomes null. */
const jsonOf = (value: unknown): unknown => (value === undefined ? null : JSON.parse(jsonText(value)))

/** Serializes a value to JSON with bigint values as numbers. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
