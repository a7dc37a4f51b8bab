/** Pending deletions become final (spec section 3, decisions D22): what is left of a user is an id and a status. */

import type { Context } from '../../platform/context.js'
import { type Prisma, sql, transaction } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { emit } from '../events/events.js'

/** Users per transaction, so that none holds its locks for long. */
const BATCH = 100

/**
 * Wipes users whose time has come and who have left their organizations, batch by batch. Running twice, or in two
 * processes at once, does no harm.
 */
export async function purgeUsers(context: Context): Promise<void> {
  await inPortions(context, BATCH, () => purgeBatch(context))
}

const dueText = `
  SELECT id, account_id AS "accountId", issuer_id AS "issuerId" FROM users
  WHERE purge_at <= $1::bigint AND status = 'pending_deletion'
    AND NOT EXISTS (SELECT 1 FROM organization_members m WHERE m.user_id = users.id)
  ORDER BY purge_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`

interface Due {
  id: string
  accountId: string
  issuerId: string
}

async function purgeBatch(context: Context): Promise<number> {
  return transaction(context, async (inside) => {
    const now = inside.now()
    const due = await sql<Due>(inside.db, dueText, now)
    const userId = { in: due.map(({ id }) => id) }
    if (due.length === 0) return 0
    await inside.db.verifier.deleteMany({ where: { userId } })
    await inside.db.enrollment.deleteMany({ where: { userId } })
    await inside.db.loginFailure.deleteMany({ where: { userId } })
    await inside.db.importedUser.deleteMany({ where: { userId } })
    // Sessions have ended already; they hold addresses and devices.
    await inside.db.session.deleteMany({ where: { userId, issuerId: { in: due.map(({ issuerId }) => issuerId) } } })
    await inside.db.user.updateMany({ where: { id: userId }, data: { ...nothing, statusAt: now, updatedAt: now } })
    for (const { id, accountId, issuerId } of due) {
      const changes = { status: { old: 'pending_deletion', new: 'deleted' } }
      const target = { type: 'user', id }
      await emit(inside, 'user.status.changed', { accountId, issuerId, userId: id, target, changes })
    }
    return due.length
  })
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
  scopes: [],
  signupReason: null,
  triggeredRule: null,
  statusReason: null,
  emailVerified: false,
  region: null,
  purgeAt: null,
} satisfies Prisma.UserUncheckedUpdateManyInput
