/**
 * Authority cannot grow (docs/security.md, "Authority"): no operation leaves its caller with more reach than it began
 * with. Reach is what the caller may do itself, together with everyone it can sign in as and everything that it can read
 * by way of what it set up. So granting a scope, changing a credential and weakening how people sign in each ask for the
 * scopes that the caller would gain by it.
 */
import { insufficientScope } from '../kernel/errors.js'
import { ALL, covers, isPlatformScope, lackedBy } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { isOfConsole } from './console-place.js'
import { goneUser } from './place.js'

/** SQL: the effective scopes of a member `m`, of an organization `o`, whatever their state. */
export const effectiveScopesSql = `ARRAY(
    SELECT unnest(o.default_member_scopes) UNION SELECT unnest(m.scopes) UNION
    SELECT unnest(g.scopes) FROM organization_group_members gm JOIN organization_groups g ON g.id = gm.group_id
    WHERE gm.member_id = m.id ORDER BY 1)`

/** @throws insufficient_scope */
export function requireScope({ actor }: Context, scope: string): void {
  if (!covers(actor.scopes, scope)) throw insufficientScope(scope)
}

/** The platform scopes among these that those before do not cover. */
export const addedTo = (before: readonly string[], scopes: readonly string[]): string[] =>
  scopes.filter((scope) => isPlatformScope(scope) && !covers(before, scope))

/**
 * Refuses to grant platform scopes that the caller does not hold. A tenant's own scopes open nothing here and pass.
 * Only what is added counts: less of what was there before is for everybody to give.
 * @param before the scopes that the principal has already
 * @throws insufficient_scope
 */
export function mayGrant(context: Context, scopes: readonly string[], before: readonly string[] = []): void {
  for (const scope of addedTo(before, scopes)) requireScope(context, scope)
}

/**
 * The same for what members of an organization are given. Members of an administrator organization act on the whole
 * account that it administers, so there the caller may not be bound to an organization or to some issuers.
 * @throws insufficient_scope
 */
export async function mayGrantToMembers(
  context: Context,
  orgId: string,
  scopes: readonly string[],
  before: readonly string[] = [],
): Promise<void> {
  mayGrant(context, scopes, before)
  const { orgId: ownOrgId, issuerIds, orgIds } = context.actor
  if (ownOrgId === null && issuerIds === null && orgIds === null) return
  const [added] = addedTo(before, scopes)
  if (added === undefined || !(await isAdministratorOrganization(context, orgId))) return
  throw insufficientScope(
    added,
    `Members of this organization have ${added} on a whole account; you have it in a part only.`,
  )
}

/**
 * Full authority on the account that the operation is about: `svc:all`, and none of the restrictions of decisions D8.
 * @throws insufficient_scope
 */
export function requireFullAuthority({ actor }: Context): void {
  const { scopes, issuerId, orgId, issuerIds, orgIds, ipAllowlist } = actor
  const restricted = [issuerId, orgId, issuerIds, orgIds, ipAllowlist].some((bound) => bound !== null)
  if (!covers(scopes, ALL)) throw insufficientScope(ALL)
  if (restricted) throw insufficientScope(ALL, `This needs the scope ${ALL} without restrictions.`)
}

/** A scope among $3 that a user holds: its own, or by a membership, whatever the state of the user or the membership. */
const ofUserText = `
  SELECT scope FROM (
    SELECT unnest(u.scopes) AS scope FROM users u WHERE u.id = $1 AND u.issuer_id = $2
    UNION ALL
    SELECT unnest(${effectiveScopesSql}) FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.user_id = $1 AND m.issuer_id = $2
  ) AS held WHERE scope = ANY($3::text[]) LIMIT 1`

/**
 * Asks the caller to cover the authority of a user. Changing a credential of the user calls it, because with the
 * credential comes the user's authority. A credential is a verifier and whatever leads to one: username, mail address,
 * `email_verified`, an upstream identity, the removal of a second factor (decisions D30). Users of the console issuer own
 * and administer accounts, so their credentials ask for full authority.
 * @throws insufficient_scope naming a scope that the user holds and the caller lacks
 */
export async function requireAuthorityOfUser(
  context: Context,
  { id, issuerId }: { id: string; issuerId: string },
): Promise<void> {
  await requireAuthorityOver(context, issuerId, 'authority-of-user', ofUserText, [id, issuerId])
}

