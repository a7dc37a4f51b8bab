/**
 * Members of organizations (docs/contract.md#members). APIs identify a member by the user id. The effective scopes of
 * an active member are `default_member_scopes` of the organization, the scopes of the membership, and the scopes of the
 * groups of the member. A suspended member has none.
 */
import { ApiError, conflict, invalidFields, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput, checkMergedMetadata } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { type Organization, type Prisma, sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableMemberScopes } from '../authority.js'
import type { UpdateValues } from '../declaration.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { deletedUserStatuses, type InOrganization, lockOrganization, whereIssuerNotDeleted } from '../resource-path.js'
import { createRules, type MemberPath, type OrganizationMember, updateRules } from './member.js'

/** Prisma include: the groups and the organization, from which `effectiveScopes` reads. */
export const memberInclude = {
  groups: { select: { group: { select: { id: true, scopes: true } } }, orderBy: { groupId: 'asc' } },
  organization: { select: { defaultMemberScopes: true } },
} satisfies Prisma.OrganizationMemberInclude
export type Member = Prisma.OrganizationMemberGetPayload<{ include: typeof memberInclude }>

/**
 * Prisma filter that excludes deleted users and users whose deletion is pending. They are not visible and do not count
 * as members, although their memberships exist until the purge.
 */
export const userNotDeleted = { user: { is: { status: { notIn: deletedUserStatuses } } } }

export const groupIdsOf = (member: Member): string[] => member.groups.map(({ group }) => group.id)

/** Returns the effective scopes of a member, sorted; none while the member is suspended (docs/contract.md#groups). */
export function effectiveScopes({ status, scopes, groups, organization }: Member): string[] {
  if (status !== 'active') return []
  return [
    ...new Set([...organization.defaultMemberScopes, ...scopes, ...groups.flatMap(({ group }) => group.scopes)]),
  ].sort()
}

/** Returns the Prisma filter for the members of an organization. */
export const membersFilter = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationMemberWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: whereIssuerNotDeleted },
  ...userNotDeleted,
})

const findMember = (context: Context, path: MemberPath) =>
  context.db.organizationMember.findFirst({
    relationLoadStrategy: 'join',
    where: { ...membersFilter(path), userId: path.memberId },
    include: memberInclude,
  })

/** @throws not_found */
export async function getMember(context: Context, path: MemberPath): Promise<Member> {
  const member = await findMember(context, path)
  if (!member) throw notFound('member')
  return member
}

/**
 * Reads a member and locks its row until the transaction ends. Lock members before groups to avoid deadlocks.
 * @throws not_found
 */
export async function lockMember(context: Context, path: MemberPath): Promise<Member> {
  const { orgId, memberId } = path
  await sql(
    context.db,
    'SELECT id FROM organization_members WHERE org_id = $1 AND user_id = $2 FOR UPDATE',
    orgId,
    memberId,
  )
  return getMember(context, path)
}

/**
 * Adds a user of the issuer as a member.
 * @throws invalid_request for an unknown group, insufficient_scope if the member would get scopes that the caller
 *   lacks, not_found for an unknown user, conflict if the user is already a member or the organization is full
 */
export async function addMember(context: Context, path: InOrganization, input: unknown): Promise<Member> {
  const { memberId, ...values } = checkInput(createRules, input)
  return transaction(context, async (tx) => {
    const organization = await lockOrganization(tx, path)
    const { accountId, issuerId } = path
    const user = await tx.db.user.findFirst({
      where: { id: memberId, accountId, issuerId, status: { notIn: deletedUserStatuses } },
      select: { id: true },
    })
    if (!user) throw notFound('user')
    const member = await insertMember(tx, organization, user.id, values)
    await requireGrantableMemberScopes(tx, path.orgId, effectiveScopes(member))
    return member
  })
}

export class AlreadyMemberError extends ApiError {
  constructor() {
    super('conflict', 'This user is already a member of the organization.')
  }
}

/**
 * Creates a membership and its event without permission checks. Call it in the transaction that has created the
 * organization or locked its row, so that concurrent requests cannot exceed `max_members`.
 * @throws invalid_request for an unknown group, conflict if the user is already a member or the organization is full
 */
export async function insertMember(
  context: Context,
  organization: Organization,
  userId: string,
  values: UpdateValues<OrganizationMember>,
): Promise<Member> {
  const { groups = [], metadata = {}, ...columns } = values
  const { id: orgId, accountId, issuerId, maxMembers } = organization
  const path = { accountId, issuerId, orgId, memberId: userId }
  const existingCount = await context.db.organizationMember.count({ where: { orgId, userId } })
  if (existingCount > 0) throw new AlreadyMemberError()
  if (
    maxMembers !== null &&
    (await context.db.organizationMember.count({ where: { orgId, ...userNotDeleted } })) >= maxMembers
  ) {
    throw conflict(`The organization has reached its maximum of ${maxMembers} members.`)
  }
  const { id } = await context.db.organizationMember.create({
    data: {
      ...newRow('mem', context.now()),
      accountId,
      issuerId,
      orgId,
      userId,
      scopes: [],
      status: 'active',
      ...columns,
      metadata: metadata as Prisma.InputJsonObject,
    },
    select: { id: true },
  })
  if (groups.length > 0) await setGroups(context, path, id, groups)
  const member = await getMember(context, path)
  await recordEvent(context, 'organization.membership.created', {
    ...memberEventSubject(member),
    data: membershipEventData(member),
  })
  return member
}

