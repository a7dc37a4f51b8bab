/** Groups of an organization (decisions D10): a named set of members whose scopes they all have. Flat. */
import { z } from 'zod'
import { conflict, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type Prisma, sql, transaction } from '../../platform/database.js'
import { mayGrantToMembers } from '../authority.js'
import { emit } from '../events/events.js'
import { type Changes, changesBetween } from '../events/names.js'
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
import { listMembers } from './member-listing.js'
import { aboutMember, effectiveScopes, getMember, lockMember, type Member, type MemberPlace } from './members.js'

export interface GroupPlace extends InOrganization {
  groupId: string
}

const createRules = z.strictObject({
  name: rules.name,
  description: rules.description.optional(),
  scopes: rules.scopes.optional(),
  metadata: rules.metadata.optional(),
})
const updateRules = createRules.partial()

const present = { member: { is: { user: { is: { status: { notIn: ['deleted', 'pending_deletion'] } } } } } }
export const counted = { _count: { select: { members: { where: present } } } } satisfies Prisma.OrganizationGroupInclude
export type Group = Prisma.OrganizationGroupGetPayload<{ include: typeof counted }>

const where = ({ accountId, issuerId, orgId }: InOrganization): Prisma.OrganizationGroupWhereInput => ({
  accountId,
  issuerId,
  orgId,
  organization: { is: ofLivingIssuer },
})

