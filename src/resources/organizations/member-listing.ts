/** The list of an organization's members (spec 4.7): one walk along an index. */
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import type { Prisma } from '../../platform/database.js'
import { type InOrganization, newestFirst, older, requireOrganization } from '../place.js'
import { type Member, membersIn, whole } from './members.js'

/** Newest first. `scope` is an effective one, also when it comes from the organization or a group. */
export async function listMembers(
  context: Context,
  place: InOrganization,
  filter: { status?: string | null; scope?: string | null; groupId?: string },
  request: PageRequest,
): Promise<Page<Member>> {
  const limit = limitOf(request)
  const rows = await context.db.organizationMember.findMany({
    relationLoadStrategy: 'join',
    where: {
      AND: [
        membersIn(place),
        filter.status ? { status: filter.status } : {},
        filter.scope ? { status: 'active', ...(await withScope(context, place, filter.scope)) } : {},
        filter.groupId ? { groups: { some: { groupId: filter.groupId } } } : {},
        older('mem', request.cursor),
      ],
    },
    include: whole,
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireOrganization(context, place)
  return pageOf(rows, limit)
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