/**
 * Updates a member. `metadata` is merged; scopes and groups are replaced. Suspension removes all scopes immediately
 * (docs/contract.md#states-and-transitions). Does not support If-Match (docs/contract.md#members).
 * @throws invalid_request for an unknown group, insufficient_scope, not_found
 */
export async function updateMember(context: Context, path: MemberPath, input: unknown): Promise<Member> {
  const { groups, metadata, ...values } = checkInput(updateRules, input)
  return updateWithOptimisticLock<Member, Prisma.OrganizationMemberUncheckedUpdateManyInput>(context, {
    resourceName: 'member',
    table: 'organization_members',
    ifMatch: undefined,
    read: (tx) => findMember(tx, path),
    computeChanges: (member) => ({
      ...values,
      ...(metadata && { metadata: checkMergedMetadata(member.metadata, metadata) as Prisma.InputJsonObject }),
    }),
    writesMore: (member) => groups !== undefined && !hasSameIds(groupIdsOf(member), groups),
    write: async (tx, version, data) => {
      const { orgId, memberId: userId } = path
      const before = await findMember(tx, path)
      const { count } = await tx.db.organizationMember.updateMany({
        where: { orgId, userId, updatedAt: version },
        data,
      })
      if (count === 0 || !before) return null
      if (groups) await setGroups(tx, path, before.id, groups)
      const member = await getMember(tx, path)
      // The comparison includes every cause of new effective scopes: own scopes, groups and reactivation.
      await requireGrantableMemberScopes(tx, orgId, effectiveScopes(member), effectiveScopes(before))
      return member
    },
    afterWrite: (tx, before, member) =>
      recordEvent(tx, 'organization.membership.updated', {
        ...memberEventSubject(member),
        changes: changesBetween('organization_membership', withGroupIds(before), withGroupIds(member)),
      }),
  })
}

/** Removes a member from the organization. The user stays. @throws not_found */
export async function removeMember(context: Context, path: MemberPath): Promise<void> {
  await transaction(context, async (tx) => {
    const member = await lockMember(tx, path)
    await bumpGroupVersions(tx, groupIdsOf(member))
    await tx.db.organizationMember.delete({ where: { id: member.id } })
    await recordEvent(tx, 'organization.membership.deleted', {
      ...memberEventSubject(member),
      data: membershipEventData(member),
    })
  })
}

/**
 * Returns the groups of an organization with these ids.
 * @throws invalid_request with an error for each id that is not the id of a group of the organization
 */
export async function requireGroups(
  { db }: Context,
  orgId: string,
  ids: string[],
): Promise<{ id: string; scopes: string[] }[]> {
  const where = { orgId, id: { in: ids } }
  const groups = await db.organizationGroup.findMany({ where, select: { id: true, scopes: true } })
  const message = 'must be the id of a group of this organization.'
  const details = ids.flatMap((id, index) =>
    groups.some((group) => group.id === id) ? [] : [{ field: `groups[${index}]`, code: 'unknown_group', message }],
  )
  if (details.length > 0) throw invalidFields(details)
  return groups
}

/** Replaces the groups of a member. @throws invalid_request for an unknown group */
async function setGroups(
  context: Context,
  { orgId }: InOrganization,
  memberId: string,
  groups: string[],
): Promise<void> {
  const { db } = context
  await requireGroups(context, orgId, groups)
  const before = await db.organizationGroupMember.findMany({ where: { memberId } })
  const removed = before.map(({ groupId }) => groupId).filter((id) => !groups.includes(id))
  const added = groups.filter((id) => !before.some(({ groupId }) => groupId === id))
  await bumpGroupVersions(context, [...removed, ...added])
  await db.organizationGroupMember.deleteMany({ where: { memberId, groupId: { in: removed } } })
  await db.organizationGroupMember.createMany({ data: added.map((groupId) => ({ groupId, memberId })) })
}

/**
 * Gives groups a new version, because their `member_count` changes. Locks the groups in id order to avoid deadlocks.
 */
export async function bumpGroupVersions(context: Context, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const locked = 'SELECT id FROM organization_groups WHERE id = ANY($1) ORDER BY id FOR UPDATE'
  await sql(context.db, locked, ids)
  await context.db.organizationGroup.updateMany({ where: { id: { in: ids } }, data: { updatedAt: context.now() } })
}

const hasSameIds = (before: readonly string[], after: readonly string[]): boolean =>
  before.every((id) => after.includes(id)) && after.every((id) => before.includes(id))

/** Returns a member with the ids of its groups, as `groups` in `/v1`. */
const withGroupIds = (member: Member) => ({ ...member, groups: groupIdsOf(member) })

/** Returns `data` of the events that `insertMember` and `removeMember` record. */
const membershipEventData = (member: Member) => {
  const { status, scopes, userTitle, metadata } = member
  return { status, scopes, groups: groupIdsOf(member), user_title: userTitle, metadata }
}

export const memberEventSubject = ({
  accountId,
  issuerId,
  orgId,
  userId,
}: Omit<Member, 'groups' | 'organization'>) => ({
  accountId,
  issuerId,
  orgId,
  userId,
  target: { type: 'organization_membership', id: userId },
})
