/**
 * Invitations to organizations with `invitation_enabled`: an email address, the scopes and groups to give, and a token
 * that can be used once within `invitationLifetime`. The token is a bearer secret, so only its SHA-256 is stored.
 */
import { badRequest, conflict, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import { type OrganizationInvitation, type Prisma } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableMemberScopes } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { recordEvent } from '../events/record-event.js'
import { preferredIssuerUrl } from '../issuer-url.js'
import { displayNameOf, sendMessage } from '../messages/messages.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  type InOrganization,
  lockOrganization,
  newestFirst,
  requireOrganization,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import { usernameKeyOf } from '../users/usernames.js'
import { createRules, type InvitationFilter, type InvitationPath, type InvitationStatus } from './invitation.js'
import { requireGroups, userNotDeleted } from './members.js'

export interface InvitationWithToken extends OrganizationInvitation {
  /** The token in plain text, which is not stored. */
  tokenPlain: string
}

/** Returns the current status: a pending invitation is `expired` from `expires_at` on. */
export function invitationStatus(context: Context, { status, expiresAt }: OrganizationInvitation): InvitationStatus {
  return status === 'pending' && expiresAt <= context.now() ? 'expired' : (status as InvitationStatus)
}

const invitationFilter = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationInvitationWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: whereIssuerNotDeleted },
})

/**
 * Lists invitations, newest first. With `search`, lists those whose email address begins with the text, or the one with
 * this id, sorted by address.
 */
