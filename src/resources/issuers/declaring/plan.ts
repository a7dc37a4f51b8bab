/**
 * Plans the operations that change an issuer to the state that a document describes. They are the operations of the
 * API, so their rules apply and they record events. Anything that the document does not contain stays unchanged, except
 * that `prune` deletes authentication methods and clients that are not in the lists of the document.
 */
import { type ErrorDetail, invalidFields } from '../../../kernel/errors.js'
import { camelCase } from '../../../kernel/field-names.js'
import type { Context } from '../../../platform/context.js'
import { isSameText } from '../../../platform/crypto/secrets.js'
import type { AuthMethod } from '../../../platform/postgres/database.js'
import { createClient, deleteClient, updateClient } from '../../clients/clients.js'
import type { InAccount, InIssuer } from '../../resource-path.js'
import { createAuthMethod, deleteAuthMethod, updateAuthMethod } from '../auth-methods.js'
import { createIssuer, updateIssuer } from '../issuers.js'
import { decryptUpstreamSecret, isUpstreamKind, upstreamKinds } from '../upstream-settings.js'
import {
  clientEntry,
  type Declaration,
  type DeclarationEntry,
  type IssuerState,
  issuerEntry,
  methodEntry,
} from './declaration.js'
import { compareEntries, type Difference, diffValues } from './differences.js'

/** An operation of a plan. */
export interface PlanStep {
  action: 'create' | 'update' | 'delete'
  /** The changed resource as a text for people, such as `client "Web"`. */
  label: string
  /** Path of the entry in the document; for a deletion, path of the list. */
  path: (string | number)[]
  differences: Difference[]
  /** Runs the operation. @returns the secret that was generated for a created client; otherwise undefined */
  run(context: Context, issuerPath: InIssuer): Promise<CreatedSecret | undefined>
}

export interface CreatedSecret {
  id: string
  name: string
  secret: string
}

export interface PlanOptions {
  /**
   * Whether to delete authentication methods and clients that the document does not contain. If the document does not
   * have the list `auth_methods` or `clients`, none of that list are deleted.
   */
  prune: boolean
  /**
   * Whether the caller stores generated secrets. If not, new confidential clients without a given secret are rejected.
   */
  storesSecrets: boolean
}

const toInput = (entry: DeclarationEntry): DeclarationEntry =>
  Object.fromEntries(Object.entries(entry).map(([key, value]) => [camelCase(key), value]))
const omitKeys = (entry: DeclarationEntry, ...keys: string[]): DeclarationEntry =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)))
const documentError = (path: (string | number)[], code: string, message: string): ErrorDetail => ({
  field: path.map(String).join('.'),
  code,
  message,
})

/** Creates the issuer of a document. */
export async function createDeclaredIssuer(
  context: Context,
  { accountId }: InAccount,
  { issuer }: Declaration,
): Promise<InIssuer> {
  const { id } = await createIssuer(context, { accountId }, toInput(omitKeys(issuer, 'id')))
  return { accountId, issuerId: id }
}

/**
 * Plans the steps in the order in which they must run.
 * @throws invalid_request for unknown ids, ambiguous names, duplicate entries, changed immutable fields and missing
 *   secrets
 */
export async function createPlan(
  context: Context,
  issuerPath: InIssuer,
  current: IssuerState,
  document: Declaration,
  options: PlanOptions,
): Promise<PlanStep[]> {
  const errors: ErrorDetail[] = []
  const steps = [
    ...issuerSteps(current, document.issuer),
    ...(await methodSteps(context, issuerPath, current, document.auth_methods, options, errors)),
    ...clientSteps(current, document.clients, options, errors),
  ]
  if (errors.length > 0) throw invalidFields(errors)
  return steps
}

function issuerSteps({ issuer }: IssuerState, desired: DeclarationEntry): PlanStep[] {
  const { differences, patch } = compareEntries(issuerEntry(issuer), omitKeys(desired, 'id'))
  if (differences.length === 0) return []
  const run: PlanStep['run'] = async (context, issuerPath) => {
    await updateIssuer(context, issuerPath, toInput(patch))
    return undefined
  }
  return [{ action: 'update', label: `issuer ${quoted(issuer.name)}`, path: ['issuer'], differences, run }]
}

