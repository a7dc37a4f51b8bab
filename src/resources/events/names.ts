/**
 * The names that `changes` and `data` of events may have (decisions D36, docs/decisions/0066-event-names.md): the fields
 * that `/v1` shows of the target, read from the documents behind it, and the facts of the catalogue. Everything else is
 * left out, so a new column is in no event until `/v1` shows it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'graphql'
import { wireName } from '../../kernel/names.js'
import { packageRoot } from '../../platform/package-root.js'
import { type EventType, facts } from './catalogue.js'

/** By the contract's name of a field. `changed` stands for values that no event holds. */
export type Changes = Record<string, { old: unknown; new: unknown } | typeof CHANGED>

export const CHANGED = 'changed'

/** Each kind of target with the fragment of graphql/rest that shows it; null for what `/v1` does not show. */
const fragmentOf = {
  account: 'account',
  agent: 'agent',
  agent_verifier: 'agentVerifier',
  api_key: 'apiKey',
  auth_method: 'authMethod',
  client: 'client',
  domain: 'domain',
  issuer: 'issuer',
  ledger_entry: 'ledgerEntry',
  note: 'note',
  organization: 'organization',
  organization_group: 'organizationGroup',
  organization_invitation: 'organizationInvitation',
  organization_membership: 'organizationMember',
  payment_method: 'paymentMethod',
  personal_token: 'personalToken',
  session: 'session',
  token: null,
  user: 'user',
  verifier: 'verifier',
  webhook: 'webhook',
} as const

type TargetType = keyof typeof fragmentOf

type Hidden = Record<string, (row: Record<string, unknown>) => unknown>

/** A secret of an upstream provider, in the column of an authentication method. */
const upstreamSecret = (name: string) => (row: Record<string, unknown>) =>
  (row['secrets'] as Record<string, unknown>)[name]

/** Fields whose values no event holds, by the contract's name, each with what of a row shows that it was replaced. */
export const hidden: Partial<Record<TargetType, Hidden>> = {
  api_key: { secret: (row) => row['secrets'] },
  auth_method: {
    'settings.client_secret': upstreamSecret('client_secret'),
    'settings.private_key': upstreamSecret('private_key'),
  },
  client: { client_secret: (row) => row['secrets'] },
  // What a note said is gone for good with the note.
  note: { content: (row) => row['content'] },
  verifier: { password: (row) => row['hash'] },
  webhook: {
    bearer_token_plain: (row) => row['bearer'],
    signature_secret_plain: (row) => row['signature'],
  },
}

/** Fields that say nothing in `changes`. */
const idle = ['id', 'created_at', 'updated_at']

/** The fields of each kind of target, by the contract's name, with the name that a row has for it. */
const fieldsOf = readFields()

function readFields(): Record<string, ReadonlyMap<string, string>> {
  const folder = join(packageRoot, 'graphql', 'rest')
  const text = readdirSync(folder)
    .filter((name) => name.endsWith('.graphql'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  const shown = new Map<string, Map<string, string>>()
  for (const definition of parse(text.join('\n'), { noLocation: true }).definitions) {
    if (definition.kind !== 'FragmentDefinition') continue
    const fields = definition.selectionSet.selections.flatMap((node): [string, string][] =>
      node.kind === 'Field' ? [[wireName(node.alias?.value ?? node.name.value), node.name.value]] : [],
    )
    shown.set(definition.name.value, new Map(fields))
  }
  return Object.fromEntries(
    Object.entries(fragmentOf).map(([kind, fragment]) => {
      const fields = fragment === null ? new Map<string, string>() : shown.get(fragment)
      if (!fields) throw new Error(`graphql/rest has no fragment ${fragment}, by which events name fields of ${kind}.`)
      return [kind, fields]
    }),
  )
}

/** @throws Error for a kind that has no row above */
function fieldsOfKind(kind: string): ReadonlyMap<string, string> {
  const fields = fieldsOf[kind]
  if (!fields) throw new Error(`events/names.ts knows no target ${kind}; add it to the table.`)
  return fields
}

/**
 * What differs between two versions of a row, by the contract's names.
 * @param before with the fields as GraphQL spells them; those that `after` does not have do not count
 */
export function changesBetween(kind: TargetType, before: object, after: object): Changes {
  const [old, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>]
  const changes: Changes = {}
  for (const [name, column] of fieldsOfKind(kind)) {
    if (idle.includes(name) || hidden[kind]?.[name] || !(column in now)) continue
    if (jsonText(old[column] ?? null) !== jsonText(now[column] ?? null))
      changes[name] = { old: jsonOf(old[column]), new: jsonOf(now[column]) }
  }
  for (const [name, replaced] of Object.entries(hidden[kind] ?? {})) {
    const value = replaced(now) ?? null
    if (value !== null && jsonText(replaced(old) ?? null) !== jsonText(value)) changes[name] = CHANGED
  }
  return changes
}

/** `data` of an event without the names that it may not have. */
export function namedData(kind: string, type: EventType, data: Record<string, unknown>): Record<string, unknown> {
  const fields = fieldsOfKind(kind)
  const known: Record<string, string> = (facts as Partial<Record<EventType, Record<string, string>>>)[type] ?? {}
  return kept(data, (name) => name in known || (fields.has(name) && !isHidden(kind, name)))
}

/** `changes` of an event without the names that it may not have, and without the values that it may not have. */
export function namedChanges(kind: string, changes: Changes): Changes {
  const fields = fieldsOfKind(kind)
  const named = kept(changes, (name) => fields.has(name) || isHidden(kind, name))
  return Object.fromEntries(
    Object.entries(named).map(([name, change]) => [name, isHidden(kind, name) ? CHANGED : change]),
  )
}

const isHidden = (kind: string, name: string): boolean => hidden[kind as TargetType]?.[name] !== undefined

const kept = <Value>(values: Record<string, Value>, allows: (name: string) => boolean): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => allows(name)))

/** A value as JSON can hold it: milliseconds as numbers, undefined as null. */
const jsonOf = (value: unknown): unknown => (value === undefined ? null : JSON.parse(jsonText(value)))

/** JSON of a value with milliseconds as numbers. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
