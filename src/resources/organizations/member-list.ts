/** Lists and searches the members of an organization (docs/contract.md#organization-endpoints). */
import { insufficientScope } from '../../kernel/errors.js'
import { idTimestamp } from '../../kernel/ids.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import { coversScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql } from '../../platform/postgres/database.js'
import {
  type InOrganization,
  newestFirst,
  requireOrganization,
  whereBelowCursor,
  whereOlderThanCursor,
} from '../resource-path.js'
import { notDeletedSql, searchConditions, searchPatterns } from '../users/listing.js'
import type { MemberFilter } from './member.js'
import { type Member, memberInclude, membersFilter } from './members.js'

interface ListedMembers extends MemberFilter {
  /** Only members of this group. */
  groupId?: string
}

/**
 * Lists members, newest first.
 * @throws insufficient_scope for a search without access to users, because the results would disclose the names of
 *   users; not_found for the organization, invalid_request for an invalid cursor or limit
 */
export async function listMembers(
  context: Context,
  path: InOrganization,
  filter: ListedMembers,
): Promise<Page<Member>> {
  const limit = checkPageLimit(filter)
  if (filter.search) requireUserReadScope(context, path)
  const scopeSources = filter.scope ? await findScopeSources(context, path, filter.scope) : undefined
  const found = filter.search
    ? await searchMembers(context, path, filter, filter.search, scopeSources, limit)
    : undefined
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where: {
      AND: [
        membersFilter(path),
        filter.status ? { status: filter.status } : {},
        scopeSources ? { status: 'active', ...effectiveScopeFilter(scopeSources) } : {},
        filter.groupId ? { groups: { some: { groupId: filter.groupId } } } : {},
        found ? { id: { in: found.slice(0, limit) } } : whereOlderThanCursor('mem', filter.cursor),
      ],
    },
    include: memberInclude,
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, path)
  if (!found) return toPage(rows, limit)
  const hasMore = found.length > limit
  return { data: rows, hasMore, nextCursor: hasMore ? found[limit - 1]! : null }
}

/**
 * Requires `issuers.users:read` without a restriction to organizations. Refuses users of the console issuer who are not
 * operators: the owner of an account can list the members of its administrator organization, but must not learn names
 * of users of the console issuer.
 */
function requireUserReadScope({ actor }: Context, { accountId }: InOrganization): void {
  const isOwner = actor.userId !== null && actor.issuerId === null && !actor.operator && actor.accountId === accountId
  const hasAccountAccess = actor.orgId === null && actor.orgIds === null && !isOwner
  const maySeeUsers = hasAccountAccess && coversScope(actor.scopes, 'issuers.users:read')
  if (!maySeeUsers) throw insufficientScope('issuers.users:read')
}

/** A branch of the UNION searches one field and returns at most one page, as in users/listing.ts. */
const searchBranch = (at: string): string => `(
  SELECT m.id, m.created_at FROM organization_members m JOIN users u ON u.id = m.user_id
  WHERE m.account_id = $1 AND m.issuer_id = $2 AND m.org_id = $3 AND u.account_id = $1 AND u.issuer_id = $2 AND ${notDeletedSql}
    AND (m.created_at, m.id) < ($7::bigint, $8) AND ($9::text IS NULL OR m.status = $9) AND ($10::text IS NULL
      OR EXISTS (SELECT FROM organization_group_members g WHERE g.member_id = m.id AND g.group_id = $10))
    AND ($11::text IS NULL OR (m.status = 'active' AND ($12::boolean OR m.scopes @> ARRAY[$11::text]
      OR EXISTS (SELECT FROM organization_group_members g WHERE g.member_id = m.id AND g.group_id = ANY($13::text[])))))
    AND ${at}
  ORDER BY m.created_at DESC, m.id DESC LIMIT $4)`
const searchText = `
  WITH found AS (${searchConditions.map(searchBranch).join(' UNION ')})
  SELECT id FROM found ORDER BY created_at DESC, id DESC LIMIT $4`

/**
 * Returns the ids of the memberships on a page, and one more if there are more pages. The statement is not prepared,
 * because the best plan depends on how many users match the search text.
 */
async function searchMembers(
  { db }: Context,
  { accountId, issuerId, orgId }: InOrganization,
  { status, groupId, cursor }: ListedMembers,
  text: string,
  scopeSources: ScopeSources | undefined,
  limit: number,
): Promise<string[]> {
  const last = whereBelowCursor('mem', cursor).id?.lt
  const values = [accountId, issuerId, orgId, limit + 1, ...searchPatterns(text)]
  const cursorValues = [last ? idTimestamp(last) : Number.MAX_SAFE_INTEGER, last ?? '', status ?? null, groupId ?? null]
  const { scope = null, isDefault = false, groupIds = [] } = scopeSources ?? {}
  const rows = await sql<{ id: string }>(db, searchText, ...values, ...cursorValues, scope, isDefault, groupIds)
  return rows.map(({ id }) => id)
}

/** From where members of an organization get an effective scope, besides their own scopes. */
interface ScopeSources {
  scope: string
  /** Whether each member gets the scope from `default_member_scopes` of the organization. */
  isDefault: boolean
  /** The groups with the scope. */
  groupIds: string[]
}

/**
 * Finds the sources of an effective scope. A separate statement reads the groups with the scope, because with a single
 * statement the planner would check the groups of all organizations or of each member.
 */
async function findScopeSources({ db }: Context, { orgId }: InOrganization, scope: string): Promise<ScopeSources> {
  const organization = await db.organization.findUnique({
    where: { id: orgId },
    select: { defaultMemberScopes: true, groups: { where: { scopes: { has: scope } }, select: { id: true } } },
  })
  return {
    scope,
    isDefault: organization?.defaultMemberScopes.includes(scope) ?? false,
    groupIds: organization?.groups.map(({ id }) => id) ?? [],
  }
}

/** Returns the filter for members with an effective scope. */
function effectiveScopeFilter({ scope, isDefault, groupIds }: ScopeSources): Prisma.OrganizationMemberWhereInput {
  if (isDefault) return {}
  const byGroup = groupIds.length > 0 ? [{ groups: { some: { groupId: { in: groupIds } } } }] : []
  return { OR: [{ scopes: { has: scope } }, ...byGroup] }
}
