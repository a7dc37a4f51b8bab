/**
 * An import of users (docs/import.md): lines of another product's export become users of an issuer, batch by batch, in
 * constant memory. What cannot be taken is told line by line and does not stop the rest.
 */
import { GateError, parseJson } from '../../../kernel/gate.js'
import type { Context } from '../../../platform/context.js'
import { transaction } from '../../../platform/database.js'
import { isWeakKind, kindOfHash } from '../../../platform/password-hashes.js'
import { isOurHash } from '../../../platform/secrets.js'
import { emit } from '../../events/events.js'
import { type InIssuer, requireIssuer } from '../../place.js'
import { fromAuth0, isAuth0 } from './auth0.js'
import { fromKeycloak, isKeycloak } from './keycloak.js'
import { fromLogto, isLogto } from './logto.js'
import { fromOwn, isOwn } from './own.js'
import { type Choice, checkRecord, type ImportedUser, Refused } from './record.js'
import type { Source } from './sources.js'
import { isJson, type Json } from './values.js'
import { knownUsers, lookUp, type Outcome, type Prepared, preparer, writeBatch } from './write.js'

/** Users per transaction: enough that a commit does not show, few enough to hold. */
const BATCH = 1000

const readers: Readonly<Record<Source, { knows(line: Json): boolean; read(line: Json): ImportedUser }>> = {
  gatehouse: { knows: isOwn, read: fromOwn },
  keycloak: { knows: isKeycloak, read: fromKeycloak },
  logto: { knows: isLogto, read: fromLogto },
  auth0: { knows: isAuth0, read: fromAuth0 },
}

/** Which product wrote this record; undefined when none of them would. */
export function sourceOf(text: string): Source | undefined {
  try {
    const line = parseJson(text)
    return isJson(line) ? (Object.keys(readers) as Source[]).find((source) => readers[source].knows(line)) : undefined
  } catch {
    return undefined
  }
}

export interface Line {
  /** Where it begins in the file, from 1. */
  line: number
  /** JSON text of one record; undefined for one too large to be read. */
  text: string | undefined
}

/** A line that was not imported. */
export interface Refusal {
  line: number
  externalId: string | null
  reason: string
  message: string
  fix: string
}

export interface Totals {
  read: number
  imported: number
  /** Brought by an earlier run of this import. */
  known: number
  refused: number
  withoutPassword: number
  totp: number
  /** How many password hashes of which kind. */
  hashes: Record<string, number>
  /** Of those, how many are of a kind that guessers are quick with. */
  weak: number
}

export interface Options extends Choice {
  source: Source
  dryRun: boolean
  /** Called for each line that is not imported. */
  refused(refusal: Refusal): void
  /** Called for each user that is, or was by an earlier run: in a dry run never. */
  imported?(externalId: string, userId: string): void
  /** Called for each user that is imported, or would be. */
  taken?(row: Prepared & { line: number }): void
  /** Called after each batch. */
  progress?(totals: Readonly<Totals>): void
}

/**
 * Runs an import to its end, and tells it.
 * @throws not_found for the issuer, and whatever the lines or the database throw; what was written stays, and the next
 *   run goes on
 */
export async function importUsers(
  context: Context,
  place: InIssuer,
  lines: AsyncIterable<Line>,
  options: Options,
): Promise<Totals> {
  const totals = await takeLines(context, place, lines, options)
  if (!options.dryRun) await tellImport(context, place, options.source, totals)
  return totals
}

