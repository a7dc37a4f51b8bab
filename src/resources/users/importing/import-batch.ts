/**
 * One batch of an import, as the console sends it. The state between batches is encrypted and travels with the caller,
 * so the server stores nothing. A repeated batch changes nothing, because its users are known (docs/decisions/0038).
 */
import { z } from 'zod'
import { invalidField } from '../../../kernel/errors.js'
import { checkInput, fieldSchemas } from '../../../kernel/input.js'
import { limits } from '../../../kernel/limits.js'
import type { Context } from '../../../platform/context.js'
import { requireFullAuthorityIfConsoleIssuer } from '../../authority.js'
import { type InIssuer, requireIssuer } from '../../resource-path.js'
import { usernameTypes } from '../usernames.js'
import {
  detectSource,
  emptyTotals,
  type ImportRefusal,
  type ImportTotals,
  importLines,
  recordImport,
} from './import-users.js'
import { type Source, sources } from './sources.js'

const batchRules = z.strictObject({
  source: z.enum(sources).nullable().optional(),
  dryRun: fieldSchemas.boolean,
  login: z.enum(usernameTypes).nullable().optional(),
  dropUnsupported: fieldSchemas.boolean.nullable().optional(),
  records: z
    .array(z.strictObject({ line: z.number(), text: z.string() }))
    .max(limits.maxImportBatchRecords, `must have at most ${limits.maxImportBatchRecords} records.`),
  continues: z.string().nullable().optional(),
  last: fieldSchemas.boolean,
})

export interface AcceptedUser {
  line: number
  externalId: string
  /** Null in a dry run. */
  userId: string | null
  /** The hashed username, as in lists, to detect duplicates in a file. */
  usernameHash: string
}

/** The result of a batch, with the continuation for the next one. */
export interface ImportBatchResult extends ImportTotals {
  source: Source
  refusals: ImportRefusal[]
  users: AcceptedUser[]
  continuation: string
}

/**
 * Imports a batch. The last one records the event of the whole import (docs/decisions/0035), unless it is a dry run.
 * @throws not_found, invalid_request, insufficient_scope for the console issuer
 */
export async function importBatch(context: Context, path: InIssuer, input: unknown): Promise<ImportBatchResult> {
  const { records, dryRun, login, dropUnsupported, continues, last, ...options } = checkInput(batchRules, input)
  await requireIssuer(context, path)
  await requireFullAuthorityIfConsoleIssuer(context, path.issuerId)
  const before = continues ? decryptContinuation(context, path, dryRun, continues) : undefined
  const source = before?.source ?? options.source ?? (records[0] && detectSource(records[0].text))
  if (!source) {
    throw invalidField(
      'source',
      'unknown',
      `cannot be detected from the first record. Set one of ${sources.join(', ')}.`,
    )
  }
  const refusals: ImportRefusal[] = []
  const users: AcceptedUser[] = []
  const totals = await importLines(context, path, records, {
    source,
    dryRun,
    login: [login ?? 'email'],
    dropUnsupported: dropUnsupported ?? false,
    onRefused: (refusal) => void refusals.push(refusal),
    onAccepted: ({ line, externalId, userId, user }) =>
      void users.push({
        line,
        externalId,
        userId: dryRun ? null : userId,
        usernameHash: String(user['username_hash']),
      }),
  })
  const runningTotals = addTotals(before?.totals ?? emptyTotals(), totals)
  if (last && !dryRun) await recordImport(context, path, source, runningTotals)
  return {
    ...totals,
    source,
    refusals,
    users,
    continuation: encryptContinuation(context, path, { source, dryRun, totals: runningTotals }),
  }
}

interface Continuation {
  /**
   * Tells continuations from other encrypted texts. Callers may present one for a day, so these keys keep their names.
   */
  is: 'import of users'
  issuerId: string
  source: Source
  /** The continuation of a dry run cannot be used for an import, whose event would count users that do not exist. */
  dryRun: boolean
  totals: ImportTotals
  until: number
}

function encryptContinuation(
  context: Context,
  { issuerId }: InIssuer,
  options: Pick<Continuation, 'source' | 'dryRun' | 'totals'>,
): string {
  const until = context.now() + limits.importContinuationLifetime
  const content: Continuation = { is: 'import of users', issuerId, ...options, until }
  return context.encryptor.encrypt(JSON.stringify(content))
}

function decryptContinuation(context: Context, { issuerId }: InIssuer, dryRun: boolean, text: string): Continuation {
  try {
    const content = JSON.parse(context.encryptor.decrypt(text)) as Continuation
    const isValid = content.is === 'import of users' && content.issuerId === issuerId && content.dryRun === dryRun
    if (isValid && content.until > context.now()) return content
  } catch {
    // Not encrypted by this deployment: the same error.
  }
  throw invalidField(
    'continues',
    'unknown',
    'must be the continuation of the previous batch of the same import, not older than one day.',
  )
}

function addTotals(a: ImportTotals, b: ImportTotals): ImportTotals {
  const hashes = { ...a.hashes }
  for (const [kind, count] of Object.entries(b.hashes)) hashes[kind] = (hashes[kind] ?? 0) + count
  return {
    read: a.read + b.read,
    imported: a.imported + b.imported,
    known: a.known + b.known,
    refused: a.refused + b.refused,
    withoutPassword: a.withoutPassword + b.withoutPassword,
    totp: a.totp + b.totp,
    hashes,
    weak: a.weak + b.weak,
  }
}
