/**
 * Prevents privilege escalation (docs/contract.md#authority-for-changes): no operation gives its caller more authority.
 * The authority of a caller includes the authority of every principal that the caller can sign in as, and everything
 * that the caller can read. Therefore granting a scope, changing a credential and weakening a sign-in setting require
 * the scopes that the caller would gain.
 */
import { insufficientScope } from '../kernel/errors.js'
import { ALL_SCOPES, coversScope, isPlatformScope, missingScopes } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { isConsoleResource } from './console-path.js'
import { deletedUserStatuses } from './resource-path.js'

/** SQL: the effective scopes of the member `m` of the organization `o`. Checks the status of neither. */
export const effectiveScopesSql = `ARRAY(
    SELECT unnest(o.default_member_scopes) UNION SELECT unnest(m.scopes) UNION
    SELECT unnest(g.scopes) FROM organization_group_members gm JOIN organization_groups g ON g.id = gm.group_id
    WHERE gm.member_id = m.id ORDER BY 1)`

/** @throws insufficient_scope if the caller does not have the scope */
export function requireScope({ actor }: Context, scope: string): void {
  if (!coversScope(actor.scopes, scope)) throw insufficientScope(scope)
}

/** Returns the platform scopes in `scopes` that `before` does not cover. */
export const addedPlatformScopes = (before: readonly string[], scopes: readonly string[]): string[] =>
  scopes.filter((scope) => isPlatformScope(scope) && !coversScope(before, scope))

/**
 * Refuses to grant platform scopes that the caller does not have. Scopes that a tenant defines for its own services are
 * not checked. Removing scopes is always allowed.
 * @param before the scopes that the principal already has
 * @throws insufficient_scope
 */
export function requireGrantableScopes(
  context: Context,
  scopes: readonly string[],
  before: readonly string[] = [],
): void {
  for (const scope of addedPlatformScopes(before, scopes)) requireScope(context, scope)
}

/**
 * Like `requireGrantableScopes`, for members of an organization. Members of an administrator organization have their
 * scopes on the whole account that the organization administers. Therefore a caller that is restricted to issuers or
 * organizations, such as an API key of an organization, cannot add platform scopes to such members.
 * @throws insufficient_scope
 */
export async function requireGrantableMemberScopes(
  context: Context,
  orgId: string,
  scopes: readonly string[],
  before: readonly string[] = [],
): Promise<void> {
  requireGrantableScopes(context, scopes, before)
  const { orgId: ownOrgId, issuerIds, orgIds } = context.actor
  if (ownOrgId === null && issuerIds === null && orgIds === null) return
  const [added] = addedPlatformScopes(before, scopes)
  if (added === undefined || !(await isAdministratorOrganization(context, orgId))) return
  throw insufficientScope(
    added,
    `Members of this organization get ${added} on a whole account, but your credential is restricted to issuers or organizations.`,
  )
}

/**
 * Requires the scope `svc:all` without restrictions (docs/contract.md#restrictions-of-keys-and-tokens).
 * @throws insufficient_scope
 */
export function requireFullAuthority({ actor }: Context): void {
  const { scopes, issuerId, orgId, issuerIds, orgIds, ipAllowlist } = actor
  const restricted = [issuerId, orgId, issuerIds, orgIds, ipAllowlist].some((bound) => bound !== null)
  if (!coversScope(scopes, ALL_SCOPES)) throw insufficientScope(ALL_SCOPES)
  if (restricted) throw insufficientScope(ALL_SCOPES, `This requires the scope ${ALL_SCOPES} without restrictions.`)
}

/** Selects a scope in $3 that a user has, directly or through a membership. Checks no status. */
const userScopeText = `
  SELECT scope FROM (
    SELECT unnest(u.scopes) AS scope FROM users u WHERE u.id = $1 AND u.issuer_id = $2
    UNION ALL
    SELECT unnest(${effectiveScopesSql}) FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.user_id = $1 AND m.issuer_id = $2
  ) AS held WHERE scope = ANY($3::text[]) LIMIT 1`

/**
 * Requires the caller to have every platform scope of a user. Call it before a change with which the caller could sign
 * in as the user: a change of a verifier, the username, the email address, `email_verified` or an upstream identity, or
 * the removal of a second factor. Also call it before the user is approved or reactivated, and before a session of the
 * user is reactivated (docs/contract.md#authority-for-changes). Users of the console issuer can own and administer
 * accounts, so for them the caller needs full authority.
 * @throws insufficient_scope
 */
