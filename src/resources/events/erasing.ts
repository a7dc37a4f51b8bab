/**
 * Erasure in the audit log (decision D36): when a user is purged, the personal values in the user's events become null.
 * Ids, types, times, places and counts stay. What is not known to be impersonal is erased, so a field that a later
 * version records is erased until `impersonal` names it.
 */
import { isObject } from '../../kernel/merge.js'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/database.js'
import { isMoving } from './moving.js'
import { CHANGED } from './names.js'

/** Events read and written by one transaction: streams wait for each (docs/decisions/0025), so it takes milliseconds. */
const BATCH = 500

/** The user whose values go, and the ids by which the user acted: its own and those of its personal tokens. */
interface Erasure {
  userId: string
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

/** A move of events into their months copies them (moving.ts), and would bring back what is erased meanwhile. */
class EventsAreMoving extends Error {}

/** Does work that erases in events; what is left of it while events are moved, the next run does. */
export async function unlessEventsMove(context: Context, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof EventsAreMoving)) throw error
    context.log.info('events are being moved into their months; erasing goes on at the next turn')
  }
}

/**
 * Erases the values of a user in all of its events: those about it, and those about others that it caused, in whatever
 * account. Repeating it changes nothing, and of two processes each does no harm to the other.
 * @param eraseAddress gets each address that the user had before, in the transaction that erases it here
 * @returns false when the run was to end before all was done
 * @throws what `unlessEventsMove` takes, while events are moved into their months
 */
export async function eraseEventsOf(
  context: Context,
  user: { id: string; accountId: string },
  eraseAddress: (inside: Context, address: string) => Promise<void>,
): Promise<boolean> {
  const actorIds = new Set([user.id, ...(await tokensOf(context, user.id))])
  const erasure = { userId: user.id, actorIds }
  const about = await eraseEach(context, 'about', [user.accountId, user.id], erasure, async (inside, rows) => {
    const targetsOf = (type: string) => rows.filter((row) => row.type === type).map(({ target }) => target.id)
    // The rows of both may have been removed already.
    for (const id of targetsOf('personal_token.created')) actorIds.add(id)
    await eraseInvitedAddresses(inside, targetsOf('organization.invitation.accepted'))
    for (const address of new Set(rows.flatMap(addressesIn))) await eraseAddress(inside, address)
  })
  if (!about) return false
  for (const id of actorIds) if (!(await eraseEach(context, 'by', [id], erasure))) return false
  return true
}

/** Where mail went to the user: earlier usernames, and the address that it was invited by. */
function addressesIn({ data, changes }: Row): string[] {
  const { old } = (isObject(changes['username']) ? changes['username'] : {}) as { old?: unknown }
  return [old, data['email']].filter((address) => typeof address === 'string')
}

async function tokensOf({ db }: Context, userId: string): Promise<string[]> {
  const rows = await db.personalToken.findMany({ where: { userId }, select: { id: true } })
  return rows.map(({ id }) => id)
}

/**
 * Erases the address of invitations in their events, in the transaction that removes the invitations.
 * @param ids of the invitations
 */
export async function eraseInvitedAddresses(inside: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await refuseWhileMoving(inside)
  await inside.query('erase-invited', invitedText, [ids])
}

/** In the words of the index events_of_invitations. */
const invitedText = `
  UPDATE events SET data = data || '{"email": null}'
  WHERE type LIKE 'organization.invitation.%' AND target->>'id' = ANY ($1::text[])`

/** Which events, each along an index in the order of ids; the second in the words of the index events_by_other_actor. */
const conditions = {
  about: 'e.account_id = $1 AND e.user_id = $2 AND e.id > $3',
  by: `e.actor->>'id' = $1 AND e.actor->>'type' IN ('user', 'personal_token')
    AND (e.user_id IS NULL OR e.user_id <> e.actor->>'id') AND e.id > $2`,
} as const

// Locked, because the values of two users may be erased in one event at once.
const readText = (which: keyof typeof conditions): string => `
  SELECT e.id, e.created_at AS "createdAt", e.account_id AS "accountId", e.type, e.user_id AS "userId", e.actor, e.target,
    e.context, e.data, e.changes
  FROM events e WHERE ${conditions[which]} ORDER BY e.id LIMIT ${BATCH} FOR UPDATE`

const writeText = `
  UPDATE events e SET actor = r.actor, context = r.context, data = r.data, changes = r.changes
  FROM jsonb_to_recordset($1::jsonb) AS r(id text, "createdAt" bigint, "accountId" text, actor jsonb, context jsonb,
    data jsonb, changes jsonb)
  WHERE e.account_id = r."accountId" AND e.id = r.id AND e.created_at = r."createdAt"`

/** Batch by batch. @returns false when the run was to end before */
async function eraseEach(
  context: Context,
  which: keyof typeof conditions,
  values: readonly string[],
  erasure: Erasure,
  seen: (inside: Context, rows: readonly Row[]) => Promise<void> = async () => {},
): Promise<boolean> {
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    if (context.stop?.aborted) return false
    const from: string = cursor
    cursor = await transaction(context, async (inside) => {
      await refuseWhileMoving(inside)
      const rows = await inside.query<Row & Record<string, unknown>>(`erase-read-${which}`, readText(which), [
        ...values,
        from,
      ])
      await seen(inside, rows)
      const erased = rows.flatMap((row) => withoutValues(row, erasure) ?? [])
      if (erased.length > 0) await inside.query('erase-write', writeText, [JSON.stringify(erased)])
      return rows.length === BATCH ? rows.at(-1)!.id : undefined
    })
  }
  return true
}

async function refuseWhileMoving(inside: Context): Promise<void> {
  if (await isMoving(inside)) throw new EventsAreMoving('events are being moved into their months')
}

/** The event as it is kept; undefined when nothing of it changes. */
function withoutValues(row: Row, { userId, actorIds }: Erasure): Row | undefined {
  const { actor, context, data, changes } = row
  const isAbout = row.userId === userId
  const isBy = actor.id !== null && actorIds.has(actor.id)
  // What another person did stays provable, with the address that it came from.
  const isByAnother = !isBy && (actor.type === 'user' || actor.type === 'personal_token')
  const erased = {
    ...row,
    actor: isBy ? { ...actor, name: null } : actor,
    context: isByAnother ? context : { ...context, ip_address: null, user_agent: null },
    data: isAbout ? erasedValues(row.type, data) : data,
    changes: isAbout ? erasedChanges(row.type, changes) : changes,
  }
  return JSON.stringify(erased) === JSON.stringify(row) ? undefined : erased
}

const erasedValues = (type: string, values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, erasedValue(type, name, value)]))

const erasedChanges = (type: string, changes: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [
      name,
      isObject(change)
        ? Object.fromEntries(Object.entries(change).map(([side, value]) => [side, erasedValue(type, name, value)]))
        : change === CHANGED
          ? change
          : erasedValue(type, name, change),
    ]),
  )

/** Fields whose texts are words of this product, ids, addresses of services, or scopes. */
const impersonal = new Set([
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

/** Ids of this product, as kernel/ids.ts makes them. */
const idForm = /^[a-z]{2,4}_[0-7][0-9a-hjkmnp-tv-z]{25}$/

function erasedValue(type: string, name: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  // Of a decision about an approval the reason is free text about the person.
  if (impersonal.has(name) && !(name === 'reason' && type.startsWith('user.approval.'))) return value
  return typeof value === 'string' && idForm.test(value) ? value : null
}
