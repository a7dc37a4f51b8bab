/** The list of an organization's members (spec 4.7), one walk along an index, and the search among them. */
import { insufficientScope } from '../../kernel/errors.js'
import { timeOf } from '../../kernel/ids.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { covers } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql } from '../../platform/database.js'
import { after, type InOrganization, newestFirst, older, requireOrganization } from '../place.js'
import { beginnings, live, places } from '../users/listing.js'
import { type Member, membersIn, whole } from './members.js'

interface MemberFilter {
  status?: string | null
  /** An effective one, also when it comes from the organization or a group. */
  scope?: string | null
  groupId?: string
  /** The beginning of the user's username, name or email address. */
  search?: string | null
}

/**
 * Newest first.
 * @throws insufficient_scope for a search by who may not see users: what is found would tell their names
 */
export async function listMembers(
  context: Context,
  place: InOrganization,
  filter: MemberFilter,
  request: PageRequest,
): Promise<Page<Member>> {
  const limit = limitOf(request)
  if (filter.search) mustSeeUsers(context, place)
  const found = filter.search ? await search(context, place, filter, filter.search, request, limit) : undefined
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where: {
      AND: [
        membersIn(place),
        filter.status ? { status: filter.status } : {},
        filter.scope ? { status: 'active', ...(await withScope(context, place, filter.scope)) } : {},
        filter.groupId ? { groups: { some: { groupId: filter.groupId } } } : {},
        found ? { id: { in: found.slice(0, limit) } } : older('mem', request.cursor),
      ],
    },
    include: whole,
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, place)
  if (!found) return pageOf(rows, limit)
  const hasMore = found.length > limit
  return { data: rows, hasMore, nextCursor: hasMore ? found[limit - 1]! : null }
}

/** Of their own organization at the console issuer, owners see who is a member, and nothing of the users there. */
function mustSeeUsers({ actor }: Context, { accountId }: InOrganization): void {
  const isOwner = actor.userId !== null && actor.issuerId === null && !actor.operator && actor.accountId === accountId
  const reaches = actor.orgId === null && actor.orgIds === null && !isOwner
  const sees = reaches && covers(actor.scopes, 'issuers.users:read')
  if (!sees) throw insufficientScope('issuers.users:read')
}

/** Of each place the page's worth is enough, as with users. */
const branch = (at: string): string => `(
  SELECT m.id, m.created_at FROM organization_members m JOIN users u ON u.id = m.user_id
  WHERE m.account_id = $1 AND m.issuer_id = $2 AND m.org_id = $3 AND u.account_id = $1 AND u.issuer_id = $2 AND ${live}
    AND (m.created_at, m.id) < ($7::bigint, $8) AND ($9::text IS NULL OR m.status = $9) AND ($10::text IS NULL
      OR EXISTS (SELECT FROM organization_group_members g WHERE g.member_id = m.id AND g.group_id = $10)) AND ${at}
  ORDER BY m.created_at DESC, m.id DESC LIMIT $4)`
const searchText = `
  WITH found AS (${places.map(branch).join(' UNION ')})
  SELECT id FROM found ORDER BY created_at DESC, id DESC LIMIT $4`

/** Planned anew each time: how many users begin like that decides whether they or the members are read. */
async function search(
  { db }: Context,
  { accountId, issuerId, orgId }: InOrganization,
  { status, groupId }: MemberFilter,
  text: string,
  { cursor }: PageRequest,
  limit: number,
): Promise<string[]> {
  const last = after('mem', cursor).id?.lt
  const values = [accountId, issuerId, orgId, limit + 1, ...beginnings(text)]
  const from = [last ? timeOf(last) : Number.MAX_SAFE_INTEGER, last ?? '', status ?? null, groupId ?? null]
  const rows = await sql<{ id: string }>(db, searchText, ...values, ...from)
  return rows.map(({ id }) => id)
}

/**
 * Who has an effective scope. Where it comes from is asked first: as conditions of one statement the planner would try
 * the groups of all organizations, or each member's.
 */
async function withScope({ db }: Context, { orgId }: InOrganization, scope: string) {
  const organization = await db.organization.findUnique({
    where: { id: orgId },
    select: { defaultMemberScopes: true, groups: { where: { scopes: { has: scope } }, select: { id: true } } },
  })
  if (organization?.defaultMemberScopes.includes(scope)) return {}
  const groups = organization?.groups.map(({ id }) => id) ?? []
  const byGroup = groups.length > 0 ? [{ groups: { some: { groupId: { in: groups } } } }] : []
  return { OR: [{ scopes: { has: scope } }, ...byGroup] } satisfies Prisma.OrganizationMemberWhereInput
}
