/**
 * Erasure in the audit log (docs/contract.md#erasure): when a user is purged, personal values in the user's events
 * become null. Ids, types, times, commit positions and counts remain. In `data` and `changes` of events about the user,
 * only booleans, numbers, ids, the text `changed` in `changes` and the values of `nonPersonalFields` are kept, so that
 * a new field with text is erased until `nonPersonalFields` contains the field.
 */
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { isRepartitioning } from './default-partition.js'
import { CHANGED } from './event-fields.js'

/** The user whose events are erased. */
interface Erasure {
  userId: string
  /** The ids of the user as an actor: the user id and the ids of the user's personal tokens. */
  actorIds: ReadonlySet<string>
}

interface Row {
  id: string
  createdAt: number
  accountId: string
  type: string
  userId: string | null
  actor: { type: string; id: string | null; name: string | null }
  target: { type: string; id: string }
  context: Record<string, unknown>
  data: Record<string, unknown>
  changes: Record<string, unknown>
}

/**
 * Thrown during repartitioning, which copies events (default-partition.ts) and would restore values that were erased.
 */
class RepartitioningInProgress extends Error {}

/**
 * Runs the part of a periodic job that erases events. While events are being repartitioned, it ends without an error,
 * and the next run of the job continues.
 */
export async function skipWhileRepartitioning(context: Context, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof RepartitioningInProgress)) throw error
    context.log.info('events are being repartitioned; erasure continues on the next run')
  }
}

/**
 * Erases the personal values of a user in the events about the user, and in the events of any account that the user
 * caused. Idempotent and safe to run concurrently.
 * @param eraseAddress called with each value that `emailAddressesIn` finds in the events about the user, in the
 *   transaction that erases the value in the events
 * @returns false if the job had to stop before all events were erased
 * @throws RepartitioningInProgress, which `skipWhileRepartitioning` catches
 */
export async function eraseUserEvents(
  context: Context,
  user: { id: string; accountId: string },
  eraseAddress: (tx: Context, address: string) => Promise<void>,
): Promise<boolean> {
  const actorIds = new Set([user.id, ...(await personalTokenIdsOf(context, user.id))])
  const erasure = { userId: user.id, actorIds }
  const isComplete = await eraseMatchingEvents(
    context,
    'about',
    [user.accountId, user.id],
    erasure,
    async (tx, rows) => {
      const targetsOf = (type: string) => rows.filter((row) => row.type === type).map(({ target }) => target.id)
      // Personal tokens and invitations may have been purged already, so their ids are read from the events.
      for (const id of targetsOf('personal_token.created')) actorIds.add(id)
      await eraseInvitationAddresses(tx, targetsOf('organization.invitation.accepted'))
      for (const address of new Set(rows.flatMap(emailAddressesIn))) await eraseAddress(tx, address)
    },
  )
  if (!isComplete) return false
  for (const id of actorIds) if (!(await eraseMatchingEvents(context, 'by', [id], erasure))) return false
  return true
}

/**
 * Returns the values of an event that can be an address to which mail for the user was sent: a former username, and
 * `email` of `data`, such as an invited address. A former username is not always an email address.
 */
function emailAddressesIn({ data, changes }: Row): string[] {
  const { old } = (isObject(changes['username']) ? changes['username'] : {}) as { old?: unknown }
  return [old, data['email']].filter((address) => typeof address === 'string')
}

async function personalTokenIdsOf({ db }: Context, userId: string): Promise<string[]> {
  const rows = await db.personalToken.findMany({ where: { userId }, select: { id: true } })
  return rows.map(({ id }) => id)
}

/**
 * Erases the email address in the events of invitations. Call it in a transaction; if the invitations are deleted, in
 * the same one.
 * @param ids ids of the invitations
 * @throws RepartitioningInProgress, which `skipWhileRepartitioning` catches
 */
export async function eraseInvitationAddresses(tx: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await requireNotRepartitioning(tx)
  await tx.query('erase-invited', eraseInvitationAddressesText, [ids])
}

/** The condition must match the predicate of the index events_of_invitations. */
const eraseInvitationAddressesText = `
  UPDATE events SET data = data || '{"email": null}'
  WHERE type LIKE 'organization.invitation.%' AND target->>'id' = ANY ($1::text[])`

/** Conditions that scan an index in id order. `by` must match the predicate of the index events_by_other_actor. */
const eventConditions = {
  about: 'e.account_id = $1 AND e.user_id = $2 AND e.id > $3',
  by: `e.actor->>'id' = $1 AND e.actor->>'type' IN ('user', 'personal_token')
    AND (e.user_id IS NULL OR e.user_id <> e.actor->>'id') AND e.id > $2`,
} as const

