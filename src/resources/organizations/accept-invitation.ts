/** How an invited person becomes a member: the invitation is looked at with its token, and accepted with it, once. */
import { notFound } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { lockOrganization } from '../place.js'
import { about, groupsLeft } from './invitations.js'
import { insertMember, type Member } from './members.js'

/** What whoever has the token may see before accepting. */
export interface OpenInvitation {
  organization: string | null
  email: string
  message: string | null
}

const openText = `
  SELECT o.name AS organization, i.email, i.message
  FROM organization_invitations i JOIN organizations o ON o.id = i.org_id
  WHERE i.token_hash = $1 AND i.issuer_id = $2 AND i.status = 'pending' AND i.expires_at > $3
    AND o.status = 'active' AND o.invitation_enabled`

/** The invitation of this token at this issuer, while it is in force. */
export async function openInvitation(
  context: Context,
  issuerId: string,
  tokenHash: string,
): Promise<OpenInvitation | undefined> {
  const values = [tokenHash, issuerId, context.now()]
  const [row] = await context.query<OpenInvitation & Record<string, unknown>>('open-invitation', openText, values)
  return row
}

/**
 * Is the invitation of this token in force? It stays so until the transaction ends: whoever revokes it meanwhile waits.
 * @throws not_found
 */
export async function holdInvitation(inside: Context, issuerId: string, tokenHash: string): Promise<void> {
  const values = [tokenHash, issuerId, inside.now()]
  const [row] = await inside.query('hold-invitation', `${openText} FOR UPDATE OF i`, values)
  if (!row) throw notFound('invitation')
}

/**
 * Lets a user in with the token of an invitation. The token is consumed in one statement, so of several who come with
 * it one is let in; if that one cannot become a member, the invitation stays as it was.
 * @param tokenHash SHA-256 of the token
 * @param user of the invitation's issuer, who has proved who they are
 * @throws not_found for a token that is not in force, conflict when the user is a member already or there is no room
 */
export async function acceptInvitation(
  context: Context,
  tokenHash: string,
  user: { id: string; issuerId: string },
): Promise<Member> {
  return transaction(context, async (inside) => {
    const now = inside.now()
    const [row] = await sql<{ id: string }>(inside.db, acceptText, tokenHash, user.issuerId, now, user.id)
    if (!row) throw notFound('invitation')
    const invitation = await inside.db.organizationInvitation.findUniqueOrThrow({ where: { id: row.id } })
    const organization = await lockOrganization(inside, invitation)
    if (!organization.invitationEnabled || organization.status !== 'active') throw notFound('invitation')
    const groups = await groupsLeft(inside, invitation)
    const values = { scopes: invitation.scopes, groups: groups.map((group) => group.id) }
    const member = await insertMember(inside, organization, user.id, values)
    await emit(inside, 'organization.invitation.accepted', { ...about(invitation), userId: user.id })
    return member
  })
}

const acceptText = `
  UPDATE organization_invitations i SET status = 'accepted', accepted_at = $3::bigint, accepted_by_user_id = $4::text,
    updated_at = $3::bigint
  WHERE i.token_hash = $1::text AND i.issuer_id = $2::text AND i.status = 'pending' AND i.expires_at > $3::bigint
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = $4::text AND u.issuer_id = i.issuer_id AND u.status = 'active')
  RETURNING i.id`
