/** Queries for DataLoaders: first pages of nested lists for many parents, and organizations and users by id. */
import { type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Organization, type OrganizationInvitation, sql, type User } from '../../platform/postgres/database.js'
import {
  type InOrganization,
  newestFirst,
  whereBelowCursor,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { type Group, groupInclude } from './groups.js'
import { type Member, memberInclude, userNotDeleted } from './members.js'

/** Returns the path of an organization. */
export const pathOf = ({ accountId, issuerId, id }: Organization): InOrganization => ({
  accountId,
  issuerId,
  orgId: id,
})

/** Loads the newest organizations of several issuers. */
export async function newestOrganizationsOf(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<Organization>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, organizations: { orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.organizations]))
  return issuerIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/**
 * Loads the organizations of several users, latest joined first. The API has no other list of these organizations, so a
 * caller that asks for a single user can pass a cursor (the id of a membership) to read further pages.
 * @throws invalid_request for an invalid cursor
 */
export async function organizationsOfUsers(
  context: Context,
  userIds: readonly string[],
  limit: number,
  cursor?: string | null,
): Promise<Page<Organization>[]> {
  const rows = await context.db.user.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...userIds] } },
    select: {
      id: true,
      memberships: {
        where: whereOlderThanCursor('mem', cursor),
        select: { id: true, organization: true },
        orderBy: newestFirst,
        take: limit + 1,
      },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.memberships]))
  return userIds.map((id) => {
    const page = toPage(byId.get(id) ?? [], limit)
    return { ...page, data: page.data.map(({ organization }) => organization) }
  })
}

/** Loads the newest members of several organizations. */
export async function newestMembersOf(
  context: Context,
  orgIds: readonly string[],
  limit: number,
): Promise<Page<Member>[]> {
  const rows = await context.db.organization.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...orgIds] } },
    select: {
      id: true,
      members: { where: userNotDeleted, include: memberInclude, orderBy: newestFirst, take: limit + 1 },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.members]))
  return orgIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Loads the newest groups of several organizations. */
export async function newestGroupsOf(
  context: Context,
  orgIds: readonly string[],
  limit: number,
): Promise<Page<Group>[]> {
  const rows = await context.db.organization.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...orgIds] } },
    select: { id: true, groups: { include: groupInclude, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.groups]))
  return orgIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Loads the newest invitations of several organizations. */
export async function newestInvitationsOf(
  context: Context,
  orgIds: readonly string[],
  limit: number,
): Promise<Page<OrganizationInvitation>[]> {
  const rows = await context.db.organization.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...orgIds] } },
    select: { id: true, invitations: { orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.invitations]))
  return orgIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Loads the newest members of several groups. */
export async function newestMembersOfGroups(
  context: Context,
  groupIds: readonly string[],
  limit: number,
): Promise<Page<Member>[]> {
  const firstMembers = await sql<{ group_id: string; id: string }>(
    context.db,
    membersOfGroupsText,
    [...groupIds],
    limit + 1,
  )
  const where = { id: { in: firstMembers.map(({ id }) => id) } }
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where,
    include: memberInclude,
    orderBy: newestFirst,
  })
  return groupIds.map((groupId) => {
    const ids = new Set(firstMembers.filter((row) => row.group_id === groupId).map(({ id }) => id))
    return toPage(
      rows.filter(({ id }) => ids.has(id)),
      limit,
    )
  })
}

const membersOfGroupsText = `
  SELECT g.id AS group_id, newest.id FROM unnest($1::text[]) AS g(id) CROSS JOIN LATERAL (
    SELECT m.id FROM organization_group_members gm JOIN organization_members m ON m.id = gm.member_id
    JOIN users u ON u.id = m.user_id AND u.status NOT IN ('deleted', 'pending_deletion')
    WHERE gm.group_id = g.id ORDER BY gm.member_id DESC LIMIT $2::int) AS newest`

/**
 * Loads the groups of several members, newest first. A caller that asks for a single member can pass a cursor (the id of
 * a group) to read further pages.
 * @param memberIds ids of memberships
 * @throws invalid_request for an invalid cursor
 */
export async function groupsOfMembers(
  context: Context,
  memberIds: readonly string[],
  limit: number,
  cursor?: string | null,
): Promise<Page<Group>[]> {
  const { id: groupId } = whereBelowCursor('grp', cursor)
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...memberIds] } },
    select: {
      id: true,
      groups: {
        where: groupId ? { groupId } : {},
        select: { group: { include: groupInclude } },
        orderBy: { groupId: 'desc' },
        take: limit + 1,
      },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.groups.map(({ group }) => group)]))
  return memberIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Loads organizations by id; null for an unknown id, and for an organization of a deleted issuer. */
export async function organizationsById(context: Context, orgIds: readonly string[]): Promise<(Organization | null)[]> {
  const where = { id: { in: [...orgIds] }, ...whereIssuerNotDeleted }
  const byId = new Map((await context.db.organization.findMany({ where })).map((row) => [row.id, row]))
  return orgIds.map((id) => byId.get(id) ?? null)
}

/** Loads users by id, with hashed usernames as in all lists; null for an unknown id. */
export async function usersOf(context: Context, userIds: readonly string[]): Promise<(User | null)[]> {
  const rows = await context.db.user.findMany({ where: { id: { in: [...userIds] } } })
  const byId = new Map(rows.map((row) => [row.id, { ...row, username: row.usernameHash }]))
  return userIds.map((id) => byId.get(id) ?? null)
}