/** A scope among $2 that a user or a member of an issuer holds. Rows without scopes are left out by partial indexes. */
const ofIssuerText = `
  SELECT scope FROM (
    SELECT unnest(u.scopes) AS scope FROM users u
    WHERE u.issuer_id = $1 AND u.scopes <> '{}' AND u.scopes && $2::text[] AND u.status <> ALL('{${goneUser.join(',')}}')
    UNION ALL
    SELECT unnest(m.scopes) FROM organization_members m
    WHERE m.issuer_id = $1 AND m.scopes <> '{}' AND m.scopes && $2::text[]
    UNION ALL
    SELECT unnest(o.default_member_scopes) FROM organizations o
    WHERE o.issuer_id = $1 AND o.default_member_scopes && $2::text[]
      AND EXISTS (SELECT 1 FROM organization_members m WHERE m.org_id = o.id)
    UNION ALL
    SELECT unnest(g.scopes) FROM organization_groups g
    WHERE g.issuer_id = $1 AND g.scopes <> '{}' AND g.scopes && $2::text[]
      AND EXISTS (SELECT 1 FROM organization_group_members gm WHERE gm.group_id = g.id)
  ) AS held WHERE scope = ANY($2::text[]) LIMIT 1`

/**
 * Asks the caller to cover every platform scope that any user or member of an issuer holds. Whatever changes how all of
 * them sign in calls it: a weaker `security` or `signup` setting, a federated method, the end of a second factor, the
 * host that links in mails lead to.
 * @throws insufficient_scope naming a scope that the caller lacks
 */
export async function requireAuthorityOfIssuer(context: Context, issuerId: string): Promise<void> {
  await requireAuthorityOver(context, issuerId, 'authority-of-issuer', ofIssuerText, [issuerId])
}

/** A scope among $2 that a client or an agent of an issuer has, which come back with it. */
const ofProgramsText = `
  SELECT scope FROM (
    SELECT jsonb_array_elements_text(c.settings->'scopes') AS scope FROM clients c
    WHERE c.issuer_id = $1 AND c.status = 'active'
    UNION ALL
    SELECT unnest(a.scopes) FROM agents a WHERE a.issuer_id = $1 AND a.status = 'active'
  ) AS held WHERE scope = ANY($2::text[]) LIMIT 1`

/**
 * Asks the caller to cover every platform scope in an issuer: of its users, members, clients and agents. All of them act
 * again when it is enabled again.
 * @throws insufficient_scope naming a scope that the caller lacks
 */
export async function requireAuthorityOfAllIn(context: Context, issuerId: string): Promise<void> {
  await requireAuthorityOfIssuer(context, issuerId)
  await requireAuthorityOver(context, issuerId, 'authority-of-programs', ofProgramsText, [issuerId])
}

/** A scope among $2 that a member of an organization has there, or an API key of it. One without scopes has all. */
const ofOrganizationText = `
  SELECT scope FROM (
    SELECT unnest(${effectiveScopesSql}) AS scope FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.org_id = $1
    UNION ALL
    SELECT jsonb_array_elements_text(coalesce(k.restrictions->'scopes', '["${ALL}"]')) FROM api_keys k
    WHERE k.org_id = $1 AND k.status <> 'revoked'
  ) AS held WHERE scope = ANY($2::text[]) LIMIT 1`

/**
 * Asks the caller to cover every platform scope that a member or an API key has by an organization.
 * @throws insufficient_scope naming a scope that the caller lacks
 */
export async function requireAuthorityOfOrganization(
  context: Context,
  { id, issuerId }: { id: string; issuerId: string },
): Promise<void> {
  await requireAuthorityOver(context, issuerId, 'authority-of-organization', ofOrganizationText, [id])
}

/**
 * Asks for full authority where an issuer is the console's, whose users own and administer accounts.
 * @throws insufficient_scope
 */
export async function requireAuthorityAtConsole(context: Context, issuerId: string): Promise<void> {
  if (await isOfConsole(context, 'issuer_id', issuerId)) requireFullAuthority(context)
}

async function requireAuthorityOver(
  context: Context,
  issuerId: string,
  name: string,
  text: string,
  values: string[],
): Promise<void> {
  if (await isOfConsole(context, 'issuer_id', issuerId)) return requireFullAuthority(context)
  const lacked = lackedBy(context.actor.scopes)
  if (lacked.length === 0) return
  const [held] = await context.query<{ scope: string }>(name, text, [...values, lacked])
  if (held) {
    throw insufficientScope(
      held.scope,
      `This needs the scope ${held.scope}, because this credential or setting lets someone act with it.`,
    )
  }
}

async function isAdministratorOrganization(context: Context, orgId: string): Promise<boolean> {
  return (await context.db.account.count({ where: { adminOrgId: orgId } })) > 0
}
