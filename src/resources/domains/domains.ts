/**
 * Custom domains of an account (docs/contract.md#domain-endpoints). A new domain is unverified. A DNS TXT record
 * verifies it, and a verified domain can be assigned to one issuer at a time. Several accounts can add the same host,
 * but only one of them can verify it.
 */
import { randomBytes } from 'node:crypto'
import { ApiError, badRequest, conflict, invalidField, notFound } from '../../kernel/errors.js'
import { isId, newId } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { resolveTxtRecords } from '../../platform/outbound/dns.js'
import { type Domain, sql } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfIssuer, requireScope } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { recordEvent } from '../events/record-event.js'
import { type InAccount, type InIssuer, requireAccount, whereBelowCursor } from '../resource-path.js'
import { assignRules, createRules, type DomainPath, type DomainVerification } from './domain.js'
import { normalizeHost, requireHost } from './hosts.js'

/** Returns the DNS record that proves control of a domain. */
export const verificationOf = (domain: Domain): DomainVerification => ({
  type: 'dns_txt',
  name: `_gatehouse-challenge.${domain.host}`,
  value: `gatehouse-verify=${domain.verificationToken}`,
})

/** Lists the domains of an account, newest first. @throws invalid_request, not_found for the account */
export async function listDomains(context: Context, path: InAccount, request: PageRequest): Promise<Page<Domain>> {
  const { accountId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.domain.findMany({
    where: { AND: [{ accountId }, whereBelowCursor('dom', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, path)
  return toPage(rows, limit)
}

/**
 * Adds an unverified domain.
 * @throws invalid_request for an invalid host, a host of this deployment or too many domains, conflict if this account
 *   already has the domain or another account has verified it, not_found for the account
 */
export async function addDomain(context: Context, path: InAccount, input: unknown): Promise<Domain> {
  const host = requireHost('host', checkInput(createRules, input).host)
  requireForeignHost(context, 'host', host)
  return transaction(context, async (tx) => {
    await lockAccount(tx, path)
    if ((await tx.db.domain.count({ where: path })) >= limits.maxDomainsPerAccount) {
      throw badRequest(`An account can have at most ${limits.maxDomainsPerAccount} domains. Remove one first.`)
    }
    await requireNotVerifiedElsewhere(tx, path, [host])
    try {
      const domain = await tx.db.domain.create({ data: newDomain(tx, path, host) })
      await bumpAccountVersion(tx, path)
      await recordDomainEvent(tx, 'domain.created', domain)
      return domain
    } catch (error) {
      if (isDuplicate(error)) throw conflict('This account already has this domain.')
      throw error
    }
  })
}

/** Removes a domain, also if it is assigned to an issuer. @throws not_found */
export async function removeDomain(context: Context, path: DomainPath): Promise<void> {
  await transaction(context, async (tx) => {
    await lockAccount(tx, path)
    const domain = await lockDomain(tx, path)
    await tx.db.domain.deleteMany({ where: { id: domain.id } })
    await bumpAccountVersion(tx, path)
    await recordDomainEvent(tx, 'domain.deleted', domain)
    if (domain.issuerId) await notify(tx, 'issuer', domain.issuerId)
  })
}

/**
 * Verifies a domain by its TXT record. A verified domain stays verified, even if the record is removed.
 * @throws invalid_request if the record was not found or the DNS lookup failed, conflict if another account has
 *   verified the host, not_found
 */
export async function verifyDomain(context: Context, path: DomainPath): Promise<Domain> {
  const domain = await requireDomain(context, path)
  if (domain.verified) return domain
  await requireNotVerifiedElsewhere(context, path, [domain.host])
  const { name, value } = verificationOf(domain)
  const records = await resolveTxtRecords(context, name)
  if (!records) throw badRequest(`The DNS lookup of ${name} failed or timed out. Try again later.`)
  if (!records.some((record) => record.trim() === value)) {
    throw badRequest(
      `The TXT record ${name} with the value ${value} was not found. DNS changes can take some time; try again later.`,
    )
  }
  return transaction(context, async (tx) => {
    await lockAccount(tx, path)
    const current = await lockDomain(tx, { ...path, domain: domain.id })
    if (current.verified) return current
    const now = tx.now()
    try {
      const data = { verified: true, verifiedAt: now, updatedAt: now }
      const verified = await tx.db.domain.update({ where: { id: domain.id }, data })
      await bumpAccountVersion(tx, path)
      await recordDomainEvent(tx, 'domain.verified', verified)
      return verified
    } catch (error) {
      if (isDuplicate(error)) throw verifiedElsewhereError(domain.host)
      throw error
    }
  })
}

/**
 * Assigns a verified domain to an issuer of the account and unassigns it from its previous issuer. Links in emails of
 * the issuer have the assigned domain and contain credentials, so the caller needs the authority of the issuer's users.
 * @throws invalid_request if the domain is not verified, insufficient_scope, not_found for the domain or the issuer
 */
export async function assignDomain(context: Context, path: DomainPath, input: unknown): Promise<Domain> {
  const { issuerId } = checkInput(assignRules, input)
  return transaction(context, async (tx) => {
    // FOR SHARE, so that the issuer is not deleted before the assignment commits.
    const text = `SELECT id FROM issuers WHERE id = $1 AND account_id = $2 AND status <> 'deleted' FOR SHARE`
    const [issuer] = await sql<{ id: string }>(tx.db, text, issuerId, path.accountId)
    await lockAccount(tx, path)
    const domain = await lockDomain(tx, path)
    if (!issuer) throw notFound('issuer')
    if (!domain.verified) throw badRequest('The domain is not verified. Verify it before you assign it.')
    if (domain.issuerId === issuerId) return domain
    await requireAuthorityOfIssuer(tx, issuerId)
    return setDomainIssuer(tx, domain, issuerId)
  })
}

/** Unassigns a domain from its issuer. @throws invalid_request if the domain is not assigned, not_found */
export async function unassignDomain(context: Context, path: DomainPath): Promise<Domain> {
  return transaction(context, async (tx) => {
    await lockAccount(tx, path)
    const domain = await lockDomain(tx, path)
    if (!domain.issuerId) throw badRequest('This domain is not assigned to an issuer.')
    return setDomainIssuer(tx, domain, null)
  })
}

/** Unassigns all domains of an issuer. Call it in the transaction that deletes the issuer. */
export async function unassignDomainsOf(context: Context, { accountId, issuerId }: InIssuer): Promise<void> {
  if ((await context.db.domain.count({ where: { accountId, issuerId } })) === 0) return
  await lockAccount(context, { accountId })
  for (const domain of await context.db.domain.findMany({ where: { accountId, issuerId } })) {
    await setDomainIssuer(context, domain, null)
  }
}

/** Returns the host names of the verified domains that are assigned to an issuer. */
export async function verifiedHostsOf(context: Context, { accountId, issuerId }: InIssuer): Promise<string[]> {
  const rows = await context.db.domain.findMany({ where: { accountId, issuerId, verified: true } })
  return rows.map(({ host }) => host)
}

/**
 * Assigns a domain to an issuer, or unassigns it if `issuerId` is null. Invalidates the cached issuers, whose URLs
 * depend on the assignment.
 */
async function setDomainIssuer(context: Context, before: Domain, issuerId: string | null): Promise<Domain> {
  const data = { issuerId, updatedAt: context.now() }
  const domain = await context.db.domain.update({ where: { id: before.id }, data })
  await bumpAccountVersion(context, before)
  if (before.issuerId) await recordDomainEvent(context, 'domain.unassigned', before)
  if (issuerId) await recordDomainEvent(context, 'domain.assigned', domain)
  for (const id of [before.issuerId, issuerId]) if (id) await notify(context, 'issuer', id)
  return domain
}

const requireHosts = (hosts: readonly string[]): string[] => [
  ...new Set(hosts.map((host, index) => requireHost(`domains[${index}].host`, host))),
]

/** Returns true if the account has exactly these domains. @throws invalid_request for an invalid host */
export async function hasDomains(
  { db }: Context,
  { accountId }: InAccount,
  hosts: readonly string[],
): Promise<boolean> {
  const requestedHosts = requireHosts(hosts)
  const existing = await db.domain.findMany({ where: { accountId }, select: { host: true } })
  return existing.length === requestedHosts.length && existing.every(({ host }) => requestedHosts.includes(host))
}

/**
 * Replaces the set of domains of an account: adds missing hosts as unverified domains and removes domains whose host is
 * not in `hosts`. Call it in the transaction that has written the row of the account, because the lock on the row
 * enforces the maximum number of domains under concurrent requests.
 * @returns the old and new hosts, or undefined if nothing changed
 * @throws invalid_request for an invalid host, a host of this deployment or too many domains; insufficient_scope for
 *   additions without `domains:write` or removals without `domains:delete` (docs/contract.md#authority-for-changes);
 *   conflict for an added host that another account has verified
 */
export async function setDomains(
  context: Context,
  path: InAccount,
  hosts: readonly string[],
): Promise<{ old: string[]; new: string[] } | undefined> {
  const requestedHosts = requireHosts(hosts)
  if (requestedHosts.length > limits.maxDomainsPerAccount) {
    throw invalidField('domains', 'too_many', `must have at most ${limits.maxDomainsPerAccount} domains.`)
  }
  const existing = await context.db.domain.findMany({ where: { accountId: path.accountId } })
  const addedHosts = requestedHosts.filter((host) => !existing.some((domain) => domain.host === host))
  const removedDomains = existing.filter((domain) => !requestedHosts.includes(domain.host))
  if (addedHosts.length === 0 && removedDomains.length === 0) return undefined
  if (addedHosts.length > 0) requireScope(context, 'domains:write')
  if (removedDomains.length > 0) requireScope(context, 'domains:delete')
  for (const host of addedHosts) requireForeignHost(context, 'domains', host)
  await requireNotVerifiedElsewhere(context, path, addedHosts)
  await context.db.domain.deleteMany({ where: { id: { in: removedDomains.map((domain) => domain.id) } } })
  for (const domain of removedDomains) {
    await recordDomainEvent(context, 'domain.deleted', domain)
    if (domain.issuerId) await notify(context, 'issuer', domain.issuerId)
  }
  for (const host of addedHosts) {
    await recordDomainEvent(
      context,
      'domain.created',
      await context.db.domain.create({ data: newDomain(context, path, host) }),
    )
  }
  return { old: existing.map((domain) => domain.host).sort(), new: [...requestedHosts].sort() }
}

function newDomain(context: Context, { accountId }: InAccount, host: string) {
  const now = context.now()
  const verificationToken = randomBytes(16).toString('hex')
  return { id: newId('dom', now), accountId, host, verificationToken, createdAt: now, updatedAt: now }
}

/** Finds a domain by id or host. @throws not_found */
async function requireDomain(context: Context, { accountId, domain }: DomainPath): Promise<Domain> {
  const key = isId('dom', domain) ? { id: domain } : { host: normalizeHost(domain) ?? '' }
  const found = await context.db.domain.findFirst({ where: { accountId, ...key } })
  if (!found) throw notFound('domain')
  return found
}

/** Finds a domain and locks its row until the transaction ends. @throws not_found */
async function lockDomain(context: Context, path: DomainPath): Promise<Domain> {
  const { id } = await requireDomain(context, path)
  await sql(context.db, 'SELECT id FROM domains WHERE id = $1 FOR UPDATE', id)
  return requireDomain(context, { accountId: path.accountId, domain: id })
}

/**
 * Gives the account a new version (ETag), because the domains are a part of the account and a request with an old
 * If-Match must fail (docs/contract.md#etag-and-if-match).
 */
async function bumpAccountVersion(context: Context, { accountId }: InAccount): Promise<void> {
  await context.db.account.update({ where: { id: accountId }, data: { updatedAt: context.now() } })
}

/**
 * Locks the row of the account, so that concurrent requests cannot exceed the maximum number of domains
 * (docs/contract.md#limits-under-parallel-requests). Call it before `lockDomain`, because different orders of locking
 * could cause deadlocks.
 * @throws not_found
 */
async function lockAccount(context: Context, { accountId }: InAccount): Promise<void> {
  const [account] = await sql(context.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
  if (!account) throw notFound('account')
}

const verifiedElsewhereError = (host: string): ApiError => conflict(`Another account has verified the domain ${host}.`)

/** @throws conflict if another account has verified one of the hosts */
async function requireNotVerifiedElsewhere(context: Context, { accountId }: InAccount, hosts: string[]): Promise<void> {
  const where = { host: { in: hosts }, verified: true, accountId: { not: accountId } }
  const owner = await context.db.domain.findFirst({ where })
  if (owner) throw verifiedElsewhereError(owner.host)
}

/** @throws invalid_request for a host of this deployment (BASE_URL, IDP_URL), which no account may add */
function requireForeignHost({ config }: Context, field: string, host: string): void {
  if ([config.baseUrl, config.idpUrl].some((url) => new URL(url).hostname === host)) {
    throw invalidField(field, 'reserved', 'must not be a host of this deployment.')
  }
}

async function recordDomainEvent(context: Context, type: EventType, domain: Domain): Promise<void> {
  const { accountId, issuerId, id, host } = domain
  await recordEvent(context, type, { accountId, issuerId, target: { type: 'domain', id }, data: { host } })
}