const quoted = (name: unknown): string => JSON.stringify(String(name))

async function methodSteps(
  context: Context,
  issuerPath: InIssuer,
  { methods }: IssuerState,
  desired: readonly DeclarationEntry[] | undefined,
  { prune }: PlanOptions,
  errors: ErrorDetail[],
): Promise<PlanStep[]> {
  const steps: PlanStep[] = []
  const matchedIds = new Set<string>()
  for (const [at, entry] of (desired ?? []).entries()) {
    const path = ['auth_methods', at]
    const candidates = methods.filter((row) =>
      entry['id'] === undefined
        ? row.method === entry['method'] && (!allowsSeveral(row.method) || row.name === entry['name'])
        : row.id === entry['id'],
    )
    const row = resolveEntry(candidates, entry, path, matchedIds, errors)
    if (row === null) continue
    if (row === undefined) {
      const differences = diffValues('', undefined, maskSecrets(omitKeys(entry, 'id')))
      const run: PlanStep['run'] = async (tx, at) => {
        await createAuthMethod(tx, at, toInput(omitKeys(entry, 'id')))
        return undefined
      }
      steps.push({ action: 'create', label: `authentication method ${quoted(entry['name'])}`, path, differences, run })
      continue
    }
    if (entry['method'] !== undefined && entry['method'] !== row.method)
      errors.push(
        documentError([...path, 'method'], 'immutable', 'cannot be changed. Remove the id to create another method.'),
      )
    const changed = await omitUnchangedSecret(context, issuerPath, row, omitKeys(entry, 'id', 'method'))
    const { differences, patch } = compareEntries(methodEntry(row), changed)
    if (differences.length === 0) continue
    const run: PlanStep['run'] = async (tx, at) => {
      await updateAuthMethod(tx, { ...at, methodId: row.id }, toInput(patch))
      return undefined
    }
    const maskedDifferences = differences.map((one) =>
      isSecret(one.field) ? { field: one.field, new: SECRET_PLACEHOLDER } : one,
    )
    steps.push({
      action: 'update',
      label: `authentication method ${quoted(row.name)}`,
      path,
      differences: maskedDifferences,
      run,
    })
  }
  if (!prune || desired === undefined) return steps
  for (const row of methods.filter(({ id }) => !matchedIds.has(id))) {
    const run: PlanStep['run'] = async (tx, at) => {
      await deleteAuthMethod(tx, { ...at, methodId: row.id })
      return undefined
    }
    steps.push({
      action: 'delete',
      label: `authentication method ${quoted(row.name)}`,
      path: ['auth_methods'],
      differences: [],
      run,
    })
  }
  return steps
}

/**
 * Returns whether an issuer can have several methods of this kind (docs/contract.md#authentication-methods). Such
 * methods are matched by name.
 */
const allowsSeveral = (method: string): boolean => method === 'passkey' || isUpstreamKind(method)

const SECRET_PLACEHOLDER = '(secret)'
const isSecret = (field: string): boolean => /^settings\.(client_secret|private_key)$/.test(field)

function maskSecrets(entry: DeclarationEntry): DeclarationEntry {
  const settings = entry['settings'] as DeclarationEntry | undefined
  if (!settings) return entry
  const maskedSettings = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, isSecret(`settings.${key}`) ? SECRET_PLACEHOLDER : value]),
  )
  return { ...entry, settings: maskedSettings }
}

/** Removes a secret that equals the stored one from the entry, so that it does not count as a change. */
async function omitUnchangedSecret(
  context: Context,
  issuerPath: InIssuer,
  row: AuthMethod,
  entry: DeclarationEntry,
): Promise<DeclarationEntry> {
  const settings = entry['settings'] as DeclarationEntry | undefined
  if (!settings || !isUpstreamKind(row.method)) return entry
  const { secret } = upstreamKinds[row.method]
  const submittedSecret = settings[secret]
  if (typeof submittedSecret !== 'string') return entry
  const stored = await decryptUpstreamSecret(context, issuerPath, row.id)
  return stored !== undefined && isSameText(stored, submittedSecret)
    ? { ...entry, settings: omitKeys(settings, secret) }
    : entry
}

