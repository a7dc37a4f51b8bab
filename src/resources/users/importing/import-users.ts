/**
 * Imports users from the export of another product (docs/import.md) in batches, so that large files need little memory.
 * A record that cannot be imported is reported with its line and does not stop the import.
 */
import { limits } from '../../../kernel/limits.js'
import { parseJson, UnsafeInputError } from '../../../kernel/safe-json.js'
import type { Context } from '../../../platform/context.js'
import { hashFormatOf, isWeakHashFormat } from '../../../platform/crypto/password-hashes.js'
import { isCurrentHash } from '../../../platform/crypto/secrets.js'
import { transaction } from '../../../platform/postgres/transaction.js'
import { recordEvent } from '../../events/record-event.js'
import { type InIssuer, requireIssuer } from '../../resource-path.js'
import { fromAuth0, isAuth0 } from './auth0.js'
import { fromGatehouse, isGatehouse } from './gatehouse.js'
import { fromKeycloak, isKeycloak } from './keycloak.js'
import { fromLogto, isLogto } from './logto.js'
import { checkRecord, type ImportChoices, type ImportRecord, RecordError } from './record.js'
import type { Source } from './sources.js'
import type { ImportRefusal } from './user-import.js'
import { isJsonObject, type JsonObject } from './values.js'
import {
  createPreparer,
  findImportedUsers,
  type ImportOutcome,
  type PreparedUser,
  predictOutcomes,
  writeBatch,
} from './write-batch.js'

const readers: Readonly<
  Record<Source, { recognizes(line: JsonObject): boolean; read(line: JsonObject): ImportRecord }>
> = {
  gatehouse: { recognizes: isGatehouse, read: fromGatehouse },
  keycloak: { recognizes: isKeycloak, read: fromKeycloak },
  logto: { recognizes: isLogto, read: fromLogto },
  auth0: { recognizes: isAuth0, read: fromAuth0 },
}

/** Returns the product that wrote a record; undefined if the record has the form of none. @param text JSON text */
export function detectSource(text: string): Source | undefined {
  try {
    const line = parseJson(text)
    return isJsonObject(line)
      ? (Object.keys(readers) as Source[]).find((source) => readers[source].recognizes(line))
      : undefined
  } catch {
    return undefined
  }
}

export interface ImportLine {
  /** Line of the file where the record begins, from 1. */
  line: number
  /** JSON text of the record; undefined if it is too large to be read. */
  text: string | undefined
}

/** Numbers of records and users of an import or a batch. A dry run counts users who would be imported as imported. */
export interface ImportTotals {
  read: number
  imported: number
  /** Users that an earlier run or batch imported. */
  known: number
  refused: number
  /** Imported users without a password. */
  withoutPassword: number
  /** Imported users with a TOTP verifier. */
  totp: number
  /** Imported password hashes by format; `gatehouse` for hashes with the current parameters of Gatehouse. */
  hashes: Record<string, number>
  /** Imported password hashes in a format without a work factor, with which an attacker can try passwords quickly. */
  weak: number
}

export interface ImportOptions extends ImportChoices {
  source: Source
  dryRun: boolean
  /** Called for each record that cannot be imported. */
  onRefused(refusal: ImportRefusal): void
  /** Called for each user of the lines that this or an earlier run imported; never in a dry run. */
  onImported?(externalId: string, userId: string): void
  /** Called for each user that is imported, or would be in a dry run. */
  onAccepted?(row: PreparedUser & { line: number }): void
  /** Called after each batch. */
  onProgress?(totals: Readonly<ImportTotals>): void
}

/**
 * Imports all lines and records the event of the import.
 * @throws not_found for the issuer, and errors of reading the lines or of the database. Batches that have been written
 *   are kept; the next run with the same file skips their users.
 */
export async function importUsers(
  context: Context,
  path: InIssuer,
  lines: AsyncIterable<ImportLine>,
  options: ImportOptions,
): Promise<ImportTotals> {
  const totals = await importLines(context, path, lines, options)
  if (!options.dryRun) await recordImport(context, path, options.source, totals)
  return totals
}

export const emptyTotals = (): ImportTotals => ({
  read: 0,
  imported: 0,
  known: 0,
  refused: 0,
  withoutPassword: 0,
  totp: 0,
  hashes: {},
  weak: 0,
})

/**
 * Imports some lines without recording the event of the import.
 * @throws the errors of `importUsers`
 */
