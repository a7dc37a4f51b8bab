/**
 * Administrators of accounts (docs/contract.md#account-creation-and-administrators): the owner of an account, who has
 * all scopes, and the members of its administrator organization, who have the scopes of their membership. Administrator
 * organizations belong to the console issuer, and their members are managed with the operations for all organizations.
 */
import { limits } from '../../kernel/limits.js'
import { ALL_SCOPES } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type Account, type DatabaseHandle, sql } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { effectiveScopesSql } from '../authority.js'
import { consolePath } from '../console-path.js'
import { activeMembershipSql } from '../organizations/membership.js'
import { insertOrganization } from '../organizations/organizations.js'
import type { InIssuer } from '../resource-path.js'

/**
 * Returns the SQL expression for the scopes of a user of the console issuer on the account `a`. It is NULL if the user
 * is neither the owner nor an administrator of the account.
 * @param user SQL expression for the id of the user
 */
export const authoritySql = (
  user: string,
): string => `CASE WHEN a.owner_user_id = ${user} THEN '{${ALL_SCOPES}}'::text[] ELSE (
    SELECT ${effectiveScopesSql} FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.org_id = a.admin_org_id AND m.user_id = ${user} AND ${activeMembershipSql}) END`

const authorityText = `
  SELECT a.id, a.system, ${authoritySql('$1')} AS scopes FROM accounts a WHERE a.id = ANY($2) OR a.system`

interface AuthorityRow {
  id: string
  system: boolean
  scopes: string[] | null
}

/** The scopes of a user of the console issuer. */
export interface Authorities {
  /** The scopes on each account, by account id. Accounts on which the user has none are missing. */
  byAccount: ReadonlyMap<string, readonly string[]>
  /** The scopes on the system account, which can make the user an operator. */
  system: readonly string[]
}

/**
 * Returns the scopes of a user of the console issuer on these accounts and on the system account. The caller limits
 * them to the `scope` of the user's token.
 */
export async function authoritiesOf(
  context: Context,
  userId: string,
  accountIds: readonly string[],
): Promise<Authorities> {
  const rows = await context.query<AuthorityRow & Record<string, unknown>>('account-authority', authorityText, [
    userId,
    accountIds,
  ])
  const authorized = rows.filter((row) => row.scopes !== null)
  return {
    byAccount: new Map(authorized.map((row) => [row.id, row.scopes ?? []])),
    system: authorized.find((row) => row.system)?.scopes ?? [],
  }
}

const administeredText = `
  SELECT id FROM accounts WHERE owner_user_id = $1 UNION
  SELECT a.id FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN accounts a ON a.admin_org_id = o.id
  WHERE m.user_id = $1 AND ${activeMembershipSql}`

/**
 * Returns the ids of the accounts that a user of the console issuer owns or administers. The query starts from the
 * user's memberships, so its cost does not grow with the number of accounts.
 */
export async function administeredAccountIds(context: Context, userId: string): Promise<string[]> {
  const rows = await context.query<{ id: string }>('administered-by', administeredText, [userId])
  return rows.map(({ id }) => id)
}

/** An administrator organization and the owner of its account. */
export interface AdministratorOrganization {
  orgId: string
  ownerUserId: string | null
}

const adminOrgText = `
  SELECT admin_org_id AS "orgId", owner_user_id AS "ownerUserId" FROM accounts WHERE admin_org_id = ANY($1)`

/** Loads the administrator organizations with these ids; null for ids of other organizations. For DataLoader. */
async function loadAdministratorOrganizations(
  context: Context,
  orgIds: readonly string[],
): Promise<(AdministratorOrganization | null)[]> {
  const rows = await context.query<AdministratorOrganization & Record<string, unknown>>('admin-orgs', adminOrgText, [
    orgIds,
  ])
  return orgIds.map((id) => rows.find((row) => row.orgId === id) ?? null)
}

/** Returns the administrator organization with this path; null for any other organization. */
export async function findAdministratorOrganization(
  context: Context,
  { accountId, issuerId, orgId }: { accountId: string; issuerId: string | undefined; orgId: string },
): Promise<AdministratorOrganization | null> {
  const issuerPath = await findConsoleIssuer(context)
  if (accountId !== issuerPath?.accountId || issuerId !== issuerPath.issuerId) return null
  return loader(context, loadAdministratorOrganizations).load(orgId)
}

const consoleIssuerCache = new WeakMap<DatabaseHandle, { issuerPath: InIssuer; expiresAt: number }>()

/**
 * Returns the path of the console issuer, at which administrators sign in; undefined before the first start has created
 * the issuer.
 */
export async function findConsoleIssuer(context: Context): Promise<InIssuer | undefined> {
  const cached = consoleIssuerCache.get(context.database)
  if (cached && cached.expiresAt > context.now()) return cached.issuerPath
  const value = await consolePath(context)
  const issuerPath = value && { accountId: value.account_id, issuerId: value.issuer_id }
  // An issuer that was read in a transaction is not cached, because the transaction may be rolled back.
  if (issuerPath && context.db === context.database.prisma)
    consoleIssuerCache.set(context.database, {
      issuerPath,
      expiresAt: context.now() + limits.consoleIssuerCacheLifetime,
    })
  return issuerPath
}

/**
 * Creates the administrator organization of an account and stores its id in the account. Call it in the transaction
 * that creates the account, or that locks an account without an administrator organization.
 * @returns the updated account; the unchanged account before the first start has created the console issuer
 */
export async function createAdministratorOrganization(context: Context, account: Account): Promise<Account> {
  const issuerPath = await findConsoleIssuer(context)
  if (!issuerPath) return account
  const name = `Administrators of ${account.name ?? account.id}`.slice(0, 200)
  const organization = await insertOrganization(
    context,
    issuerPath,
    { name, metadata: { account_id: account.id } },
    null,
  )
  const data = { adminOrgId: organization.id, updatedAt: context.now() }
  return context.db.account.update({ where: { id: account.id }, data })
}

/**
 * Creates the administrator organizations of accounts from older versions that have none. Runs at each start. The rows
 * of the accounts are locked, so that concurrent runs do not create two for one account.
 */
export async function createMissingAdministratorOrganizations(context: Context): Promise<void> {
  if (!(await findConsoleIssuer(context))) return
  const text = `SELECT id FROM accounts WHERE admin_org_id IS NULL ORDER BY id LIMIT ${limits.administratorOrganizationBatchSize} FOR UPDATE`
  for (let count = limits.administratorOrganizationBatchSize; count === limits.administratorOrganizationBatchSize; ) {
    count = await transaction(context, async (tx) => {
      const rows = await sql<{ id: string }>(tx.db, text)
      const accounts = await tx.db.account.findMany({ where: { id: { in: rows.map((row) => row.id) } } })
      for (const account of accounts) await createAdministratorOrganization(tx, account)
      return rows.length
    })
  }
}