/** Newest first; with `search` by the beginning of a name, in the order of names. */
export async function listGroups(
  context: Context,
  place: InOrganization,
  request: PageRequest & { search?: string | null },
): Promise<Page<Group>> {
  const limit = limitOf(request)
  const { accountId, issuerId, orgId } = place
  const names = { table: 'organization_groups', prefix: 'grp', where: { accountId, issuerId, orgId } } as const
  const found = await searchNames(context, names, request.search, request)
  const rows = await context.db.organizationGroup.findMany({
    where: { AND: [where(place), found?.where ?? older('grp', request.cursor)] },
    include: counted,
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, place)
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

const find = (context: Context, place: GroupPlace) =>
  context.db.organizationGroup.findFirst({ where: { ...where(place), id: place.groupId }, include: counted })

/** @throws not_found */
export async function getGroup(context: Context, place: GroupPlace): Promise<Group> {
  const group = await find(context, place)
  if (!group) throw notFound('group')
  return group
}

/** @throws invalid_request, insufficient_scope, not_found for the organization, conflict for a taken name */
export async function createGroup(context: Context, place: InOrganization, input: unknown): Promise<Group> {
  const values = check(createRules, input)
  await mayGrantToMembers(context, place.orgId, values.scopes ?? [])
  return withTakenName(() =>
    transaction(context, async (inside) => {
      const { accountId, issuerId, orgId } = place
      await lockOrganization(inside, place)
      const group = await inside.db.organizationGroup.create({
        data: {
          ...newRow('grp', inside.now()),
          accountId,
          issuerId,
          orgId,
          name: values.name,
          description: values.description ?? null,
          scopes: values.scopes ?? [],
          metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        },
        include: counted,
      })
      await emit(inside, 'organization.group.created', { ...aboutGroup(group), data: { name: group.name } })
      return group
    }),
  )
}

/**
 * PATCH; metadata is replaced (decisions D27). Scopes count for all of its members at once.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict for a taken name
 */
export async function updateGroup(
  context: Context,
  place: GroupPlace,
  input: unknown,
  ifMatch?: string | null,
): Promise<Group> {
  const { metadata, ...values } = check(updateRules, input)
  return withTakenName(() =>
    revise<Group, Prisma.OrganizationGroupUncheckedUpdateManyInput>(context, {
      ...reading(place, ifMatch),
      change: async (group, inside) => {
        await mayGrantToMembers(inside, place.orgId, values.scopes ?? [], group.scopes)
        return { ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }
      },
      write: async (now, version, data) => {
        const written = await now.db.organizationGroup.updateMany({
          where: { id: place.groupId, updatedAt: version },
          data,
        })
        return written.count === 0 ? null : find(now, place)
      },
      also: (inside, before, group) =>
        emit(inside, 'organization.group.updated', {
          ...aboutGroup(group),
          changes: changesBetween('organization_group', before, group),
        }),
    }),
  )
}

/** Its members stay members of the organization. @throws not_found, precondition_failed */
export async function deleteGroup(context: Context, place: GroupPlace, ifMatch?: string | null): Promise<void> {
  await revise<Group, object>(context, {
    ...reading(place, ifMatch),
    change: () => ({}),
    write: async (now, version) => {
      const { groupId } = place
      const lock = 'SELECT id FROM organization_groups WHERE id = $1 AND updated_at = $2 FOR UPDATE'
      if ((await sql(now.db, lock, groupId, version)).length === 0) return null
      const group = await find(now, place)
      await touchMembers(now, { groups: { some: { groupId } } })
      await now.db.organizationGroup.delete({ where: { id: groupId } })
      return group
    },
    also: (inside, _, group) =>
      emit(inside, 'organization.group.deleted', { ...aboutGroup(group), data: { name: group.name } }),
  })
}

const reading = (place: GroupPlace, ifMatch: string | null | undefined) => ({
  what: 'group',
  table: 'organization_groups' as const,
  ifMatch,
  read: (now: Context) => find(now, place),
})

/** The members that are in a group, newest first. @throws not_found */
export async function listGroupMembers(
  context: Context,
  place: GroupPlace,
  request: PageRequest & { search?: string | null },
): Promise<Page<Member>> {
  const { search = null } = request
  const page = await listMembers(context, place, { groupId: place.groupId, search }, request)
  if (page.data.length === 0) await getGroup(context, place)
  return page
}

/**
 * Puts a member into a group, and so gives it the group's scopes.
 * @throws insufficient_scope, not_found for a user who is no member, conflict when it is in the group already
 */
export async function addGroupMember(context: Context, place: GroupPlace, input: unknown): Promise<Member> {
  const { memberId } = check(z.strictObject({ memberId: rules.text(64) }), input)
  return changeMembership(context, { ...place, memberId }, async (inside, before, within) => {
    if (within) throw conflict('This member is in the group already.')
    await inside.db.organizationGroupMember.create({ data: { groupId: place.groupId, memberId: before.id } })
  })
}

/** @throws not_found also for a member who is not in the group */
export async function removeGroupMember(context: Context, place: GroupPlace & MemberPlace): Promise<void> {
  const { groupId } = place
  await changeMembership(context, place, async (inside, before, within) => {
    if (!within) throw notFound('member of this group')
    await inside.db.organizationGroupMember.delete({ where: { groupId_memberId: { groupId, memberId: before.id } } })
  })
}

/** The member is locked, so that two who add the same one take turns; both rows get a new version. */
async function changeMembership(
  context: Context,
  place: GroupPlace & MemberPlace,
  change: (inside: Context, before: Member, within: boolean) => Promise<void>,
): Promise<Member> {
  const { groupId } = place
  return transaction(context, async (inside) => {
    await getGroup(inside, place)
    const before = await lockMember(inside, place)
    await change(
      inside,
      before,
      before.groups.some(({ group }) => group.id === groupId),
    )
    await touchMembers(inside, { id: before.id })
    await inside.db.organizationGroup.update({ where: { id: groupId }, data: { updatedAt: inside.now() } })
    const member = await getMember(inside, place)
    await mayGrantToMembers(inside, place.orgId, effectiveScopes(member), effectiveScopes(before))
    const groupsOf = (row: Member) => row.groups.map(({ group }) => group.id)
    const changes: Changes = { groups: { old: groupsOf(before), new: groupsOf(member) } }
    await emit(inside, 'organization.membership.updated', { ...aboutMember(member), changes })
    return member
  })
}

/** Their `groups` change, so their version does. */
async function touchMembers(context: Context, where: Prisma.OrganizationMemberWhereInput): Promise<void> {
  await context.db.organizationMember.updateMany({ where, data: { updatedAt: context.now() } })
}

const aboutGroup = ({ accountId, issuerId, orgId, id }: Group) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'organization_group', id },
})

async function withTakenName<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isDuplicate(error)) throw conflict('The organization has a group of this name already.')
    throw error
  }
}
