/**
 * An import that comes in portions, as the console sends it: each is taken by itself, and what is to be known of those
 * before travels with the caller, sealed, so that nothing is kept here that somebody would have to clean up. A portion
 * that is sent twice finds its users here already (docs/decisions/0047).
 */
import { z } from 'zod'
import { invalidField } from '../../../kernel/errors.js'
import { check, rules } from '../../../kernel/input.js'
import { DAY } from '../../../kernel/time.js'
import type { Context } from '../../../platform/context.js'
import { requireAuthorityAtConsole } from '../../authority.js'
import { type InIssuer, requireIssuer } from '../../place.js'
import { usernameTypes } from '../usernames.js'
import { noTotals, type Refusal, sourceOf, type Totals, takeLines, tellImport } from './import-users.js'
import { type Source, sources } from './sources.js'

/** Records of one portion at most: one transaction takes them. */
const MAX_RECORDS = 1000
/** How long the next portion may take to come (milliseconds). */
const PATIENCE = DAY

const portionRules = z.strictObject({
  source: z.enum(sources).nullable().optional(),
  dryRun: rules.boolean,
  login: z.enum(usernameTypes).nullable().optional(),
  dropUnsupported: rules.boolean.nullable().optional(),
  records: z
    .array(z.strictObject({ line: z.number(), text: z.string() }))
    .max(MAX_RECORDS, `must hold at most ${MAX_RECORDS} records.`),
  continues: z.string().nullable().optional(),
  last: rules.boolean,
})

/** A user that was imported, or in a dry run would be. */
export interface TakenUser {
  line: number
  externalId: string
  /** Null in a dry run. */
  userId: string | null
  /** As lists show it (decisions D27), so that a name that comes twice in a file is known again. */
  usernameHash: string
}

/** What became of one portion, and the continuation for the next one. */
export interface Portion extends Totals {
  source: Source
  refusals: Refusal[]
  users: TakenUser[]
  continuation: string
}

/**
 * Takes a portion. The last one tells the whole import (docs/decisions/0041), unless it was a dry run.
 * @throws not_found, invalid_request, insufficient_scope at the console's own issuer
 */
export async function importPortion(context: Context, place: InIssuer, input: unknown): Promise<Portion> {
  const { records, dryRun, login, dropUnsupported, continues, last, ...said } = check(portionRules, input)
  await requireIssuer(context, place)
  await requireAuthorityAtConsole(context, place.issuerId)
  const before = continues ? opened(context, place, dryRun, continues) : undefined
  const source = before?.source ?? said.source ?? (records[0] && sourceOf(records[0].text))
  if (!source) {
    throw invalidField(
      'source',
      'unknown',
      `is not to be seen from the first record; say one of ${sources.join(', ')}.`,
    )
  }
  const refusals: Refusal[] = []
  const users: TakenUser[] = []
  const totals = await takeLines(context, place, records, {
    source,
    dryRun,
    login: [login ?? 'email'],
    dropUnsupported: dropUnsupported ?? false,
    refused: (refusal) => void refusals.push(refusal),
    taken: ({ line, externalId, userId, user }) =>
      void users.push({
        line,
        externalId,
        userId: dryRun ? null : userId,
        usernameHash: String(user['username_hash']),
      }),
  })
  const soFar = sum(before?.totals ?? noTotals(), totals)
  if (last && !dryRun) await tellImport(context, place, source, soFar)
  return { ...totals, source, refusals, users, continuation: sealed(context, place, { source, dryRun, totals: soFar }) }
}

interface Continuation {
  /** Other sealed texts are none of these. */
  is: 'import of users'
  issuerId: string
  source: Source
  /** A rehearsal is followed by no import: it would tell of users that nobody has. */
  dryRun: boolean
  totals: Totals
  until: number
}

function sealed(
  context: Context,
  { issuerId }: InIssuer,
  said: Pick<Continuation, 'source' | 'dryRun' | 'totals'>,
): string {
  const until = context.now() + PATIENCE
  const content: Continuation = { is: 'import of users', issuerId, ...said, until }
  return context.sealer.seal(JSON.stringify(content))
}

function opened(context: Context, { issuerId }: InIssuer, dryRun: boolean, text: string): Continuation {
  try {
    const content = JSON.parse(context.sealer.open(text)) as Continuation
    const fits = content.is === 'import of users' && content.issuerId === issuerId && content.dryRun === dryRun
    if (fits && content.until > context.now()) return content
  } catch {
    // Not sealed by this deployment: the same refusal.
  }
  throw invalidField('continues', 'unknown', 'is not the continuation of such an import of this issuer.')
}

function sum(a: Totals, b: Totals): Totals {
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
