/** Shows and accepts invitations by their token. A token can be used once. */
import { notFound } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import { lockOrganization } from '../resource-path.js'
import { existingGroupsOf, invitationEventSubject } from './invitations.js'
import { insertMember, type Member } from './members.js'

/** The data that the bearer of an invitation token may see before accepting the invitation. */
export interface PendingInvitation {
  /** Name of the organization; null if it has none. */
  organization: string | null
  email: string
  message: string | null
}

const pendingInvitationText = `
  SELECT o.name AS organization, i.email, i.message
  FROM organization_invitations i JOIN organizations o ON o.id = i.org_id
  WHERE i.token_hash = $1 AND i.issuer_id = $2 AND i.status = 'pending' AND i.expires_at > $3
    AND o.status = 'active' AND o.invitation_enabled`

/**
 * Finds the invitation with a token, if it is pending and can be accepted now.
 * @param tokenHash SHA-256 of the token
 */
export async function findPendingInvitation(
  context: Context,
  issuerId: string,
  tokenHash: string,
): Promise<PendingInvitation | undefined> {
  const values = [tokenHash, issuerId, context.now()]
  const [row] = await context.query<PendingInvitation & Record<string, unknown>>(
    'pending-invitation',
    pendingInvitationText,
    values,
  )
  return row
}

/**
 * Requires a pending invitation and locks its row until the transaction ends, so that the invitation cannot be revoked
 * concurrently.
 * @param tokenHash SHA-256 of the token
 * @throws not_found
 */
export async function lockPendingInvitation(tx: Context, issuerId: string, tokenHash: string): Promise<void> {
  const values = [tokenHash, issuerId, tx.now()]
  const [row] = await tx.query('lock-pending-invitation', `${pendingInvitationText} FOR UPDATE OF i`, values)
  if (!row) throw notFound('invitation')
}

/**
 * Accepts an invitation: the user becomes a member of the organization. The token is consumed in one statement, so that
 * only one of several concurrent requests succeeds. If the user cannot become a member, the transaction rolls back and
 * the invitation stays pending.
 * @param tokenHash SHA-256 of the token
 * @param user an authenticated user of the issuer of the invitation
 * @throws not_found for an invalid token, a user who is not active, or an organization that is not active or has
 *   disabled invitations; conflict if the user is already a member or the organization is full
 */
export async function acceptInvitation(
  context: Context,
  tokenHash: string,
  user: { id: string; issuerId: string },
): Promise<Member> {
  return transaction(context, async (tx) => {
    const now = tx.now()
    const [row] = await sql<{ id: string }>(tx.db, acceptText, tokenHash, user.issuerId, now, user.id)
    if (!row) throw notFound('invitation')
    const invitation = await tx.db.organizationInvitation.findUniqueOrThrow({ where: { id: row.id } })
    const organization = await lockOrganization(tx, invitation)
    if (!organization.invitationEnabled || organization.status !== 'active') throw notFound('invitation')
    const groups = await existingGroupsOf(tx, invitation)
    const values = { scopes: invitation.scopes, groups: groups.map((group) => group.id) }
    const member = await insertMember(tx, organization, user.id, values)
    await recordEvent(tx, 'organization.invitation.accepted', {
      ...invitationEventSubject(invitation),
      userId: user.id,
    })
    return member
  })
}

const acceptText = `
  UPDATE organization_invitations i SET status = 'accepted', accepted_at = $3::bigint, accepted_by_user_id = $4::text,
    updated_at = $3::bigint
  WHERE i.token_hash = $1::text AND i.issuer_id = $2::text AND i.status = 'pending' AND i.expires_at > $3::bigint
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = $4::text AND u.issuer_id = i.issuer_id AND u.status = 'active')
  RETURNING i.id`
