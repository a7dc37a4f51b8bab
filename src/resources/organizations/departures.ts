/** What organizations still hold of people who have left: memberships of deleted users, invitations of long ago. */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { eraseInvitedAddresses, unlessEventsMove } from '../events/erasing.js'
import { emit } from '../events/events.js'
import { purgeUsers } from '../users/purge.js'
import { aboutMember, groupIdsOf, touchGroups, whole } from './members.js'

/** Invitations can be read this long after their time is over, whatever became of them. */
const INVITATION_RETENTION = 31 * DAY

/** Memberships per transaction, each with its event, and invitations per statement. */
const BATCH = 100

/**
 * Makes the deletions of users final whose time has come: first they leave their organizations and groups, then they
 * are wiped; nobody is wiped who is a member yet. A periodic job; running twice, or in two processes at once, does no
 * harm.
 */
export async function purgeDeletedUsers(context: Context): Promise<void> {
  await unlessEventsMove(context, async () => {
    for (const step of [forgetInvitations, leave]) await inPortions(context, BATCH, () => step(context))
    await purgeUsers(context)
  })
}

const dueText = `
  SELECT m.id FROM users u JOIN organization_members m ON m.user_id = u.id
  WHERE u.purge_at <= $1::bigint AND u.status = 'pending_deletion' LIMIT ${BATCH} FOR UPDATE OF m SKIP LOCKED`

async function leave(context: Context): Promise<number> {
  return transaction(context, async (inside) => {
    const due = await sql<{ id: string }>(inside.db, dueText, inside.now())
    const id = { in: due.map((row) => row.id) }
    if (due.length === 0) return 0
    const members = await inside.db.organizationMember.findMany({ where: { id }, include: whole })
    await touchGroups(inside, [...new Set(members.flatMap(groupIdsOf))])
    await inside.db.organizationMember.deleteMany({ where: { id } })
    for (const member of members) {
      // Nothing that tells who it was: the trail stays when the user does not.
      const data = { status: member.status, scopes: member.scopes, groups: groupIdsOf(member), reason: 'user_deleted' }
      await emit(inside, 'organization.membership.deleted', { ...aboutMember(member), data })
    }
    return due.length
  })
}

/**
 * An invitation holds an address. Those that the user accepted go, and those sent to its username before it was
 * deleted; a name that was given away since belongs to another user.
 */
const invitationsText = `
  WITH due AS (SELECT * FROM users WHERE purge_at <= $1::bigint AND status = 'pending_deletion')
  SELECT id, status FROM organization_invitations WHERE id IN (
    SELECT i.id FROM due JOIN organization_invitations i ON i.accepted_by_user_id = due.id
    UNION SELECT i.id FROM due JOIN organization_invitations i ON i.issuer_id = due.issuer_id
      AND i.email_key = due.username_key AND i.accepted_by_user_id IS NULL AND i.created_at <= due.status_at
    WHERE due.username_type = 'email' LIMIT ${BATCH}) FOR UPDATE SKIP LOCKED`

interface Invitation {
  id: string
  status: string
}

const forgetInvitations = (context: Context): Promise<number> =>
  removeInvitations(context, () => true, invitationsText, context.now())

/**
 * Removes what a query finds, and the addresses of those that `isErased` names from their events.
 * @returns how many
 */
function removeInvitations(
  context: Context,
  isErased: (invitation: Invitation) => boolean,
  text: string,
  ...values: unknown[]
): Promise<number> {
  return transaction(context, async (inside) => {
    const found = await sql<Invitation>(inside.db, text, ...values)
    await eraseInvitedAddresses(
      inside,
      found.filter(isErased).map(({ id }) => id),
    )
    await inside.db.organizationInvitation.deleteMany({ where: { id: { in: found.map(({ id }) => id) } } })
    return found.length
  })
}

const overText = `
  SELECT t.id, t.status FROM organization_invitations t WHERE t.expires_at <= $1::bigint
    AND NOT EXISTS (SELECT 1 FROM issuers i WHERE i.id = t.issuer_id AND i.status = 'deleted')
  LIMIT ${BATCH} FOR UPDATE OF t SKIP LOCKED`

/**
 * Removes invitations whose time was over 31 days ago. Where one was accepted, its events keep the address until that
 * user is purged; where none was, there is no user whose purge would come.
 */
export async function purgeInvitations(context: Context): Promise<void> {
  const before = context.now() - INVITATION_RETENTION
  const wasNotAccepted = ({ status }: Invitation): boolean => status !== 'accepted'
  await unlessEventsMove(context, () =>
    inPortions(context, BATCH, () => removeInvitations(context, wasNotAccepted, overText, before)),
  )
}
