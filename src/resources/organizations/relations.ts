/** First pages below many parents at once, one query each, for DataLoader. */
import { type Page, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Organization, type OrganizationInvitation, sql, type User } from '../../platform/database.js'
import { newestFirst, older } from '../place.js'
import { counted, type Group } from './groups.js'
import { type Member, present, whole } from './members.js'

/** The newest organizations of several issuers. */
export async function organizationsOf(
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
  return issuerIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}

/**
 * The organizations that several users are members of, the latest joined first. There is no list to page on with, so the
 * next page is asked for here, of one user: the cursor is the id of a membership.
 * @throws invalid_request for another cursor
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
        where: older('mem', cursor),
        select: { id: true, organization: true },
        orderBy: newestFirst,
        take: limit + 1,
      },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.memberships]))
  return userIds.map((id) => {
    const page = pageOf(byId.get(id) ?? [], limit)
    return { ...page, data: page.data.map(({ organization }) => organization) }
  })
}

/** The newest members of several organizations. */
export async function membersOf(context: Context, orgIds: readonly string[], limit: number): Promise<Page<Member>[]> {
  const rows = await context.db.organization.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...orgIds] } },
    select: { id: true, members: { where: present, include: whole, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.members]))
  return orgIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}

/** The newest groups of several organizations. */
export async function groupsOf(context: Context, orgIds: readonly string[], limit: number): Promise<Page<Group>[]> {
  const rows = await context.db.organization.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...orgIds] } },
    select: { id: true, groups: { include: counted, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.groups]))
  return orgIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}

/** The newest invitations to several organizations. */
export async function invitationsOf(
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
  return orgIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}

/** The newest members of several groups. */
export async function membersOfGroups(
  context: Context,
  groupIds: readonly string[],
  limit: number,
): Promise<Page<Member>[]> {
  const firsts = await sql<{ group_id: string; id: string }>(context.db, ofGroupsText, [...groupIds], limit + 1)
  const where = { id: { in: firsts.map(({ id }) => id) } }
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where,
    include: whole,
    orderBy: newestFirst,
  })
  return groupIds.map((groupId) => {
    const ids = new Set(firsts.filter((row) => row.group_id === groupId).map(({ id }) => id))
    return pageOf(
      rows.filter(({ id }) => ids.has(id)),
      limit,
    )
  })
}

const ofGroupsText = `
  SELECT g.id AS group_id, newest.id FROM unnest($1::text[]) AS g(id) CROSS JOIN LATERAL (
    SELECT m.id FROM organization_group_members gm JOIN organization_members m ON m.id = gm.member_id
    JOIN users u ON u.id = m.user_id AND u.status NOT IN ('deleted', 'pending_deletion')
    WHERE gm.group_id = g.id ORDER BY gm.member_id DESC LIMIT $2::int) AS newest`

/** The users behind several memberships, with hashed usernames as in every list. */
export async function usersOf(context: Context, userIds: readonly string[]): Promise<(User | null)[]> {
  const rows = await context.db.user.findMany({ where: { id: { in: [...userIds] } } })
  const byId = new Map(rows.map((row) => [row.id, { ...row, username: row.usernameHash }]))
  return userIds.map((id) => byId.get(id) ?? null)
}
