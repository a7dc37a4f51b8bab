/** Makes pending deletions final (docs/contract.md#erasure). The row of the user remains without personal data. */

import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { type Prisma, sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { eraseUserEvents } from '../events/event-erasure.js'
import { recordEvent } from '../events/record-event.js'
import { eraseQueuedMail, eraseUserData, type PurgedUser } from './erasure.js'

/**
 * Purges users whose purge time has passed and who have no memberships left, in batches. Erases the data in other
 * tables first and the user's row last, so that the next run completes an interrupted one. Several processes can run it
 * at the same time. A user with a purge time and the status `deleted` was purged by a version that did not erase the
 * data in other tables. Periodic job.
 */
export async function purgeUsers(context: Context): Promise<void> {
  await runInBatches(context, limits.userPurgeBatchSize, () => purgeBatch(context))
}

// The latest purge time comes first, so that current deletions do not wait for users that an older version purged.
const dueText = `
  SELECT id, account_id AS "accountId", issuer_id AS "issuerId", status, status_at AS "statusAt", username_type AS
    "usernameType", username, profile
  FROM users
  WHERE purge_at <= $1::bigint AND status IN ('pending_deletion', 'deleted')
    AND NOT EXISTS (SELECT 1 FROM organization_members m WHERE m.user_id = users.id)
  ORDER BY purge_at DESC, id LIMIT ${limits.userPurgeBatchSize}`

const lockText = `
  SELECT id FROM users WHERE id = ANY ($1::text[]) AND purge_at IS NOT NULL AND status IN ('pending_deletion', 'deleted')
  ORDER BY id FOR UPDATE SKIP LOCKED`

/** @returns the number of purged users; 0 ends the run */
async function purgeBatch(context: Context): Promise<number> {
  const due = await context.query<PurgedUser & Record<string, unknown>>('purge-due', dueText, [context.now()])
  if (due.length === 0) return 0
  await eraseUserData(context, due)
  for (const user of due) {
    const eraseAddress = (tx: Context, address: string) => eraseQueuedMail(tx, user, address)
    if (!(await eraseUserEvents(context, user, eraseAddress))) return 0
  }
  return transaction(context, async (tx) => {
    const locked = await sql<{ id: string }>(
      tx.db,
      lockText,
      due.map(({ id }) => id),
    )
    await eraseUsers(
      tx,
      due.filter((user) => locked.some(({ id }) => id === user.id)),
    )
    return locked.length
  })
}

async function eraseUsers(tx: Context, users: readonly PurgedUser[]): Promise<void> {
  const now = tx.now()
  const userId = { in: users.map(({ id }) => id) }
  const { db } = tx
  await db.verifier.deleteMany({ where: { userId } })
  await db.enrollment.deleteMany({ where: { userId } })
  await db.loginFailure.deleteMany({ where: { userId } })
  await db.importedUser.deleteMany({ where: { userId } })
  await db.consoleSession.deleteMany({ where: { userId } })
  // The sessions have ended already. They are deleted because they contain data about the user's devices.
  await db.session.deleteMany({ where: { userId, issuerId: { in: users.map(({ issuerId }) => issuerId) } } })
  await db.personalToken.updateMany({ where: { userId }, data: { ...anonymizedTokenColumns, updatedAt: now } })
  await db.user.updateMany({ where: { id: userId }, data: { ...erasedUserColumns, updatedAt: now } })
  const pending = users.filter(({ status }) => status === 'pending_deletion')
  await db.user.updateMany({ where: { id: { in: pending.map(({ id }) => id) } }, data: { statusAt: now } })
  for (const { id, accountId, issuerId } of pending) {
    const changes = { status: { old: 'pending_deletion', new: 'deleted' } }
    const target = { type: 'user', id }
    await recordEvent(tx, 'user.status.changed', { accountId, issuerId, userId: id, target, changes })
  }
}

const emptyObject: Prisma.InputJsonObject = {}

/** Values that clear every column that could identify the user. */
const erasedUserColumns = {
  status: 'deleted',
  username: '',
  usernameKey: '',
  usernameHash: '',
  profile: emptyObject,
  security: emptyObject,
  compliance: emptyObject,
  preferences: emptyObject,
  customFields: emptyObject,
  metadata: emptyObject,
  approval: emptyObject,
  approvalNote: null,
  scopes: [],
  signupReason: null,
  triggeredRule: null,
  statusReason: null,
  emailVerified: false,
  region: null,
  purgeAt: null,
} satisfies Prisma.UserUncheckedUpdateManyInput

/**
 * Values that clear the personal data of revoked personal tokens, which are kept for 31 days (docs/contract.md#limits).
 */
const anonymizedTokenColumns = {
  name: '',
  description: null,
  tags: [],
  restrictions: emptyObject,
  metadata: emptyObject,
  statusBy: null,
  statusReason: null,
} satisfies Prisma.PersonalTokenUncheckedUpdateManyInput
