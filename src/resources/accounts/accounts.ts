/** Accounts (docs/contract.md#accounts): the top-level resource. In the API, only operators can create them. */
import { invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Account, type Domain, type Prisma, sql } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireFullAuthority } from '../authority.js'
import { hasDomains, setDomains } from '../domains/domains.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { insertApiKey } from '../keys/api-keys.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { activePaymentMethodFlagsOf } from '../payments/payment-methods.js'
import { requireRecentSignIn } from '../recent-sign-in.js'
import { type InAccount, whereBelowCursor } from '../resource-path.js'
import { searchNames } from '../search.js'
import { type BillingMode, createRules, updateRules } from './account.js'
import { administeredAccountIds, createAdministratorOrganization, findConsoleIssuer } from './administrators.js'

/** An account with relations that are read in the same statement (`accountQuery`). */
export interface AccountWithDomains extends Account {
  /** Undefined if the domains have not been read. */
  domains?: Domain[]
  /** One active payment method, or none; undefined if the payment methods have not been read. */
  paymentMethods?: { id: string }[]
}

const accountQuery = {
  relationLoadStrategy: 'join',
  include: {
    domains: { orderBy: { id: 'asc' } },
    paymentMethods: { where: { status: 'active' }, select: { id: true }, take: 1 },
  },
} as const

/**
 * Lists the accounts that the caller can access: all accounts for an operator, the accounts that a user of the console
 * issuer owns or administers, and for other callers their own account. The newest accounts come first. With `search`,
 * lists accounts whose name begins with the text or whose id is the text, in the order of their names.
 * @throws invalid_request
 */
export async function listAccounts(
  context: Context,
  request: PageRequest & { search?: string | null },
): Promise<Page<AccountWithDomains>> {
  const limit = checkPageLimit(request)
  const reachableIds = await reachableAccountIds(context)
  const searchOptions = { table: 'accounts', prefix: 'acc', where: { id: reachableIds } } as const
  const found = await searchNames(context, searchOptions, request.search, request)
  const rows = await context.db.account.findMany({
    ...accountQuery,
    where: {
      AND: [reachableIds ? { id: { in: reachableIds } } : {}, found?.where ?? whereBelowCursor('acc', request.cursor)],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

/** Returns the ids of the accounts that the caller can access; undefined means all. */
async function reachableAccountIds(context: Context): Promise<string[] | undefined> {
  const { actor } = context
  if (actor.operator) return undefined
  if (actor.userId !== null && actor.issuerId === null) return administeredAccountIds(context, actor.userId)
  return actor.accountId === null ? [] : [actor.accountId]
}

/** @throws not_found */
export async function getAccount(context: Context, { accountId }: InAccount): Promise<AccountWithDomains> {
  const account = await context.db.account.findUnique({ ...accountQuery, where: { id: accountId } })
  if (!account) throw notFound('account')
  return account
}

/**
 * Returns the billing mode of an account: the override that an operator has set; without one, `gated` if the account
 * has an active payment method, otherwise `ungated` (docs/contract.md#accounts).
 */
export async function billingMode(context: Context, account: AccountWithDomains): Promise<BillingMode> {
  const { billingModeOverride: override, paymentMethods } = account
  if (override) return override as BillingMode
  const gated = paymentMethods
    ? paymentMethods.length > 0
    : await loader(context, activePaymentMethodFlagsOf).load(account.id)
  return gated ? 'gated' : 'ungated'
}

export interface CreatedAccount {
  account: Account
  /** The first API key and its secret, which is not stored in plain text. */
  apiKey: { id: string; secretPlain: string }
}

/**
 * Creates an account, its administrator organization, and its first API key, which has full access to the account
 * (docs/contract.md#account-creation-and-administrators). The API allows only operators to call it.
 * @throws invalid_request
 */
export async function createAccount(context: Context, input: unknown): Promise<CreatedAccount> {
  const { metadata, ...values } = checkInput(createRules, input)
  const now = context.now()
  return transaction(context, async (tx) => {
    if (values.ownerUserId !== null) await requireConsoleUser(tx, values.ownerUserId)
    const row = await tx.db.account.create({
      data: {
        id: newId('acc', now),
        ...values,
        metadata: metadata as Prisma.InputJsonObject,
        createdAt: now,
        updatedAt: now,
      },
    })
    const account = await createAdministratorOrganization(tx, row)
    const target = { type: 'account', id: account.id }
    await recordEvent(tx, 'account.created', { accountId: account.id, target, data: { name: account.name } })
    const { id, secretPlain } = await insertApiKey(
      tx,
      { accountId: account.id },
      { name: 'First key', restrictions: {} },
    )
    return { account, apiKey: { id, secretPlain } }
  })
}

/**
 * Updates an account. `domains` replaces the set of domains, and `metadata` is replaced as a whole. The owner has full
 * authority on the account, so a change of the owner requires full authority and a recent sign-in. A change of the
 * domains requires the scopes for domains (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, insufficient_user_authentication, not_found, precondition_failed,
 *   conflict for a host that another account has verified
 */
export async function updateAccount(
  context: Context,
  path: InAccount,
  input: unknown,
  ifMatch?: string | null,
): Promise<Account> {
  const { domains, metadata, ...values } = checkInput(updateRules, input)
  const hosts = domains?.map(({ host }) => host)
  if (typeof values.ownerUserId === 'string') await requireConsoleUser(context, values.ownerUserId)
  return updateWithOptimisticLock<Account, Prisma.AccountUncheckedUpdateManyInput>(context, {
    resourceName: 'account',
    table: 'accounts',
    ifMatch,
    read: (tx) => tx.db.account.findUnique({ where: { id: path.accountId } }),
    computeChanges: (before) => {
      if (values.ownerUserId !== undefined && values.ownerUserId !== before.ownerUserId) {
        requireFullAuthority(context)
        requireRecentSignIn(context)
      }
      return { ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }
    },
    writesMore: async (_, tx) => hosts !== undefined && !(await hasDomains(tx, path, hosts)),
    write: async (tx, version, data) =>
      (await tx.db.account.updateManyAndReturn({ where: { id: path.accountId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, row) => {
      if (row.ownerUserId !== before.ownerUserId) await requireConsoleUser(tx, row.ownerUserId!)
      const changedHosts = hosts && (await setDomains(tx, path, hosts))
      await recordEvent(tx, 'account.updated', {
        accountId: row.id,
        target: { type: 'account', id: row.id },
        changes: { ...changesBetween('account', before, row), ...(changedHosts && { domains: changedHosts }) },
      })
    },
  })
}

/**
 * Requires that the owner of an account is an active user of the console issuer.
 * @throws invalid_request naming `ownerUserId`
 */
async function requireConsoleUser(context: Context, userId: string): Promise<void> {
  const issuerPath = await findConsoleIssuer(context)
  // In a transaction, FOR SHARE prevents that the user is suspended or deleted before the transaction ends.
  const text = `SELECT id FROM users WHERE id = $1 AND issuer_id = $2 AND status = 'active' FOR SHARE`
  if (!issuerPath || (await sql(context.db, text, userId, issuerPath.issuerId)).length === 0) {
    throw invalidField('ownerUserId', 'unknown_user', 'must be the id of an active user of the console issuer.')
  }
}

/** Loads the domains of several accounts in one query, for DataLoader. */
export async function listDomainsOf(context: Context, accountIds: readonly string[]): Promise<Domain[][]> {
  const rows = await context.db.domain.findMany({
    where: { accountId: { in: [...accountIds] } },
    orderBy: { id: 'asc' },
  })
  return accountIds.map((id) => rows.filter((row) => row.accountId === id))
}
