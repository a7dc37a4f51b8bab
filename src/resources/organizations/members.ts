/**
 * Members of organizations (spec 2.9, 4.7, decisions D10, D11). The interface knows a member by its user id. What a
 * member may do is what the organization gives to all, what it was given itself and what its groups have.
 */
import { z } from 'zod'
import { ApiError, conflict, invalid, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, mergedMetadata, rules } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { type Organization, type Prisma, sql, transaction } from '../../platform/database.js'
import { mayGrantToMembers } from '../authority.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { type InOrganization, lockOrganization, ofLivingIssuer } from '../place.js'
import { revise } from '../revise.js'

export const memberStatuses = ['active', 'suspended'] as const
export type MemberStatus = (typeof memberStatuses)[number]

/** Which member of which organization; `memberId` is the user's id. */
export interface MemberPlace extends InOrganization {
  memberId: string
}

const fields = {
  scopes: rules.scopes.optional(),
  groups: z
    .array(rules.text(64), 'must be an array of group ids.')
    .max(200, 'must have at most 200 entries.')
    .transform((list) => [...new Set(list)])
    .optional(),
  userTitle: rules.text(200).nullable().optional(),
  metadata: rules.metadata.optional(),
  status: z.enum(memberStatuses, 'must be active or suspended.').optional(),
}
/** What an invitation can give as well. */
export const memberRules = { scopes: fields.scopes, groups: fields.groups }
const addRules = z.strictObject({ memberId: rules.text(64), ...fields })
const updateRules = z.strictObject(fields)

/** Everything that effective scopes are made of comes with the row. */
export const whole = {
  groups: { select: { group: { select: { id: true, scopes: true } } }, orderBy: { groupId: 'asc' } },
  organization: { select: { defaultMemberScopes: true } },
} satisfies Prisma.OrganizationMemberInclude
export type Member = Prisma.OrganizationMemberGetPayload<{ include: typeof whole }>

/** Users that the interface knows no more are no members either, until they are purged. */
const gone = ['deleted', 'pending_deletion']
export const present = { user: { is: { status: { notIn: gone } } } }

export const groupIdsOf = (member: Member): string[] => member.groups.map(({ group }) => group.id)

/** `default_member_scopes` ∪ its own ∪ its groups'; none while suspended (decisions D10). */
export function effectiveScopes({ status, scopes, groups, organization }: Member): string[] {
  if (status !== 'active') return []
  return [
    ...new Set([...organization.defaultMemberScopes, ...scopes, ...groups.flatMap(({ group }) => group.scopes)]),
  ].sort()
}

/** The WHERE of an organization's members. */
export const membersIn = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationMemberWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: ofLivingIssuer },
  ...present,
})

const find = (context: Context, place: MemberPlace) =>
  context.db.organizationMember.findFirst({
    relationLoadStrategy: 'join',
    where: { ...membersIn(place), userId: place.memberId },
    include: whole,
  })

/** @throws not_found */
export async function getMember(context: Context, place: MemberPlace): Promise<Member> {
  const member = await find(context, place)
  if (!member) throw notFound('member')
  return member
}

/** The same with the row locked until the transaction ends. Members are locked before groups, so that nobody deadlocks. */
export async function lockMember(context: Context, place: MemberPlace): Promise<Member> {
  const { orgId, memberId } = place
  await sql(
    context.db,
    'SELECT id FROM organization_members WHERE org_id = $1 AND user_id = $2 FOR UPDATE',
    orgId,
    memberId,
  )
  return getMember(context, place)
}

/**
 * Makes a user of the issuer a member.
 * @throws invalid_request for an unknown group, insufficient_scope when the member would get what the caller lacks,
 *   not_found for an unknown user, conflict when it is a member already or there is no room
 */
export async function addMember(context: Context, place: InOrganization, input: unknown): Promise<Member> {
  const { memberId, ...values } = check(addRules, input)
  return transaction(context, async (inside) => {
    const organization = await lockOrganization(inside, place)
    const { accountId, issuerId } = place
    const user = await inside.db.user.findFirst({
      where: { id: memberId, accountId, issuerId, status: { notIn: gone } },
      select: { id: true },
    })
    if (!user) throw notFound('user')
    const member = await insertMember(inside, organization, user.id, values)
    await mayGrantToMembers(inside, place.orgId, effectiveScopes(member))
    return member
  })
}

/** The conflict of somebody who comes in twice. */
export class AlreadyMember extends ApiError {
  constructor() {
    super('conflict', 'This user is a member of the organization already.')
  }
}

/**
 * Writes a membership and its event, if there is room. The organization's row is locked or new, which keeps
 * `max_members` under parallel calls. Asks nobody's permission: creators and invited people come this way too.
 * @throws invalid_request, conflict
 */
