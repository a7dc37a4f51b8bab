/**
 * Imports one batch of an import that a client such as the console sends in several requests. The state between batches
 * (the continuation) is encrypted and returned to the client, which sends it with the next batch, so the server does
 * not store it. A repeated batch imports no user twice (docs/decisions/0038).
 */
import { invalidField } from '../../../kernel/errors.js'
import { checkInput } from '../../../kernel/input.js'
import { limits } from '../../../kernel/limits.js'
import type { Context } from '../../../platform/context.js'
import { requireFullAuthorityIfConsoleIssuer } from '../../authority.js'
import { type InIssuer, requireIssuer } from '../../resource-path.js'
import { detectSource, emptyTotals, type ImportTotals, importLines, recordImport } from './import-users.js'
import { type Source, sources } from './sources.js'
import { type ImportedPortion, type ImportedUser, type ImportRefusal, importRules } from './user-import.js'

/**
 * Imports a batch. The last batch records the event of the whole import (docs/decisions/0035), except in a dry run.
 * @throws not_found, invalid_request, insufficient_scope if the issuer is the console issuer and the caller does not
 *   have full authority
 */
export async function importBatch(context: Context, path: InIssuer, input: unknown): Promise<ImportedPortion> {
  const { records, dryRun, login, dropUnsupported, continues, last, ...options } = checkInput(importRules, input)
  await requireIssuer(context, path)
  await requireFullAuthorityIfConsoleIssuer(context, path.issuerId)
  const before = continues ? decryptContinuation(context, path, dryRun, continues) : undefined
  const source = before?.source ?? options.source ?? (records[0] && detectSource(records[0].text))
  if (!source) {
    throw invalidField(
      'source',
      'unknown',
      `is required if it cannot be detected from a first record. Set one of ${sources.join(', ')}.`,
    )
  }
  const refusals: ImportRefusal[] = []
  const users: ImportedUser[] = []
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

/** The state between batches. Clients can send one for a day, also after an update, so the keys must not be renamed. */
interface Continuation {
  /** Distinguishes continuations from other encrypted texts. */
  is: 'import of users'
  issuerId: string
  source: Source
  /**
   * Whether the batches are a dry run. The continuation of a dry run cannot be used for an import, because the event of
   * the import would count users who were not imported.
   */
  dryRun: boolean
  /** The totals of all batches so far. */
  totals: ImportTotals
  /** When the continuation expires (Unix milliseconds). */
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
    // A text that this deployment has not encrypted gets the error below.
  }
  throw invalidField(
    'continues',
    'unknown',
    'must be the continuation of the previous batch of this import and not older than one day.',
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
