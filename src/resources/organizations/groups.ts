/**
 * Groups of an organization (docs/contract.md#groups): named, flat sets of members. The active members have the scopes
 * of the group.
 */
import { conflict, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableMemberScopes } from '../authority.js'
import { type Changes, changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import type { SearchablePageArgs } from '../graphql-types.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  deletedUserStatuses,
  type InOrganization,
  lockOrganization,
  newestFirst,
  requireOrganization,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import {
  addMemberRules,
  createRules,
  type GroupMemberFilter,
  type GroupMemberPath,
  type GroupPath,
  updateRules,
} from './group.js'
import { listMembers } from './member-list.js'
import { effectiveScopes, getMember, lockMember, type Member, memberEventSubject } from './members.js'

const memberNotDeleted = { member: { is: { user: { is: { status: { notIn: deletedUserStatuses } } } } } }
export const groupInclude = {
  _count: { select: { members: { where: memberNotDeleted } } },
} satisfies Prisma.OrganizationGroupInclude
export type Group = Prisma.OrganizationGroupGetPayload<{ include: typeof groupInclude }>

const groupFilter = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationGroupWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: whereIssuerNotDeleted },
})

/**
 * Lists groups, newest first. With `search`, lists those whose name begins with the text, or the one with this id,
 * sorted by name.
 */
