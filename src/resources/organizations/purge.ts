/** Purges deleted users with their memberships and invitations, and expired invitations. */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { eraseInvitationAddresses, skipWhileRepartitioning } from '../events/event-erasure.js'
import { recordEvent } from '../events/record-event.js'
import { purgeUsers } from '../users/purge.js'
import { bumpGroupVersions, groupIdsOf, memberEventSubject, memberInclude } from './members.js'

/**
 * Purges the users whose `purge_at` has passed: deletes their invitations and memberships first, then purges the users,
 * so that no membership refers to a purged user. Periodic job; repeated and concurrent runs are safe.
 */
export async function purgeDeletedUsers(context: Context): Promise<void> {
  await skipWhileRepartitioning(context, async () => {
    for (const step of [purgeInvitationsOfUsers, purgeMemberships])
      await runInBatches(context, limits.organizationPurgeBatchSize, () => step(context))
    await purgeUsers(context)
  })
}

const membershipsToPurgeText = `
  SELECT m.id FROM users u JOIN organization_members m ON m.user_id = u.id
  WHERE u.purge_at <= $1::bigint AND u.status = 'pending_deletion' LIMIT ${limits.organizationPurgeBatchSize} FOR UPDATE OF m SKIP LOCKED`

async function purgeMemberships(context: Context): Promise<number> {
  return transaction(context, async (tx) => {
    const due = await sql<{ id: string }>(tx.db, membershipsToPurgeText, tx.now())
    const id = { in: due.map((row) => row.id) }
    if (due.length === 0) return 0
    const members = await tx.db.organizationMember.findMany({ where: { id }, include: memberInclude })
    await bumpGroupVersions(tx, [...new Set(members.flatMap(groupIdsOf))])
    await tx.db.organizationMember.deleteMany({ where: { id } })
    for (const member of members) {
      // The event contains no personal data, because the audit log keeps the event after the purge of the user.
      const data = { status: member.status, scopes: member.scopes, groups: groupIdsOf(member), reason: 'user_deleted' }
      await recordEvent(tx, 'organization.membership.deleted', { ...memberEventSubject(member), data })
    }
    return due.length
  })
}

/**
 * Selects the invitations that contain the email address of a user to purge: the invitations that the user accepted,
 * and those that were sent to the address before the deletion was requested. Invitations that were sent to the address
 * later are meant for another user.
 */
const invitationsToPurgeText = `
  WITH due AS (SELECT * FROM users WHERE purge_at <= $1::bigint AND status = 'pending_deletion')
  SELECT id, status FROM organization_invitations WHERE id IN (
    SELECT i.id FROM due JOIN organization_invitations i ON i.accepted_by_user_id = due.id
    UNION SELECT i.id FROM due JOIN organization_invitations i ON i.issuer_id = due.issuer_id
      AND i.email_key = due.username_key AND i.accepted_by_user_id IS NULL AND i.created_at <= due.status_at
    WHERE due.username_type = 'email' LIMIT ${limits.organizationPurgeBatchSize}) FOR UPDATE SKIP LOCKED`

interface Invitation {
  id: string
  status: string
}

const purgeInvitationsOfUsers = (context: Context): Promise<number> =>
  deleteInvitations(context, () => true, invitationsToPurgeText, context.now())

/**
 * Deletes the invitations that a query finds and erases the addresses in the events of those for which
 * `shouldEraseAddress` returns true.
 * @returns the number of deleted invitations
 */
function deleteInvitations(
  context: Context,
  shouldEraseAddress: (invitation: Invitation) => boolean,
  text: string,
  ...values: unknown[]
): Promise<number> {
  return transaction(context, async (tx) => {
    const found = await sql<Invitation>(tx.db, text, ...values)
    await eraseInvitationAddresses(
      tx,
      found.filter(shouldEraseAddress).map(({ id }) => id),
    )
    await tx.db.organizationInvitation.deleteMany({ where: { id: { in: found.map(({ id }) => id) } } })
    return found.length
  })
}

const expiredInvitationsText = `
  SELECT t.id, t.status FROM organization_invitations t WHERE t.expires_at <= $1::bigint
    AND NOT EXISTS (SELECT 1 FROM issuers i WHERE i.id = t.issuer_id AND i.status = 'deleted')
  LIMIT ${limits.organizationPurgeBatchSize} FOR UPDATE OF t SKIP LOCKED`

/**
 * Deletes invitations `expiredInvitationRetention` after they expired. The events of an accepted invitation keep the
 * email address until the user is purged. The events of other invitations lose the address now, because there is no
 * user whose purge would erase it. Periodic job.
 */
export async function purgeExpiredInvitations(context: Context): Promise<void> {
  const before = context.now() - limits.expiredInvitationRetention
  const wasNotAccepted = ({ status }: Invitation): boolean => status !== 'accepted'
  await skipWhileRepartitioning(context, () =>
    runInBatches(context, limits.organizationPurgeBatchSize, () =>
      deleteInvitations(context, wasNotAccepted, expiredInvitationsText, before),
    ),
  )
}