export async function requireAuthorityOfUser(
  context: Context,
  { id, issuerId }: { id: string; issuerId: string },
): Promise<void> {
  await requireCoveredScopes(context, issuerId, 'authority-of-user', userScopeText, [id, issuerId])
}

/** Selects a scope in $2 that a user or a member of an issuer has. The conditions on `scopes` match partial indexes. */
const issuerScopeText = `
  SELECT scope FROM (
    SELECT unnest(u.scopes) AS scope FROM users u
    WHERE u.issuer_id = $1 AND u.scopes <> '{}' AND u.scopes && $2::text[] AND u.status <> ALL('{${deletedUserStatuses.join(',')}}')
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
 * Requires the caller to have every platform scope that a user or a member of an issuer has. Call it before a change of
 * how all users of the issuer sign in: a weaker `security` or `signup` setting, a federated method, a second factor
 * that is no longer used, the host of the links in mails. For the console issuer, the caller needs full authority.
 * @throws insufficient_scope
 */
export async function requireAuthorityOfIssuer(context: Context, issuerId: string): Promise<void> {
  await requireCoveredScopes(context, issuerId, 'authority-of-issuer', issuerScopeText, [issuerId])
}

/** Selects a scope in $2 that an active client or agent of an issuer has. */
const clientAndAgentScopeText = `
  SELECT scope FROM (
    SELECT jsonb_array_elements_text(c.settings->'scopes') AS scope FROM clients c
    WHERE c.issuer_id = $1 AND c.status = 'active'
    UNION ALL
    SELECT unnest(a.scopes) FROM agents a WHERE a.issuer_id = $1 AND a.status = 'active'
  ) AS held WHERE scope = ANY($2::text[]) LIMIT 1`

/**
 * Requires the caller to have every platform scope of the users, members, clients and agents of an issuer. Call it
 * before an issuer is enabled again, because all of these principals can then authenticate again. For the console
 * issuer, the caller needs full authority.
 * @throws insufficient_scope
 */
export async function requireAuthorityOfAllPrincipals(context: Context, issuerId: string): Promise<void> {
  await requireAuthorityOfIssuer(context, issuerId)
  await requireCoveredScopes(context, issuerId, 'authority-of-clients-and-agents', clientAndAgentScopeText, [issuerId])
}

/**
 * Selects a scope in $2 that a member or an API key of an organization has. An API key whose restrictions contain no
 * list of scopes has all scopes.
 */
const organizationScopeText = `
  SELECT scope FROM (
    SELECT unnest(${effectiveScopesSql}) AS scope FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.org_id = $1
    UNION ALL
    SELECT jsonb_array_elements_text(coalesce(k.restrictions->'scopes', '["${ALL_SCOPES}"]')) FROM api_keys k
    WHERE k.org_id = $1 AND k.status <> 'revoked'
  ) AS held WHERE scope = ANY($2::text[]) LIMIT 1`

/**
 * Requires the caller to have every platform scope that a member or an API key has through an organization. For an
 * organization of the console issuer, the caller needs full authority.
 * @throws insufficient_scope
 */
export async function requireAuthorityOfOrganization(
  context: Context,
  { id, issuerId }: { id: string; issuerId: string },
): Promise<void> {
  await requireCoveredScopes(context, issuerId, 'authority-of-organization', organizationScopeText, [id])
}

/**
 * Requires full authority if the issuer is the console issuer, because its users own and administer accounts.
 * @throws insufficient_scope
 */
export async function requireFullAuthorityIfConsoleIssuer(context: Context, issuerId: string): Promise<void> {
  if (await isConsoleResource(context, 'issuer_id', issuerId)) requireFullAuthority(context)
}

async function requireCoveredScopes(
  context: Context,
  issuerId: string,
  name: string,
  text: string,
  values: string[],
): Promise<void> {
  if (await isConsoleResource(context, 'issuer_id', issuerId)) return requireFullAuthority(context)
  const uncoveredScopes = missingScopes(context.actor.scopes)
  if (uncoveredScopes.length === 0) return
  const [uncovered] = await context.query<{ scope: string }>(name, text, [...values, uncoveredScopes])
  if (uncovered) {
    throw insufficientScope(
      uncovered.scope,
      `This requires the scope ${uncovered.scope}, because the change gives access to a principal that has this scope.`,
    )
  }
}

async function isAdministratorOrganization(context: Context, orgId: string): Promise<boolean> {
  return (await context.db.account.count({ where: { adminOrgId: orgId } })) > 0
}