export async function listGroups(
  context: Context,
  path: InOrganization,
  request: SearchablePageArgs,
): Promise<Page<Group>> {
  const limit = checkPageLimit(request)
  const { accountId, issuerId, orgId } = path
  const searchOptions = { table: 'organization_groups', prefix: 'grp', where: { accountId, issuerId, orgId } } as const
  const found = await searchNames(context, searchOptions, request.search, request)
  const rows = await context.db.organizationGroup.findMany({
    where: { AND: [groupFilter(path), found?.where ?? whereOlderThanCursor('grp', request.cursor)] },
    include: groupInclude,
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, path)
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

const findGroup = (context: Context, path: GroupPath) =>
  context.db.organizationGroup.findFirst({ where: { ...groupFilter(path), id: path.groupId }, include: groupInclude })

/** @throws not_found */
export async function getGroup(context: Context, path: GroupPath): Promise<Group> {
  const group = await findGroup(context, path)
  if (!group) throw notFound('group')
  return group
}

/** @throws invalid_request, insufficient_scope, not_found for the organization, conflict if the name is taken */
export async function createGroup(context: Context, path: InOrganization, input: unknown): Promise<Group> {
  const { metadata, ...values } = checkInput(createRules, input)
  await requireGrantableMemberScopes(context, path.orgId, values.scopes)
  return withNameConflict(() =>
    transaction(context, async (tx) => {
      const { accountId, issuerId, orgId } = path
      await lockOrganization(tx, path)
      const group = await tx.db.organizationGroup.create({
        data: {
          ...newRow('grp', tx.now()),
          accountId,
          issuerId,
          orgId,
          ...values,
          metadata: metadata as Prisma.InputJsonObject,
        },
        include: groupInclude,
      })
      await recordEvent(tx, 'organization.group.created', { ...groupEventSubject(group), data: { name: group.name } })
      return group
    }),
  )
}

/**
 * Updates a group. `metadata` is replaced (docs/contract.md#common-field-rules). A change of the scopes applies
 * immediately to all members of the group.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict if the name is taken
 */
export async function updateGroup(
  context: Context,
  path: GroupPath,
  input: unknown,
  ifMatch?: string | null,
): Promise<Group> {
  const { metadata, ...values } = checkInput(updateRules, input)
  return withNameConflict(() =>
    updateWithOptimisticLock<Group, Prisma.OrganizationGroupUncheckedUpdateManyInput>(context, {
      ...groupLockOptions(path, ifMatch),
      computeChanges: async (group, tx) => {
        await requireGrantableMemberScopes(tx, path.orgId, values.scopes ?? [], group.scopes)
        return { ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }
      },
      write: async (tx, version, data) => {
        const updated = await tx.db.organizationGroup.updateMany({
          where: { id: path.groupId, updatedAt: version },
          data,
        })
        return updated.count === 0 ? null : findGroup(tx, path)
      },
      afterWrite: (tx, before, group) =>
        recordEvent(tx, 'organization.group.updated', {
          ...groupEventSubject(group),
          changes: changesBetween('organization_group', before, group),
        }),
    }),
  )
}

/** Deletes a group. Its members stay in the organization. @throws not_found, precondition_failed */
export async function deleteGroup(context: Context, path: GroupPath, ifMatch?: string | null): Promise<void> {
  await updateWithOptimisticLock<Group, object>(context, {
    ...groupLockOptions(path, ifMatch),
    computeChanges: () => ({}),
    writesMore: () => true,
    write: async (tx, version) => {
      const { groupId } = path
      const lock = 'SELECT id FROM organization_groups WHERE id = $1 AND updated_at = $2 FOR UPDATE'
      if ((await sql(tx.db, lock, groupId, version)).length === 0) return null
      const group = await findGroup(tx, path)
      await bumpMemberVersions(tx, { groups: { some: { groupId } } })
      await tx.db.organizationGroup.delete({ where: { id: groupId } })
      return group
    },
    afterWrite: (tx, _, group) =>
      recordEvent(tx, 'organization.group.deleted', { ...groupEventSubject(group), data: { name: group.name } }),
  })
}

const groupLockOptions = (path: GroupPath, ifMatch: string | null | undefined) => ({
  resourceName: 'group',
  table: 'organization_groups' as const,
  ifMatch,
  read: (tx: Context) => findGroup(tx, path),
})

/** Lists the members of a group, newest first. @throws not_found, and the errors of `listMembers` */
export async function listGroupMembers(
  context: Context,
  path: GroupPath,
  filter: GroupMemberFilter,
): Promise<Page<Member>> {
  const page = await listMembers(context, path, { ...filter, groupId: path.groupId })
  if (page.data.length === 0) await getGroup(context, path)
  return page
}

/**
 * Adds a member to a group, which gives the member the scopes of the group.
 * @throws invalid_request, insufficient_scope, not_found for the group or if the user is not a member, conflict if the
 *   member is already in the group
 */
export async function addGroupMember(context: Context, path: GroupPath, input: unknown): Promise<Member> {
  const { memberId } = checkInput(addMemberRules, input)
  return changeGroupMembership(context, { ...path, memberId }, async (tx, before, isInGroup) => {
    if (isInGroup) throw conflict('This member is already in the group.')
    await tx.db.organizationGroupMember.create({ data: { groupId: path.groupId, memberId: before.id } })
  })
}

/** @throws not_found, also if the member is not in the group */
export async function removeGroupMember(context: Context, path: GroupMemberPath): Promise<void> {
  const { groupId } = path
  await changeGroupMembership(context, path, async (tx, before, isInGroup) => {
    if (!isInGroup) throw notFound('member of this group')
    await tx.db.organizationGroupMember.delete({ where: { groupId_memberId: { groupId, memberId: before.id } } })
  })
}

/**
 * Adds a member to a group or removes the member. Locks the row of the member, so that concurrent changes of the
 * member's groups are serialized. The member and the group get a new version.
 */
async function changeGroupMembership(
  context: Context,
  path: GroupMemberPath,
  change: (tx: Context, before: Member, isInGroup: boolean) => Promise<void>,
): Promise<Member> {
  const { groupId } = path
  return transaction(context, async (tx) => {
    await getGroup(tx, path)
    const before = await lockMember(tx, path)
    await change(
      tx,
      before,
      before.groups.some(({ group }) => group.id === groupId),
    )
    await bumpMemberVersions(tx, { id: before.id })
    await tx.db.organizationGroup.update({ where: { id: groupId }, data: { updatedAt: tx.now() } })
    const member = await getMember(tx, path)
    await requireGrantableMemberScopes(tx, path.orgId, effectiveScopes(member), effectiveScopes(before))
    const groupIdsOfMember = (row: Member) => row.groups.map(({ group }) => group.id)
    const changes: Changes = { groups: { old: groupIdsOfMember(before), new: groupIdsOfMember(member) } }
    await recordEvent(tx, 'organization.membership.updated', { ...memberEventSubject(member), changes })
    return member
  })
}

/** Gives members a new version, because their `groups` change. */
async function bumpMemberVersions(context: Context, where: Prisma.OrganizationMemberWhereInput): Promise<void> {
  await context.db.organizationMember.updateMany({ where, data: { updatedAt: context.now() } })
}

const groupEventSubject = ({ accountId, issuerId, orgId, id }: Group) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'organization_group', id },
})

async function withNameConflict<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isDuplicate(error)) throw conflict('The organization already has a group with this name.')
    throw error
  }
}
