/** Pending deletions become final (spec section 3, decisions D22, D36): an id and a status are left of the user. */

import type { Context } from '../../platform/context.js'
import { type Prisma, sql, transaction } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { eraseEventsOf } from '../events/erasing.js'
import { emit } from '../events/events.js'
import { eraseMailTo, eraseTraces, type PurgedUser } from './traces.js'

/** Users per transaction, so that none holds its locks for long. */
const BATCH = 100

/**
 * Wipes users whose time has come and who have left their organizations, batch by batch: what is kept about them
 * elsewhere first, their rows last, so that a run that was cut off is made up for by the next one. Running twice, or in
 * two processes at once, does no harm. Deleted users with a time are those whom a version without erasure has wiped.
 */
export async function purgeUsers(context: Context): Promise<void> {
  await inPortions(context, BATCH, () => purgeBatch(context))
}

// The newest first: they do not wait for the users whom an older version has wiped.
const dueText = `
  SELECT id, account_id AS "accountId", issuer_id AS "issuerId", status, status_at AS "statusAt", username_type AS
    "usernameType", username, profile
  FROM users
  WHERE purge_at <= $1::bigint AND status IN ('pending_deletion', 'deleted')
    AND NOT EXISTS (SELECT 1 FROM organization_members m WHERE m.user_id = users.id)
  ORDER BY purge_at DESC, id LIMIT ${BATCH}`

const lockText = `
  SELECT id FROM users WHERE id = ANY ($1::text[]) AND purge_at IS NOT NULL AND status IN ('pending_deletion', 'deleted')
  ORDER BY id FOR UPDATE SKIP LOCKED`

/** @returns how many rows were wiped; 0 when the run is to end */
async function purgeBatch(context: Context): Promise<number> {
  const due = await context.query<PurgedUser & Record<string, unknown>>('purge-due', dueText, [context.now()])
  if (due.length === 0) return 0
  await eraseTraces(context, due)
  for (const user of due) {
    const eraseAddress = (inside: Context, address: string) => eraseMailTo(inside, user, address)
    if (!(await eraseEventsOf(context, user, eraseAddress))) return 0
  }
  return transaction(context, async (inside) => {
    const locked = await sql<{ id: string }>(
      inside.db,
      lockText,
      due.map(({ id }) => id),
    )
    await wipe(
      inside,
      due.filter((user) => locked.some(({ id }) => id === user.id)),
    )
    return locked.length
  })
}

async function wipe(inside: Context, users: readonly PurgedUser[]): Promise<void> {
  const now = inside.now()
  const userId = { in: users.map(({ id }) => id) }
  const { db } = inside
  await db.verifier.deleteMany({ where: { userId } })
  await db.enrollment.deleteMany({ where: { userId } })
  await db.loginFailure.deleteMany({ where: { userId } })
  await db.importedUser.deleteMany({ where: { userId } })
  await db.consoleSession.deleteMany({ where: { userId } })
  // Sessions have ended already; they hold addresses and devices.
  await db.session.deleteMany({ where: { userId, issuerId: { in: users.map(({ issuerId }) => issuerId) } } })
  await db.personalToken.updateMany({ where: { userId }, data: { ...anonymousToken, updatedAt: now } })
  await db.user.updateMany({ where: { id: userId }, data: { ...nothing, updatedAt: now } })
  const pending = users.filter(({ status }) => status === 'pending_deletion')
  await db.user.updateMany({ where: { id: { in: pending.map(({ id }) => id) } }, data: { statusAt: now } })
  for (const { id, accountId, issuerId } of pending) {
    const changes = { status: { old: 'pending_deletion', new: 'deleted' } }
    const target = { type: 'user', id }
    await emit(inside, 'user.status.changed', { accountId, issuerId, userId: id, target, changes })
  }
}

const empty: Prisma.InputJsonObject = {}

/** Every column that could tell who it was. */
const nothing = {
  status: 'deleted',
  username: '',
  usernameKey: '',
  usernameHash: '',
  profile: empty,
  security: empty,
  compliance: empty,
  preferences: empty,
  customFields: empty,
  metadata: empty,
  approval: empty,
  approvalNote: null,
  scopes: [],
  signupReason: null,
  triggeredRule: null,
  statusReason: null,
  emailVerified: false,
  region: null,
  purgeAt: null,
} satisfies Prisma.UserUncheckedUpdateManyInput

/** Revoked tokens stay for 31 days (spec section 3), without what their owner wrote and where it was used from. */
const anonymousToken = {
  name: '',
  description: null,
  tags: [],
  restrictions: empty,
  metadata: empty,
  statusBy: null,
  statusReason: null,
} satisfies Prisma.PersonalTokenUncheckedUpdateManyInput