function clientSteps(
  { clients }: IssuerState,
  desired: readonly DeclarationEntry[] | undefined,
  { prune, storesSecrets }: PlanOptions,
  errors: ErrorDetail[],
): PlanStep[] {
  const steps: PlanStep[] = []
  const matchedIds = new Set<string>()
  for (const [at, entry] of (desired ?? []).entries()) {
    const path = ['clients', at]
    const candidates = clients.filter((row) =>
      entry['id'] === undefined ? row.name === entry['name'] : row.id === entry['id'],
    )
    const row = resolveEntry(candidates, entry, path, matchedIds, errors)
    if (row === null) continue
    if (row === undefined) {
      if (entry['confidential'] === true && entry['secret'] === undefined && !storesSecrets)
        errors.push(
          documentError(
            [...path, 'secret'],
            'required',
            'is required, as {env: NAME} or {file: path}. To generate a secret, use --secrets <file>.',
          ),
        )
      steps.push(createClientStep(entry, path))
      continue
    }
    for (const field of ['type', 'confidential'])
      if (entry[field] !== undefined && entry[field] !== clientEntry(row)[field])
        errors.push(documentError([...path, field], 'immutable', 'cannot be changed. Create another client.'))
    const { differences, patch } = compareEntries(
      clientEntry(row),
      omitKeys(entry, 'id', 'type', 'confidential', 'secret'),
    )
    if (differences.length === 0) continue
    const run: PlanStep['run'] = async (tx, at) => {
      await updateClient(tx, { ...at, clientId: row.id }, toInput(patch))
      return undefined
    }
    steps.push({ action: 'update', label: `client ${quoted(row.name)}`, path, differences, run })
  }
  if (!prune || desired === undefined) return steps
  for (const row of clients.filter(({ id }) => !matchedIds.has(id))) {
    const run: PlanStep['run'] = async (tx, at) => {
      await deleteClient(tx, { ...at, clientId: row.id })
      return undefined
    }
    steps.push({ action: 'delete', label: `client ${quoted(row.name)}`, path: ['clients'], differences: [], run })
  }
  return steps
}

function createClientStep(entry: DeclarationEntry, path: (string | number)[]): PlanStep {
  return {
    action: 'create',
    label: `client ${quoted(entry['name'])}`,
    path,
    differences: diffValues('', undefined, omitKeys(entry, 'id', 'secret')),
    async run(context, issuerPath) {
      const { status, ...clientFields } = omitKeys(entry, 'id')
      const client = await createClient(context, issuerPath, toInput({ settings: {}, ...clientFields }))
      if (status !== undefined && status !== client.status)
        await updateClient(context, { ...issuerPath, clientId: client.id }, { status })
      const { id, name, secret } = client
      return secret !== null && entry['secret'] === undefined ? { id, name, secret } : undefined
    },
  }
}

/**
 * Selects the row of an entry.
 * @param candidates the rows that match the entry: by id or, if it has none, by name or by the kind of the method
 * @param matchedIds ids of the rows of earlier entries, to which the id of the row is added
 * @param errors list to which problems are added
 * @returns undefined for a new entry; null if the id is unknown or the name is ambiguous
 */
function resolveEntry<Row extends { id: string }>(
  candidates: readonly Row[],
  entry: DeclarationEntry,
  path: (string | number)[],
  matchedIds: Set<string>,
  errors: ErrorDetail[],
): Row | undefined | null {
  const [row, second] = candidates
  if (!row) {
    if (entry['id'] === undefined) return undefined
    errors.push(
      documentError(
        [...path, 'id'],
        'not_found',
        'does not exist in this issuer. Remove the id to create a new entry.',
      ),
    )
    return null
  }
  if (second)
    errors.push(
      documentError(
        [...path, 'name'],
        'ambiguous',
        'is the name of several existing entries. Add the id of the one to change.',
      ),
    )
  else if (matchedIds.has(row.id))
    errors.push(documentError(path, 'duplicate', 'is a duplicate of an earlier entry. Remove one of them.'))
  matchedIds.add(row.id)
  return second ? null : row
}
