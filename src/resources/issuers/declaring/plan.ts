/**
 * From a document to the operations that make an issuer be like it: the same ones as behind the API, so that their rules
 * and events hold. What the document does not name stays.
 */
import { type Detail, invalid } from '../../../kernel/errors.js'
import { camel } from '../../../kernel/names.js'
import type { Context } from '../../../platform/context.js'
import type { AuthMethod } from '../../../platform/database.js'
import { sameText } from '../../../platform/secrets.js'
import { createClient, deleteClient, updateClient } from '../../clients/clients.js'
import type { InAccount, InIssuer } from '../../place.js'
import { createAuthMethod, deleteAuthMethod, updateAuthMethod } from '../auth-methods.js'
import { createIssuer, updateIssuer } from '../issuers.js'
import { federated, isUpstreamKind, openUpstreamSecret } from '../upstream-settings.js'
import { clientEntry, type Declaration, type Entry, issuerEntry, methodEntry, type Present } from './declaration.js'
import { compare, type Difference, leaves } from './differences.js'

/** One operation of a plan. */
export interface Step {
  action: 'create' | 'update' | 'delete'
  /** What it is about, for people: `client "Web"`. */
  what: string
  /** Where it stands in the document; for what is deleted, the list that it is missing from. */
  path: (string | number)[]
  differences: Difference[]
  /** @returns a secret that was made, and is shown this once */
  run(context: Context, place: InIssuer): Promise<Made | undefined>
}

export interface Made {
  id: string
  name: string
  secret: string
}

export interface PlanOptions {
  /** Delete authentication methods and clients that the document does not name. */
  prune: boolean
  /** Somebody takes the secrets that are made: without that, no confidential client is. */
  keepsSecrets: boolean
}

const input = (entry: Entry): Entry =>
  Object.fromEntries(Object.entries(entry).map(([key, value]) => [camel(key), value]))
const without = (entry: Entry, ...keys: string[]): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)))
const wrong = (path: (string | number)[], code: string, message: string): Detail => ({
  field: path.map(String).join('.'),
  code,
  message,
})

/** The operation that makes the issuer itself; its place is known once it has run. */
export async function makeIssuer(
  context: Context,
  { accountId }: InAccount,
  { issuer }: Declaration,
): Promise<InIssuer> {
  const { id } = await createIssuer(context, { accountId }, input(without(issuer, 'id')))
  return { accountId, issuerId: id }
}

/**
 * What is to be done, in order.
 * @throws invalid_request for what no operation could do: unknown ids, names that stand for several, immutable fields
 */
export async function planOf(
  context: Context,
  place: InIssuer,
  present: Present,
  document: Declaration,
  options: PlanOptions,
): Promise<Step[]> {
  const faults: Detail[] = []
  const steps = [
    ...issuerSteps(present, document.issuer),
    ...(await methodSteps(context, place, present, document.auth_methods, options, faults)),
    ...clientSteps(present, document.clients, options, faults),
  ]
  if (faults.length > 0) throw invalid(faults)
  return steps
}

function issuerSteps({ issuer }: Present, wanted: Entry): Step[] {
  const { differences, patch } = compare(issuerEntry(issuer), without(wanted, 'id'))
  if (differences.length === 0) return []
  const run: Step['run'] = async (context, place) => {
    await updateIssuer(context, place, input(patch))
    return undefined
  }
  return [{ action: 'update', what: `issuer ${quoted(issuer.name)}`, path: ['issuer'], differences, run }]
}

const quoted = (name: unknown): string => JSON.stringify(String(name))

async function methodSteps(
  context: Context,
  place: InIssuer,
  { methods }: Present,
  wanted: readonly Entry[] | undefined,
  { prune }: PlanOptions,
  faults: Detail[],
): Promise<Step[]> {
  const steps: Step[] = []
  const met = new Set<string>()
  for (const [at, entry] of (wanted ?? []).entries()) {
    const path = ['auth_methods', at]
    const known = methods.filter((row) =>
      entry['id'] === undefined
        ? row.method === entry['method'] && (!many(row.method) || row.name === entry['name'])
        : row.id === entry['id'],
    )
    const row = only(known, entry, path, met, faults)
    if (row === null) continue
    if (row === undefined) {
      const differences = leaves('', undefined, hiding(without(entry, 'id')))
      const run: Step['run'] = async (inside, at) => {
        await createAuthMethod(inside, at, input(without(entry, 'id')))
        return undefined
      }
      steps.push({ action: 'create', what: `authentication method ${quoted(entry['name'])}`, path, differences, run })
      continue
    }
    if (entry['method'] !== undefined && entry['method'] !== row.method)
      faults.push(wrong([...path, 'method'], 'immutable', 'cannot be changed; remove the id to make another one.'))
    const changed = await withSecret(context, place, row, without(entry, 'id', 'method'))
    const { differences, patch } = compare(methodEntry(row), changed)
    if (differences.length === 0) continue
    const run: Step['run'] = async (inside, at) => {
      await updateAuthMethod(inside, { ...at, methodId: row.id }, input(patch))
      return undefined
    }
    const shown = differences.map((one) => (isSecret(one.field) ? { field: one.field, new: HIDDEN } : one))
    steps.push({ action: 'update', what: `authentication method ${quoted(row.name)}`, path, differences: shown, run })
  }
  if (!prune || wanted === undefined) return steps
  for (const row of methods.filter(({ id }) => !met.has(id))) {
    const run: Step['run'] = async (inside, at) => {
      await deleteAuthMethod(inside, { ...at, methodId: row.id })
      return undefined
    }
    steps.push({
      action: 'delete',
      what: `authentication method ${quoted(row.name)}`,
      path: ['auth_methods'],
      differences: [],
      run,
    })
  }
  return steps
}