// The rows are locked (FOR UPDATE), because two concurrent erasures can change the same event.
const selectEventsText = (which: keyof typeof eventConditions): string => `
  SELECT e.id, e.created_at AS "createdAt", e.account_id AS "accountId", e.type, e.user_id AS "userId", e.actor, e.target,
    e.context, e.data, e.changes
  FROM events e WHERE ${eventConditions[which]} ORDER BY e.id LIMIT ${limits.eventErasureBatchSize} FOR UPDATE`

const updateEventsText = `
  UPDATE events e SET actor = r.actor, context = r.context, data = r.data, changes = r.changes
  FROM jsonb_to_recordset($1::jsonb) AS r(id text, "createdAt" bigint, "accountId" text, actor jsonb, context jsonb,
    data jsonb, changes jsonb)
  WHERE e.account_id = r."accountId" AND e.id = r.id AND e.created_at = r."createdAt"`

/** Erases events batch by batch. @returns false if the job had to stop before the end */
async function eraseMatchingEvents(
  context: Context,
  which: keyof typeof eventConditions,
  values: readonly string[],
  erasure: Erasure,
  onBatch: (tx: Context, rows: readonly Row[]) => Promise<void> = async () => {},
): Promise<boolean> {
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    if (context.stopSignal?.aborted) return false
    const from: string = cursor
    cursor = await transaction(context, async (tx) => {
      await requireNotRepartitioning(tx)
      const rows = await tx.query<Row & Record<string, unknown>>(`erase-read-${which}`, selectEventsText(which), [
        ...values,
        from,
      ])
      await onBatch(tx, rows)
      const erased = rows.flatMap((row) => eraseEventValues(row, erasure) ?? [])
      if (erased.length > 0) await tx.query('erase-write', updateEventsText, [JSON.stringify(erased)])
      return rows.length === limits.eventErasureBatchSize ? rows.at(-1)!.id : undefined
    })
  }
  return true
}

async function requireNotRepartitioning(tx: Context): Promise<void> {
  if (await isRepartitioning(tx)) throw new RepartitioningInProgress('events are being repartitioned')
}

/** Returns the erased event, or undefined if nothing changes. */
function eraseEventValues(row: Row, { userId, actorIds }: Erasure): Row | undefined {
  const { actor, context, data, changes } = row
  const isSubject = row.userId === userId
  const isActor = actor.id !== null && actorIds.has(actor.id)
  // The actor, IP address and user agent of another user's action are kept, so that the action stays attributable.
  const isByAnotherUser = !isActor && (actor.type === 'user' || actor.type === 'personal_token')
  const erased = {
    ...row,
    actor: isActor ? { ...actor, name: null } : actor,
    context: isByAnotherUser ? context : { ...context, ip_address: null, user_agent: null },
    data: isSubject ? eraseValues(row.type, data) : data,
    changes: isSubject ? eraseChanges(row.type, changes) : changes,
  }
  return JSON.stringify(erased) === JSON.stringify(row) ? undefined : erased
}

const eraseValues = (type: string, values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, eraseValue(type, name, value)]))

const eraseChanges = (type: string, changes: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [
      name,
      isObject(change)
        ? Object.fromEntries(Object.entries(change).map(([side, value]) => [side, eraseValue(type, name, value)]))
        : change === CHANGED
          ? change
          : eraseValue(type, name, change),
    ]),
  )

/**
 * Fields that contain constants of Gatehouse, ids, URLs of services or scopes, but no personal data. `eraseValue` makes
 * an exception for `reason` of approval decisions.
 */
const nonPersonalFields = new Set([
  'acr',
  'amr',
  'audience',
  'client_secret',
  'groups',
  'imported_from',
  'method',
  'reason',
  'resource',
  'scopes',
  'secret',
  'status',
  'subject_client_id',
  'subject_id',
  'subject_jti',
  'subject_type',
  'token_type',
  'type',
  'username_type',
  'usernameType',
  'verifiers',
])

/** Matches the ids that kernel/ids.ts creates. */
const idPattern = /^[a-z]{2,4}_[0-7][0-9a-hjkmnp-tv-z]{25}$/

function eraseValue(type: string, name: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  // The reason of an approval decision is free text about the user.
  if (nonPersonalFields.has(name) && !(name === 'reason' && type.startsWith('user.approval.'))) return value
  return typeof value === 'string' && idPattern.test(value) ? value : null
}
