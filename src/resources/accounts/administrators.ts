/**
 * Who administers an account (decisions part 0, D6): its owner, who may do everything, and the members of its
 * administrator organization, who may do what their scopes say. That organization lies in the console issuer, as all
 * administrators do; its members are kept by the ordinary operations.
 */
import { ALL } from '../../kernel/scopes.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type Account, sql, type Tools, transaction } from '../../platform/database.js'
import { loader } from '../../platform/loader.js'
import { effectiveScopesSql } from '../authority.js'
import { consolePlace } from '../console-place.js'
import { countsSql } from '../organizations/membership.js'
import { insertOrganization } from '../organizations/organizations.js'
import type { InIssuer } from '../place.js'

/** SQL: what a user of the console issuer may do on an account `a`; null when it is nothing to it. */
export const authoritySql = (
  user: string,
): string => `CASE WHEN a.owner_user_id = ${user} THEN '{${ALL}}'::text[] ELSE (
    SELECT ${effectiveScopesSql} FROM organization_members m JOIN organizations o ON o.id = m.org_id
    WHERE m.org_id = a.admin_org_id AND m.user_id = ${user} AND ${countsSql}) END`

const authorityText = `
  SELECT a.id, a.system, ${authoritySql('$1')} AS scopes FROM accounts a WHERE a.id = ANY($2) OR a.system`

interface AuthorityRow {
  id: string
  system: boolean
  scopes: string[] | null
}

/** What a user may do on accounts, by account id, and on the system account, which makes it an operator elsewhere. */
export interface Authorities {
  on: ReadonlyMap<string, readonly string[]>
  system: readonly string[]
}

/** The authority of a user of the console issuer on these accounts, in one statement. Not cut by any token yet. */
export async function authoritiesOf(
  context: Context,
  userId: string,
  accountIds: readonly string[],
): Promise<Authorities> {
  const rows = await context.query<AuthorityRow & Record<string, unknown>>('account-authority', authorityText, [
    userId,
    accountIds,
  ])
  const known = rows.filter((row) => row.scopes !== null)
  return {
    on: new Map(known.map((row) => [row.id, row.scopes ?? []])),
    system: known.find((row) => row.system)?.scopes ?? [],
  }
}

const administeredText = `
  SELECT id FROM accounts WHERE owner_user_id = $1 UNION
  SELECT a.id FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN accounts a ON a.admin_org_id = o.id
  WHERE m.user_id = $1 AND ${countsSql}`

/**
 * The ids of the accounts that a user of the console issuer owns or administers: from the user to them, as among all
 * accounts the question would be asked of each.
 */
export async function administeredBy(context: Context, userId: string): Promise<string[]> {
  const rows = await context.query<{ id: string }>('administered-by', administeredText, [userId])
  return rows.map(({ id }) => id)
}

/** An administrator organization and who owns its account. */
export interface AdministratorOrganization {
  orgId: string
  ownerUserId: string | null
}

const adminOrgText = `
  SELECT admin_org_id AS "orgId", owner_user_id AS "ownerUserId" FROM accounts WHERE admin_org_id = ANY($1)`

/** The same for those of these ids that name one; null for the others. For DataLoader. */
async function administratorOrganizations(
  context: Context,
  orgIds: readonly string[],
): Promise<(AdministratorOrganization | null)[]> {
  const rows = await context.query<AdministratorOrganization & Record<string, unknown>>('admin-orgs', adminOrgText, [
    orgIds,
  ])
  return orgIds.map((id) => rows.find((row) => row.orgId === id) ?? null)
}

/** Is this the place of an administrator organization? They lie in the console issuer, so nowhere else is it asked. */
export async function administratorOrganization(
  context: Context,
  { accountId, issuerId, orgId }: { accountId: string; issuerId: string | undefined; orgId: string },
): Promise<AdministratorOrganization | null> {
  const place = await consoleIssuer(context)
  if (accountId !== place?.accountId || issuerId !== place.issuerId) return null
  return loader(context, administratorOrganizations).load(orgId)
}

/** How long a process relies on it (milliseconds): `gatehouse admin recover` may create another one. */
const KNOWN_FOR = 10 * SECOND

const consoles = new WeakMap<Tools, { place: InIssuer; until: number }>()

/** Where administrators sign in: the console issuer of the system account, once first start has made it. */
export async function consoleIssuer(context: Context): Promise<InIssuer | undefined> {
  const known = consoles.get(context.tools)
  if (known && known.until > context.now()) return known.place
  const value = await consolePlace(context)
  const place = value && { accountId: value.account_id, issuerId: value.issuer_id }
  // What a transaction has made may be undone yet.
  if (place && context.db === context.tools.prisma)
    consoles.set(context.tools, { place, until: context.now() + KNOWN_FOR })
  return place
}

/**
 * Makes the administrator organization of an account and links it. Call it in the transaction that makes the account,
 * or that finds one without.
 */
export async function giveAdministrators(context: Context, account: Account): Promise<Account> {
  const place = await consoleIssuer(context)
  if (!place) return account
  const name = `Administrators of ${account.name ?? account.id}`.slice(0, 200)
  const organization = await insertOrganization(context, place, { name, metadata: { account_id: account.id } }, null)
  const data = { adminOrgId: organization.id, updatedAt: context.now() }
  return context.db.account.update({ where: { id: account.id }, data })
}

/** How many accounts one transaction takes, so that none takes too long. */
const BATCH = 100

/**
 * Gives every account that has no administrator organization one. Each start does, for accounts older than this rule;
 * several processes may do it at once, for the rows are locked.
 */
export async function giveMissingAdministrators(context: Context): Promise<void> {
  if (!(await consoleIssuer(context))) return
  const text = `SELECT id FROM accounts WHERE admin_org_id IS NULL ORDER BY id LIMIT ${BATCH} FOR UPDATE`
  for (let count = BATCH; count === BATCH; ) {
    count = await transaction(context, async (inside) => {
      const rows = await sql<{ id: string }>(inside.db, text)
      const accounts = await inside.db.account.findMany({ where: { id: { in: rows.map((row) => row.id) } } })
      for (const account of accounts) await giveAdministrators(inside, account)
      return rows.length
    })
  }
}
