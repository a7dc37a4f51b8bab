/**
 * Invitations to an organization that has `invitation_enabled`: an address, what its owner will get, and a token that
 * works once and for seven days. Whoever comes with the token is let in, so only its SHA-256 is kept.
 */
import { z } from 'zod'
import { badRequest, conflict, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type OrganizationInvitation, type Prisma, transaction } from '../../platform/database.js'
import { randomSecret, sha256 } from '../../platform/secrets.js'
import { mayGrantToMembers } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { homeUrl } from '../issuer-url.js'
import { nameOf, sendMessage } from '../messages/messages.js'
import {
  type InOrganization,
  lockOrganization,
  newestFirst,
  ofLivingIssuer,
  older,
  requireOrganization,
} from '../place.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'
import { isEmail, usernameKeyOf } from '../users/usernames.js'
import { knownGroups, memberRules, present } from './members.js'

/** How long an invitation can be accepted (milliseconds). */
export const INVITATION_LIFE = 7 * DAY

export const invitationStatuses = ['pending', 'accepted', 'revoked', 'expired'] as const
export type InvitationStatus = (typeof invitationStatuses)[number]

export interface InvitationPlace extends InOrganization {
  invitationId: string
}

const createRules = z.strictObject({
  email: rules
    .text(254)
    .trim()
    .refine(isEmail, { error: 'must be an email address.', params: { code: 'invalid_format' } }),
  scopes: memberRules.scopes,
  groups: memberRules.groups,
  message: rules.text(2000).nullable().optional(),
})

export interface InvitationWithToken {
  invitation: OrganizationInvitation
  /** Shown once. */
  token: string
}

/** `expired` is read off the clock. */
export function invitationStatus(context: Context, { status, expiresAt }: OrganizationInvitation): InvitationStatus {
  return status === 'pending' && expiresAt <= context.now() ? 'expired' : (status as InvitationStatus)
}

const where = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationInvitationWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: ofLivingIssuer },
})