export async function listInvitations(
  context: Context,
  path: InOrganization,
  filter: InvitationFilter,
): Promise<Page<OrganizationInvitation>> {
  const limit = checkPageLimit(filter)
  const { accountId, issuerId, orgId } = path
  const searchOptions = {
    table: 'organization_invitations',
    prefix: 'inv',
    key: 'email_key',
    where: { accountId, issuerId, orgId },
  } as const
  const found = await searchNames(
    context,
    { ...searchOptions, ...statusSql(context, filter.status) },
    filter.search,
    filter,
  )
  const rows = await context.db.organizationInvitation.findMany({
    where: {
      AND: [
        invitationFilter(path),
        statusFilter(context, filter.status),
        found?.where ?? whereOlderThanCursor('inv', filter.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, path)
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

function statusFilter(context: Context, status: string | null | undefined): Prisma.OrganizationInvitationWhereInput {
  if (!status) return {}
  if (status === 'pending') return { status, expiresAt: { gt: context.now() } }
  if (status === 'expired') return { OR: [{ status }, { status: 'pending', expiresAt: { lte: context.now() } }] }
  return { status }
}

/** Returns the condition of `statusFilter` as SQL. */
function statusSql(context: Context, status: string | null | undefined): { and?: string } {
  const isExpiredSql = `expires_at <= ${context.now()}`
  if (!status) return {}
  if (status === 'pending') return { and: `status = 'pending' AND NOT ${isExpiredSql}` }
  if (status === 'expired') return { and: `(status = 'expired' OR status = 'pending' AND ${isExpiredSql})` }
  return { and: `status = '${status === 'accepted' ? 'accepted' : 'revoked'}'` }
}

const findInvitation = (context: Context, path: InvitationPath) =>
  context.db.organizationInvitation.findFirst({ where: { ...invitationFilter(path), id: path.invitationId } })

/** @throws not_found */
export async function getInvitation(context: Context, path: InvitationPath): Promise<OrganizationInvitation> {
  const invitation = await findInvitation(context, path)
  if (!invitation) throw notFound('invitation')
  return invitation
}

/**
 * Invites an email address. Only this response and the email contain the token.
 * @throws invalid_request, also if invitations are disabled or for an unknown group; insufficient_scope if the
 *   invitation gives scopes that the caller lacks, not_found, conflict if the address is already invited or a member
 */
export async function createInvitation(
  context: Context,
  path: InOrganization,
  input: unknown,
): Promise<InvitationWithToken> {
  const values = checkInput(createRules, input)
  const token = randomSecret()
  return transaction(context, async (tx) => {
    const { db } = tx
    const organization = await lockOrganization(tx, path)
    if (!organization.invitationEnabled)
      throw badRequest('Invitations are not enabled for this organization. Set invitation_enabled to true first.')
    const known = await requireGroups(tx, path.orgId, values.groups)
    const groupScopes = known.flatMap((group) => group.scopes)
    const grantedScopes = [...organization.defaultMemberScopes, ...values.scopes, ...groupScopes]
    await requireGrantableMemberScopes(tx, path.orgId, grantedScopes)
    const now = tx.now()
    const emailKey = usernameKeyOf(values.email)
    const { accountId, issuerId, orgId } = path
    const user = { is: { ...userNotDeleted.user.is, usernameType: 'email', usernameKey: emailKey } }
    if ((await db.organizationMember.count({ where: { orgId, user } })) > 0) {
      throw conflict('The user with this email address is already a member of the organization.')
    }
    await db.organizationInvitation.updateMany({
      where: { orgId, emailKey, status: 'pending', expiresAt: { lte: now } },
      data: { status: 'expired', updatedAt: now },
    })
    if ((await db.organizationInvitation.count({ where: { orgId, emailKey, status: 'pending' } })) > 0) {
      throw conflict('This email address is already invited. Resend or revoke the existing invitation.')
    }
    const invitation = await db.organizationInvitation.create({
      data: {
        ...newRow('inv', now),
        accountId,
        issuerId,
        orgId,
        ...values,
        emailKey,
        tokenHash: sha256(token),
        status: 'pending',
        expiresAt: now + limits.invitationLifetime,
        createdBy: context.actor.id,
      },
    })
    await recordEvent(tx, 'organization.invitation.created', invitationEventSubject(invitation))
    await sendInvitationMail(tx, invitation, token)
    return { ...invitation, tokenPlain: token }
  })
}

/**
 * Sends an invitation again with a new token and a new lifetime. The old token becomes invalid.
 * @throws invalid_request if invitations are disabled or the invitation was accepted or revoked, insufficient_scope if
 *   the invitation gives scopes that the caller lacks, not_found, conflict if the address has another pending
 *   invitation
 */
export async function resendInvitation(context: Context, path: InvitationPath): Promise<InvitationWithToken> {
  const token = randomSecret()
  const organization = await requireOrganization(context, path)
  if (!organization.invitationEnabled)
    throw badRequest('Invitations are not enabled for this organization. Set invitation_enabled to true first.')
  try {
    const renewToken = async (row: OrganizationInvitation, tx: Context) => {
      if (row.status !== 'pending' && row.status !== 'expired') {
        throw badRequest(`Only a pending or expired invitation can be sent again. This invitation is ${row.status}.`)
      }
      // Sending an invitation again grants its scopes again, so the caller needs these scopes, as the creator did.
      const groups = await existingGroupsOf(tx, row)
      const grantedScopes = [
        ...organization.defaultMemberScopes,
        ...row.scopes,
        ...groups.flatMap((group) => group.scopes),
      ]
      await requireGrantableMemberScopes(tx, path.orgId, grantedScopes)
      return { status: 'pending', tokenHash: sha256(token), expiresAt: context.now() + limits.invitationLifetime }
    }
    const event = 'organization.invitation.resent'
    const sendMail = (tx: Context, row: OrganizationInvitation) => sendInvitationMail(tx, row, token)
    return { ...(await updateInvitationRow(context, path, event, renewToken, sendMail)), tokenPlain: token }
  } catch (error) {
    if (isDuplicate(error)) throw conflict('This email address has another pending invitation.')
    throw error
  }
}

/** Revokes an invitation permanently. Idempotent. @throws invalid_request if it was accepted, not_found */
export async function revokeInvitation(context: Context, path: InvitationPath): Promise<OrganizationInvitation> {
  const invitation = await getInvitation(context, path)
  if (invitation.status === 'revoked') return invitation
  return updateInvitationRow(context, path, 'organization.invitation.revoked', (row) => {
    if (row.status === 'accepted') throw badRequest('The invitation was already accepted. Remove the member instead.')
    return { status: 'revoked' }
  })
}

/** Returns the groups of an invitation that still exist. */
export const existingGroupsOf = ({ db }: Context, { orgId, groups }: OrganizationInvitation) =>
  db.organizationGroup.findMany({ where: { orgId, id: { in: groups } }, select: { id: true, scopes: true } })

/** Sends the invitation by email in the name of the issuer. The link contains the token. */
async function sendInvitationMail(tx: Context, invitation: OrganizationInvitation, token: string): Promise<void> {
  const { orgId, email, message } = invitation
  const { issuer, name, invitationMessage } = await tx.db.organization.findUniqueOrThrow({
    where: { id: orgId },
    include: { issuer: true },
  })
  const placeholders = {
    organization: name ?? displayNameOf(issuer),
    message: message ?? invitationMessage ?? '',
    days: String(limits.invitationLifetime / DAY),
  }
  const url = `${await preferredIssuerUrl(tx, invitation)}/invitation?token=${token}`
  await sendMessage(tx, issuer, { to: email, kind: 'invitation', placeholders, url }, limits.invitationLifetime)
}

function updateInvitationRow(
  context: Context,
  path: InvitationPath,
  type: EventType,
  change: (
    row: OrganizationInvitation,
    context: Context,
  ) =>
    | Prisma.OrganizationInvitationUncheckedUpdateManyInput
    | Promise<Prisma.OrganizationInvitationUncheckedUpdateManyInput>,
  afterUpdate?: (tx: Context, row: OrganizationInvitation) => Promise<void>,
): Promise<OrganizationInvitation> {
  return updateWithOptimisticLock<OrganizationInvitation, Prisma.OrganizationInvitationUncheckedUpdateManyInput>(
    context,
    {
      resourceName: 'invitation',
      table: 'organization_invitations',
      ifMatch: undefined,
      read: (tx) => findInvitation(tx, path),
      computeChanges: change,
      write: async (tx, version, data) =>
        (
          await tx.db.organizationInvitation.updateManyAndReturn({
            where: { id: path.invitationId, updatedAt: version },
            data,
          })
        )[0],
      afterWrite: async (tx, _, row) => {
        await recordEvent(tx, type, invitationEventSubject(row))
        await afterUpdate?.(tx, row)
      },
    },
  )
}

/** Event fields of an invitation, without its token. */
export const invitationEventSubject = ({ accountId, issuerId, orgId, id, email }: OrganizationInvitation) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'organization_invitation', id },
  data: { email },
})