export async function insertMember(
  context: Context,
  organization: Organization,
  userId: string,
  values: z.infer<typeof updateRules>,
): Promise<Member> {
  const { id: orgId, accountId, issuerId, maxMembers } = organization
  const place = { accountId, issuerId, orgId, memberId: userId }
  const known = await context.db.organizationMember.count({ where: { orgId, userId } })
  if (known > 0) throw new AlreadyMember()
  if (
    maxMembers !== null &&
    (await context.db.organizationMember.count({ where: { orgId, ...present } })) >= maxMembers
  ) {
    throw conflict(`The organization has as many members as it may have (${maxMembers}).`)
  }
  const { id } = await context.db.organizationMember.create({
    data: {
      ...newRow('mem', context.now()),
      accountId,
      issuerId,
      orgId,
      userId,
      scopes: values.scopes ?? [],
      userTitle: values.userTitle ?? null,
      metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
      status: values.status ?? 'active',
    },
    select: { id: true },
  })
  if (values.groups?.length) await setGroups(context, place, id, values.groups)
  const member = await getMember(context, place)
  await emit(context, 'organization.membership.created', { ...aboutMember(member), data: told(member) })
  return member
}

/**
 * PATCH: metadata merged, scopes and groups replaced; suspending takes all of its scopes at once (spec section 3).
 * Takes no If-Match (decisions D11).
 * @throws invalid_request for an unknown group, insufficient_scope, not_found
 */
export async function updateMember(context: Context, place: MemberPlace, input: unknown): Promise<Member> {
  const { groups, metadata, ...values } = check(updateRules, input)
  return revise<Member, Prisma.OrganizationMemberUncheckedUpdateManyInput>(context, {
    what: 'member',
    table: 'organization_members',
    ifMatch: undefined,
    read: (now) => find(now, place),
    change: (member) => ({
      ...values,
      ...(metadata && { metadata: mergedMetadata(member.metadata, metadata) as Prisma.InputJsonObject }),
    }),
    write: async (now, version, data) => {
      const { orgId, memberId: userId } = place
      const before = await find(now, place)
      const { count } = await now.db.organizationMember.updateMany({
        where: { orgId, userId, updatedAt: version },
        data,
      })
      if (count === 0 || !before) return null
      if (groups) await setGroups(now, place, before.id, groups)
      const member = await getMember(now, place)
      // Whatever way the scopes come in: given, by a group, or by being active again.
      await mayGrantToMembers(now, orgId, effectiveScopes(member), effectiveScopes(before))
      return member
    },
    also: (inside, before, member) =>
      emit(inside, 'organization.membership.updated', {
        ...aboutMember(member),
        changes: changesBetween('organization_membership', withGroups(before), withGroups(member)),
      }),
  })
}

/** The user stays. @throws not_found */
export async function removeMember(context: Context, place: MemberPlace): Promise<void> {
  await transaction(context, async (inside) => {
    const member = await lockMember(inside, place)
    await touchGroups(inside, groupIdsOf(member))
    await inside.db.organizationMember.delete({ where: { id: member.id } })
    await emit(inside, 'organization.membership.deleted', { ...aboutMember(member), data: told(member) })
  })
}

/** These groups. @throws invalid_request naming those that the organization has not */
export async function knownGroups(
  { db }: Context,
  orgId: string,
  ids: string[],
): Promise<{ id: string; scopes: string[] }[]> {
  const where = { orgId, id: { in: ids } }
  const known = await db.organizationGroup.findMany({ where, select: { id: true, scopes: true } })
  const message = 'must be the id of a group of this organization.'
  const details = ids.flatMap((id, index) =>
    known.some((group) => group.id === id) ? [] : [{ field: `groups[${index}]`, code: 'unknown_group', message }],
  )
  if (details.length > 0) throw invalid(details)
  return known
}

/** Makes the groups of a member equal to these. @throws invalid_request for one that the organization has not */
async function setGroups(
  context: Context,
  { orgId }: InOrganization,
  memberId: string,
  groups: string[],
): Promise<void> {
  const { db } = context
  await knownGroups(context, orgId, groups)
  const before = await db.organizationGroupMember.findMany({ where: { memberId } })
  const left = before.map(({ groupId }) => groupId).filter((id) => !groups.includes(id))
  const joined = groups.filter((id) => !before.some(({ groupId }) => groupId === id))
  await touchGroups(context, [...left, ...joined])
  await db.organizationGroupMember.deleteMany({ where: { memberId, groupId: { in: left } } })
  await db.organizationGroupMember.createMany({ data: joined.map((groupId) => ({ groupId, memberId })) })
}

/** Their `member_count` changes, so their version does. In one order, so that two such changes do not block each other. */
export async function touchGroups(context: Context, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const locked = 'SELECT id FROM organization_groups WHERE id = ANY($1) ORDER BY id FOR UPDATE'
  await sql(context.db, locked, ids)
  await context.db.organizationGroup.updateMany({ where: { id: { in: ids } }, data: { updatedAt: context.now() } })
}

/** A membership as `/v1` shows it: groups by their ids. */
const withGroups = (member: Member) => ({ ...member, groups: groupIdsOf(member) })

/** What events tell of a membership that begins or ends. */
const told = (member: Member) => {
  const { status, scopes, userTitle, metadata } = member
  return { status, scopes, groups: groupIdsOf(member), user_title: userTitle, metadata }
}

export const aboutMember = ({ accountId, issuerId, orgId, userId }: Omit<Member, 'groups' | 'organization'>) => ({
  accountId,
  issuerId,
  orgId,
  userId,
  target: { type: 'organization_membership', id: userId },
})