/** Newest first; with `search` by the beginning of an address, in the order of addresses. */
export async function listInvitations(
  context: Context,
  place: InOrganization,
  filter: { status?: string | null; search?: string | null },
  request: PageRequest,
): Promise<Page<OrganizationInvitation>> {
  const limit = limitOf(request)
  const { accountId, issuerId, orgId } = place
  const names = {
    table: 'organization_invitations',
    prefix: 'inv',
    key: 'email_key',
    where: { accountId, issuerId, orgId },
  } as const
  const found = await searchNames(context, { ...names, ...statusSql(context, filter.status) }, filter.search, request)
  const rows = await context.db.organizationInvitation.findMany({
    where: {
      AND: [where(place), statusFilter(context, filter.status), found?.where ?? older('inv', request.cursor)],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, place)
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

function statusFilter(context: Context, status: string | null | undefined): Prisma.OrganizationInvitationWhereInput {
  if (!status) return {}
  if (status === 'pending') return { status, expiresAt: { gt: context.now() } }
  if (status === 'expired') return { OR: [{ status }, { status: 'pending', expiresAt: { lte: context.now() } }] }
  return { status }
}

/** The same as `statusFilter`, as SQL. */
function statusSql(context: Context, status: string | null | undefined): { and?: string } {
  const over = `expires_at <= ${context.now()}`
  if (!status) return {}
  if (status === 'pending') return { and: `status = 'pending' AND NOT ${over}` }
  if (status === 'expired') return { and: `(status = 'expired' OR status = 'pending' AND ${over})` }
  return { and: `status = '${status === 'accepted' ? 'accepted' : 'revoked'}'` }
}

const find = (context: Context, place: InvitationPlace) =>
  context.db.organizationInvitation.findFirst({ where: { ...where(place), id: place.invitationId } })

/** @throws not_found */
export async function getInvitation(context: Context, place: InvitationPlace): Promise<OrganizationInvitation> {
  const invitation = await find(context, place)
  if (!invitation) throw notFound('invitation')
  return invitation
}

/**
 * Invites an address; the token is in the answer and nowhere else.
 * @throws invalid_request where invitations are off or for an unknown group, insufficient_scope when the invited one
 *   would get what the caller lacks, not_found, conflict when the address is invited or a member already
 */
export async function createInvitation(
  context: Context,
  place: InOrganization,
  input: unknown,
): Promise<InvitationWithToken> {
  const { email, scopes = [], groups = [], message } = check(createRules, input)
  const token = randomSecret()
  return transaction(context, async (inside) => {
    const { db } = inside
    const organization = await lockOrganization(inside, place)
    if (!organization.invitationEnabled) throw badRequest('Invitations are not enabled for this organization.')
    const known = await knownGroups(inside, place.orgId, groups)
    const given = [...organization.defaultMemberScopes, ...scopes, ...known.flatMap((group) => group.scopes)]
    await mayGrantToMembers(inside, place.orgId, given)
    const now = inside.now()
    const emailKey = usernameKeyOf(email)
    const { accountId, issuerId, orgId } = place
    const user = { is: { ...present.user.is, usernameType: 'email', usernameKey: emailKey } }
    if ((await db.organizationMember.count({ where: { orgId, user } })) > 0) {
      throw conflict('The user of this address is a member of the organization already.')
    }
    await db.organizationInvitation.updateMany({
      where: { orgId, emailKey, status: 'pending', expiresAt: { lte: now } },
      data: { status: 'expired', updatedAt: now },
    })
    if ((await db.organizationInvitation.count({ where: { orgId, emailKey, status: 'pending' } })) > 0) {
      throw conflict('This address is invited already; send that invitation again or revoke it.')
    }
    const invitation = await db.organizationInvitation.create({
      data: {
        ...newRow('inv', now),
        accountId,
        issuerId,
        orgId,
        email,
        emailKey,
        scopes,
        groups,
        message: message ?? null,
        tokenHash: sha256(token),
        status: 'pending',
        expiresAt: now + INVITATION_LIFE,
        createdBy: context.actor.id,
      },
    })
    await emit(inside, 'organization.invitation.created', about(invitation))
    await mail(inside, invitation, token)
    return { invitation, token }
  })
}

/**
 * A new token and seven new days; the token before works no more.
 * @throws invalid_request once it was accepted or revoked, not_found, conflict when the address was invited anew
 */
export async function resendInvitation(context: Context, place: InvitationPlace): Promise<InvitationWithToken> {
  const token = randomSecret()
  const organization = await requireOrganization(context, place)
  if (!organization.invitationEnabled) throw badRequest('Invitations are not enabled for this organization.')
  try {
    const renew = async (row: OrganizationInvitation, now: Context) => {
      if (row.status !== 'pending' && row.status !== 'expired') {
        throw badRequest(`Only an open invitation can be sent again; this one is ${row.status}.`)
      }
      // What it gives was granted by whoever made it; renewing it is granting it anew.
      const groups = await groupsLeft(now, row)
      const given = [...organization.defaultMemberScopes, ...row.scopes, ...groups.flatMap((group) => group.scopes)]
      await mayGrantToMembers(now, place.orgId, given)
      return { status: 'pending', tokenHash: sha256(token), expiresAt: context.now() + INVITATION_LIFE }
    }
    const event = 'organization.invitation.resent'
    const also = (inside: Context, row: OrganizationInvitation) => mail(inside, row, token)
    return { invitation: await reviseInvitation(context, place, event, renew, also), token }
  } catch (error) {
    if (isDuplicate(error)) throw conflict('This address has another open invitation.')
    throw error
  }
}

/** For good; repeating it changes nothing. @throws invalid_request once it was accepted, not_found */
export async function revokeInvitation(context: Context, place: InvitationPlace): Promise<OrganizationInvitation> {
  const invitation = await getInvitation(context, place)
  if (invitation.status === 'revoked') return invitation
  return reviseInvitation(context, place, 'organization.invitation.revoked', (row) => {
    if (row.status === 'accepted') throw badRequest('The invitation was accepted; remove the member instead.')
    return { status: 'revoked' }
  })
}

/** Those of its groups that there still are. */
export const groupsLeft = ({ db }: Context, { orgId, groups }: OrganizationInvitation) =>
  db.organizationGroup.findMany({ where: { orgId, id: { in: groups } }, select: { id: true, scopes: true } })

/** The invitation on its way: the link holds the token. In the name of the organization's issuer. */
async function mail(inside: Context, invitation: OrganizationInvitation, token: string): Promise<void> {
  const { orgId, email, message } = invitation
  const { issuer, name, invitationMessage } = await inside.db.organization.findUniqueOrThrow({
    where: { id: orgId },
    include: { issuer: true },
  })
  const places = {
    organization: name ?? nameOf(issuer),
    message: message ?? invitationMessage ?? '',
    days: String(INVITATION_LIFE / DAY),
  }
  const url = `${await homeUrl(inside, invitation)}/invitation?token=${token}`
  await sendMessage(inside, issuer, { to: email, kind: 'invitation', places, url }, INVITATION_LIFE)
}

function reviseInvitation(
  context: Context,
  place: InvitationPlace,
  type: EventType,
  change: (
    row: OrganizationInvitation,
    context: Context,
  ) =>
    | Prisma.OrganizationInvitationUncheckedUpdateManyInput
    | Promise<Prisma.OrganizationInvitationUncheckedUpdateManyInput>,
  also?: (inside: Context, row: OrganizationInvitation) => Promise<void>,
): Promise<OrganizationInvitation> {
  return revise<OrganizationInvitation, Prisma.OrganizationInvitationUncheckedUpdateManyInput>(context, {
    what: 'invitation',
    table: 'organization_invitations',
    ifMatch: undefined,
    read: (now) => find(now, place),
    change,
    write: async (now, version, data) =>
      (
        await now.db.organizationInvitation.updateManyAndReturn({
          where: { id: place.invitationId, updatedAt: version },
          data,
        })
      )[0],
    also: async (inside, _, row) => {
      await emit(inside, type, about(row))
      await also?.(inside, row)
    },
  })
}

/** What events tell of an invitation; nothing of its token. */
export const about = ({ accountId, issuerId, orgId, id, email }: OrganizationInvitation) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'organization_invitation', id },
  data: { email },
})