/** Of which an issuer may have several, told apart by their names (spec 2.4). */
const many = (method: string): boolean => method === 'passkey' || isUpstreamKind(method)

const HIDDEN = '(secret)'
const isSecret = (field: string): boolean => /^settings\.(client_secret|private_key)$/.test(field)

function hiding(entry: Entry): Entry {
  const settings = entry['settings'] as Entry | undefined
  if (!settings) return entry
  const shown = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, isSecret(`settings.${key}`) ? HIDDEN : value]),
  )
  return { ...entry, settings: shown }
}

/** A secret that is the stored one already changes nothing. */
async function withSecret(context: Context, place: InIssuer, row: AuthMethod, entry: Entry): Promise<Entry> {
  const settings = entry['settings'] as Entry | undefined
  if (!settings || !isUpstreamKind(row.method)) return entry
  const { secret } = federated[row.method]
  const given = settings[secret]
  if (typeof given !== 'string') return entry
  const stored = await openUpstreamSecret(context, place, row.id)
  return stored !== undefined && sameText(stored, given) ? { ...entry, settings: without(settings, secret) } : entry
}

function clientSteps(
  { clients }: Present,
  wanted: readonly Entry[] | undefined,
  { prune, keepsSecrets }: PlanOptions,
  faults: Detail[],
): Step[] {
  const steps: Step[] = []
  const met = new Set<string>()
  for (const [at, entry] of (wanted ?? []).entries()) {
    const path = ['clients', at]
    const known = clients.filter((row) =>
      entry['id'] === undefined ? row.name === entry['name'] : row.id === entry['id'],
    )
    const row = only(known, entry, path, met, faults)
    if (row === null) continue
    if (row === undefined) {
      if (entry['confidential'] === true && entry['secret'] === undefined && !keepsSecrets)
        faults.push(
          wrong(
            [...path, 'secret'],
            'required',
            'must be given, as {env: NAME} or {file: path}; or take the one that is made by --secrets <file>.',
          ),
        )
      steps.push(newClient(entry, path))
      continue
    }
    for (const field of ['type', 'confidential'])
      if (entry[field] !== undefined && entry[field] !== clientEntry(row)[field])
        faults.push(wrong([...path, field], 'immutable', 'cannot be changed; make another client.'))
    const { differences, patch } = compare(clientEntry(row), without(entry, 'id', 'type', 'confidential', 'secret'))
    if (differences.length === 0) continue
    const run: Step['run'] = async (inside, at) => {
      await updateClient(inside, { ...at, clientId: row.id }, input(patch))
      return undefined
    }
    steps.push({ action: 'update', what: `client ${quoted(row.name)}`, path, differences, run })
  }
  if (!prune || wanted === undefined) return steps
  for (const row of clients.filter(({ id }) => !met.has(id))) {
    const run: Step['run'] = async (inside, at) => {
      await deleteClient(inside, { ...at, clientId: row.id })
      return undefined
    }
    steps.push({ action: 'delete', what: `client ${quoted(row.name)}`, path: ['clients'], differences: [], run })
  }
  return steps
}

function newClient(entry: Entry, path: (string | number)[]): Step {
  return {
    action: 'create',
    what: `client ${quoted(entry['name'])}`,
    path,
    differences: leaves('', undefined, without(entry, 'id', 'secret')),
    async run(context, place) {
      const { status, ...given } = without(entry, 'id')
      const { client, secret } = await createClient(context, place, input({ settings: {}, ...given }))
      if (status !== undefined && status !== client.status)
        await updateClient(context, { ...place, clientId: client.id }, { status })
      return secret !== null && entry['secret'] === undefined ? { id: client.id, name: client.name, secret } : undefined
    },
  }
}

/** The row that an entry means: undefined for a new one, null where that cannot be said. */
function only<Row extends { id: string }>(
  known: readonly Row[],
  entry: Entry,
  path: (string | number)[],
  met: Set<string>,
  faults: Detail[],
): Row | undefined | null {
  const [row, second] = known
  if (!row) {
    if (entry['id'] === undefined) return undefined
    faults.push(wrong([...path, 'id'], 'not_found', 'is not here; remove it to make a new one.'))
    return null
  }
  if (second) faults.push(wrong([...path, 'name'], 'ambiguous', 'is the name of several; say which one by its id.'))
  else if (met.has(row.id)) faults.push(wrong(path, 'duplicate', 'means the same one as an entry above.'))
  met.add(row.id)
  return second ? null : row
}