export async function importLines(
  context: Context,
  path: InIssuer,
  lines: AsyncIterable<ImportLine> | Iterable<ImportLine>,
  options: ImportOptions,
): Promise<ImportTotals> {
  const issuer = await requireIssuer(context, path)
  const { source, dryRun } = options
  const totals = emptyTotals()
  const prepare = createPreparer(context, issuer, source)
  const seen = new Set<string>()
  let batch = new Map<string, PreparedUser & { line: number }>()
  let writing: Promise<void> = Promise.resolve()

  const refuse = (line: number, externalId: string | null, { reason, message, fix }: RecordError): void => {
    totals.refused++
    options.onRefused({ line, externalId, reason, message, fix })
  }
  const commitBatch = async (pending: ReadonlyMap<string, PreparedUser & { line: number }>): Promise<void> => {
    const rows = [...pending.values()]
    const outcomes = await (dryRun
      ? predictOutcomes(context, path, source, rows)
      : writeBatch(context, path, source, rows))
    for (const row of rows) countOutcome(row, outcomes.get(row.externalId) ?? 'imported')
    const known = rows.map(({ externalId }) => externalId).filter((id) => outcomes.get(id) === 'known')
    if (known.length > 0 && options.onImported && !dryRun)
      for (const { externalId, userId } of await findImportedUsers(context, path, source, known))
        options.onImported(externalId, userId)
    options.onProgress?.(totals)
  }
  const countOutcome = (row: PreparedUser & { line: number }, found: ImportOutcome): void => {
    // A dry run writes nothing, so duplicate usernames in the file must be detected here.
    const outcome = dryRun && found === 'imported' && seen.has(row.usernameKey) ? 'taken' : found
    if (outcome === 'known') totals.known++
    else if (outcome === 'taken') refuse(row.line, row.externalId, usernameTakenError)
    else {
      if (dryRun) seen.add(row.usernameKey)
      else options.onImported?.(row.externalId, row.userId)
      options.onAccepted?.(row)
      addToTotals(totals, row)
    }
  }

  for await (const { line, text } of lines) {
    totals.read++
    let externalId: string | null = null
    try {
      const record = parseRecord(text, source)
      externalId = record.externalId
      const checked = checkRecord(record, options)
      if (batch.has(externalId)) throw duplicateIdError
      batch.set(externalId, { ...prepare(checked), line })
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      refuse(line, externalId, error)
    }
    if (batch.size < limits.userImportBatchSize) continue
    // One batch is written while the next one is read.
    await writing
    writing = commitBatch(batch)
    writing.catch(() => {})
    batch = new Map()
  }
  await writing
  if (batch.size > 0) await commitBatch(batch)
  return totals
}

const usernameTakenError = new RecordError(
  'username_taken',
  'Another user of this issuer or of the file has this username.',
  'Remove one of the two users, or choose another identifier type (`login`; `--login` on the command line).',
)
const duplicateIdError = new RecordError(
  'duplicate_id',
  'Another record of the file has this id.',
  'Remove one of the two records.',
)

function parseRecord(text: string | undefined, source: Source): ImportRecord {
  const fix = 'Correct the record in the file.'
  if (text === undefined) throw new RecordError('too_large', 'The record has more than 1 MiB.', fix)
  let line: unknown
  try {
    line = parseJson(text)
  } catch (error) {
    if (!(error instanceof UnsafeInputError)) throw error
    throw new RecordError('invalid_json', error.message.replace('The body', 'The record'), fix)
  }
  if (!isJsonObject(line)) throw new RecordError('invalid_record', 'The record is not a JSON object.', fix)
  try {
    return readers[source].read(line)
  } catch (error) {
    if (error instanceof RecordError) throw error
    // A value has the wrong type, for example an object instead of a number.
    throw new RecordError('invalid_record', `The record cannot be read: ${(error as Error).message}`, fix)
  }
}

function addToTotals(totals: ImportTotals, { verifiers }: PreparedUser): void {
  totals.imported++
  const hash = verifiers.find(({ type }) => type === 'password')?.['hash'] as string | undefined
  if (hash === undefined) totals.withoutPassword++
  else {
    const kind = hashFormatOf(hash) ?? 'unknown'
    const name = isCurrentHash(hash) ? 'gatehouse' : kind
    totals.hashes[name] = (totals.hashes[name] ?? 0) + 1
    if (isWeakHashFormat(kind)) totals.weak++
  }
  if (verifiers.some(({ type }) => type === 'totp')) totals.totp++
}

/**
 * Records `user.import.finished`, the only event of an import that webhooks receive (docs/decisions/0035).
 * @param totals the totals of the whole import
 */
export async function recordImport(
  context: Context,
  { accountId, issuerId }: InIssuer,
  source: Source,
  totals: ImportTotals,
): Promise<void> {
  const { read, imported, known, refused } = totals
  await transaction(context, (tx) =>
    recordEvent(tx, 'user.import.finished', {
      accountId,
      issuerId,
      target: { type: 'issuer', id: issuerId },
      data: { source, read, imported, known, refused },
    }),
  )
}
