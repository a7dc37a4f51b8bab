/** Accounts (spec 2.2, 4.2, decisions D28): the top-level entity. Made by operators only. */
import { z } from 'zod'
import { invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Account, type Domain, type Prisma, sql, transaction } from '../../platform/database.js'
import { loader } from '../../platform/loader.js'
import { requireFullAuthority } from '../authority.js'
import { setDomains } from '../domains/domains.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { insertApiKey } from '../keys/api-keys.js'
import { haveActiveMethod } from '../payments/payment-methods.js'
import { after, type InAccount } from '../place.js'
import { requireRecentSignIn } from '../recent-sign-in.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'
import { administeredBy, consoleIssuer, giveAdministrators } from './administrators.js'

const createRules = z.strictObject({
  name: rules.name.nullable().optional(),
  description: rules.description.optional(),
  ownerUserId: rules.text().nullable().optional(),
  metadata: rules.metadata.nullable().optional(),
})

const updateRules = z.strictObject({
  name: rules.name.nullable().optional(),
  description: rules.description.optional(),
  logoUrl: rules.url.optional(),
  ownerUserId: rules.text().optional(),
  domains: z.array(z.strictObject({ host: rules.text(253) }), 'must be an array of {"host": …}.').optional(),
  metadata: rules.metadata.optional(),
})

/** An account comes with its domains and its active payment method (spec 2.2), in the one query that reads it. */
export interface AccountWithDomains extends Account {
  domains?: Domain[]
  paymentMethods?: { id: string }[]
}

const withDomains = {
  relationLoadStrategy: 'join',
  include: {
    domains: { orderBy: { id: 'asc' } },
    paymentMethods: { where: { status: 'active' }, select: { id: true }, take: 1 },
  },
} as const

/**
 * The accounts that the caller can reach, newest first, or with `search` by the beginning of a name in the order of
 * names: all for an operator, those it owns or administers for a user of the console issuer, its own for everyone else.
 */
export async function listAccounts(
  context: Context,
  request: PageRequest & { search?: string | null },
): Promise<Page<AccountWithDomains>> {
  const limit = limitOf(request)
  const reach = await reachOf(context)
  const names = { table: 'accounts', prefix: 'acc', where: { id: reach } } as const
  const found = await searchNames(context, names, request.search, request)
  const rows = await context.db.account.findMany({
    ...withDomains,
    where: { AND: [reach ? { id: { in: reach } } : {}, found?.where ?? after('acc', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

/** The ids of the accounts that the caller can reach; undefined for all. */
async function reachOf(context: Context): Promise<string[] | undefined> {
  const { actor } = context
  if (actor.operator) return undefined
  if (actor.userId !== null && actor.issuerId === null) return administeredBy(context, actor.userId)
  return actor.accountId === null ? [] : [actor.accountId]
}

/** @throws not_found */
export async function getAccount(context: Context, { accountId }: InAccount): Promise<AccountWithDomains> {
  const account = await context.db.account.findUnique({ ...withDomains, where: { id: accountId } })
  if (!account) throw notFound('account')
  return account
}

/** `gated` once an active payment method exists, unless an operator decided otherwise (spec 2.2). */
export async function billingMode(context: Context, account: AccountWithDomains): Promise<string> {
  const { billingModeOverride: override, paymentMethods } = account
  if (override) return override
  const gated = paymentMethods ? paymentMethods.length > 0 : await loader(context, haveActiveMethod).load(account.id)
  return gated ? 'gated' : 'ungated'
}

export interface CreatedAccount {
  account: Account
  apiKey: { id: string; secretPlain: string }
}

/**
 * Makes an account and its first API key, which may do everything in it (decisions part 0). The caller is an operator.
 * @throws invalid_request
 */
export async function createAccount(context: Context, input: unknown): Promise<CreatedAccount> {
  const values = check(createRules, input)
  if (values.ownerUserId) await requireConsoleUser(context, values.ownerUserId)
  const now = context.now()
  return transaction(context, async (inside) => {
    const bare = await inside.db.account.create({
      data: {
        id: newId('acc', now),
        name: values.name ?? null,
        description: values.description ?? null,
        ownerUserId: values.ownerUserId ?? null,
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        createdAt: now,
        updatedAt: now,
      },
    })
    const account = await giveAdministrators(inside, bare)
    const target = { type: 'account', id: account.id }
    await emit(inside, 'account.created', { accountId: account.id, target, data: { name: account.name } })
    const { key, secret } = await insertApiKey(
      inside,
      { accountId: account.id },
      { name: 'First key', restrictions: {} },
    )
    return { account, apiKey: { id: key.id, secretPlain: secret } }
  })
}

/**
 * PATCH of an account. `domains` makes the account's set of domains equal to the given one; metadata is replaced. Another
 * owner has full authority on the account from then on, so naming one asks for it; domains ask for their own scopes
 * (decisions D30).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict
 */
export async function updateAccount(
  context: Context,
  place: InAccount,
  input: unknown,
  ifMatch?: string | null,
): Promise<Account> {
  const { domains, metadata, ...values } = check(updateRules, input)
  if (values.ownerUserId !== undefined) await requireConsoleUser(context, values.ownerUserId)
  return revise<Account, Prisma.AccountUncheckedUpdateManyInput>(context, {
    what: 'account',
    table: 'accounts',
    ifMatch,
    read: (now) => now.db.account.findUnique({ where: { id: place.accountId } }),
    change: (before) => {
      if (values.ownerUserId !== undefined && values.ownerUserId !== before.ownerUserId) {
        requireFullAuthority(context)
        requireRecentSignIn(context)
      }
      return { ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }
    },
    write: async (now, version, data) =>
      (await now.db.account.updateManyAndReturn({ where: { id: place.accountId, updatedAt: version }, data }))[0],
    also: async (inside, before, row) => {
      if (row.ownerUserId !== before.ownerUserId) await requireConsoleUser(inside, row.ownerUserId!)
      const hosts =
        domains &&
        (await setDomains(
          inside,
          place,
          domains.map((domain) => domain.host),
        ))
      await emit(inside, 'account.updated', {
        accountId: row.id,
        target: { type: 'account', id: row.id },
        changes: { ...changesBetween('account', before, row), ...(hosts && { domains: hosts }) },
      })
    },
  })
}

/** Who owns an account is a person of the console issuer. */
async function requireConsoleUser(context: Context, userId: string): Promise<void> {
  const place = await consoleIssuer(context)
  // Locked, so that nobody becomes an owner while they are suspended or deleted.
  const text = `SELECT id FROM users WHERE id = $1 AND issuer_id = $2 AND status = 'active' FOR SHARE`
  if (!place || (await sql(context.db, text, userId, place.issuerId)).length === 0) {
    throw invalidField('ownerUserId', 'unknown_user', 'must be the id of an active user of the console issuer.')
  }
}

/** The domains of several accounts at once, for DataLoader. */
export async function domainsOf(context: Context, accountIds: readonly string[]): Promise<Domain[][]> {
  const rows = await context.db.domain.findMany({
    where: { accountId: { in: [...accountIds] } },
    orderBy: { id: 'asc' },
  })
  return accountIds.map((id) => rows.filter((row) => row.accountId === id))
}