export const noTotals = (): Totals => ({
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
 * Takes some lines, which need not be all of the import.
 * @throws as `importUsers`
 */
export async function takeLines(
  context: Context,
  place: InIssuer,
  lines: AsyncIterable<Line> | Iterable<Line>,
  options: Options,
): Promise<Totals> {
  const issuer = await requireIssuer(context, place)
  const { source, dryRun } = options
  const totals = noTotals()
  const prepare = preparer(context, issuer, source)
  const seen = new Set<string>()
  let batch = new Map<string, Prepared & { line: number }>()
  let writing: Promise<void> = Promise.resolve()

  const refuse = (line: number, externalId: string | null, { reason, message, fix }: Refused): void => {
    totals.refused++
    options.refused({ line, externalId, reason, message, fix })
  }
  const settle = async (done: ReadonlyMap<string, Prepared & { line: number }>): Promise<void> => {
    const rows = [...done.values()]
    const outcomes = await (dryRun ? lookUp(context, place, source, rows) : writeBatch(context, place, source, rows))
    for (const row of rows) count(row, outcomes.get(row.externalId) ?? 'imported')
    const known = rows.map(({ externalId }) => externalId).filter((id) => outcomes.get(id) === 'known')
    if (known.length > 0 && options.imported && !dryRun)
      for (const { externalId, userId } of await knownUsers(context, place, source, known))
        options.imported(externalId, userId)
    options.progress?.(totals)
  }
  const count = (row: Prepared & { line: number }, found: Outcome): void => {
    // A dry run writes nothing that would tell it of a name that comes twice in the file.
    const outcome = dryRun && found === 'imported' && seen.has(row.usernameKey) ? 'taken' : found
    if (outcome === 'known') totals.known++
    else if (outcome === 'taken') refuse(row.line, row.externalId, takenName)
    else {
      if (dryRun) seen.add(row.usernameKey)
      else options.imported?.(row.externalId, row.userId)
      options.taken?.(row)
      addTo(totals, row)
    }
  }

  for await (const { line, text } of lines) {
    totals.read++
    let externalId: string | null = null
    try {
      const record = recordOf(text, source)
      externalId = record.externalId
      const checked = checkRecord(record, options)
      if (batch.has(externalId)) throw twice
      batch.set(externalId, { ...prepare(checked), line })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      refuse(line, externalId, error)
    }
    if (batch.size < BATCH) continue
    // One batch is written while the next one is read.
    await writing
    writing = settle(batch)
    writing.catch(() => {})
    batch = new Map()
  }
  await writing
  if (batch.size > 0) await settle(batch)
  return totals
}

const takenName = new Refused(
  'username_taken',
  'Another user of this issuer has this username already.',
  'Remove one of the two, or choose another name to sign in with (--login).',
)
const twice = new Refused('duplicate_id', 'A user with this id stands in the file already.', 'Remove one of the two.')

function recordOf(text: string | undefined, source: Source): ImportedUser {
  const fix = 'Correct the record in the file.'
  if (text === undefined) throw new Refused('too_large', 'The record has more than 1 MiB.', fix)
  let line: unknown
  try {
    line = parseJson(text)
  } catch (error) {
    if (!(error instanceof GateError)) throw error
    throw new Refused('invalid_json', error.message.replace('The body', 'The record'), fix)
  }
  if (!isJson(line)) throw new Refused('invalid_record', 'The record is no object.', fix)
  try {
    return readers[source].read(line)
  } catch (error) {
    if (error instanceof Refused) throw error
    // Whatever stands where another thing should: an object for a number, say.
    throw new Refused('invalid_record', `The record cannot be read: ${(error as Error).message}`, fix)
  }
}

function addTo(totals: Totals, { verifiers }: Prepared): void {
  totals.imported++
  const hash = verifiers.find(({ type }) => type === 'password')?.['hash'] as string | undefined
  if (hash === undefined) totals.withoutPassword++
  else {
    const kind = kindOfHash(hash) ?? 'unknown'
    const name = isOurHash(hash) ? 'gatehouse' : kind
    totals.hashes[name] = (totals.hashes[name] ?? 0) + 1
    if (isWeakKind(kind)) totals.weak++
  }
  if (verifiers.some(({ type }) => type === 'totp')) totals.totp++
}

/** The one event that webhooks get (docs/decisions/0041). */
export async function tellImport(
  context: Context,
  { accountId, issuerId }: InIssuer,
  source: Source,
  totals: Totals,
): Promise<void> {
  const { read, imported, known, refused } = totals
  await transaction(context, (inside) =>
    emit(inside, 'user.import.finished', {
      accountId,
      issuerId,
      target: { type: 'issuer', id: issuerId },
      data: { source, read, imported, known, refused },
    }),
  )
}
