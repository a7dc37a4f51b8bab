/**
 * Custom domains of an account (spec 2.16, 4.3, section 3, decisions D27): added unverified, verified by a TXT record,
 * assigned to one issuer at a time. A host belongs to the account that verified it first.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { ApiError, badRequest, conflict, invalidField, notFound } from '../../kernel/errors.js'
import { isId, newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Domain, isDuplicate, sql, transaction } from '../../platform/database.js'
import { textRecords } from '../../platform/dns.js'
import { announce } from '../../platform/notify.js'
import { requireAuthorityOfIssuer, requireScope } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { after, type InAccount, type InIssuer, requireAccount } from '../place.js'
import { hostOf, normalHost } from './hosts.js'

export const MAX_DOMAINS = 20

/** `domain` is a host or an id. */
export interface DomainPlace extends InAccount {
  domain: string
}

const createRules = z.strictObject({ host: rules.text(300) })
const assignRules = z.strictObject({ issuerId: rules.text(64) })

/** The record that proves control over a domain. */
export const verificationOf = (domain: Domain) => ({
  type: 'dns_txt',
  name: `_gatehouse-challenge.${domain.host}`,
  value: `gatehouse-verify=${domain.verificationToken}`,
})

/** Newest first. */
export async function listDomains(context: Context, place: InAccount, request: PageRequest): Promise<Page<Domain>> {
  const { accountId } = place
  const limit = limitOf(request)
  const rows = await context.db.domain.findMany({
    where: { AND: [{ accountId }, after('dom', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, place)
  return pageOf(rows, limit)
}

/**
 * Adds a domain, unverified.
 * @throws invalid_request for a bad host or the 21st, conflict when it is here already or verified elsewhere
 */
export async function addDomain(context: Context, place: InAccount, input: unknown): Promise<Domain> {
  const host = hostOf('host', check(createRules, input).host)
  refuseOwnHosts(context, 'host', host)
  return transaction(context, async (inside) => {
    await lockAccount(inside, place)
    if ((await inside.db.domain.count({ where: place })) >= MAX_DOMAINS) {
      throw badRequest(`An account has at most ${MAX_DOMAINS} domains; remove one first.`)
    }
    await refuseVerifiedElsewhere(inside, place, [host])
    try {
      const domain = await inside.db.domain.create({ data: newDomain(inside, place, host) })
      await raiseVersion(inside, place)
      await told(inside, 'domain.created', domain)
      return domain
    } catch (error) {
      if (isDuplicate(error)) throw conflict('This account has this domain already.')
      throw error
    }
  })
}

/** Removes a domain and with it its assignment. @throws not_found */
export async function removeDomain(context: Context, place: DomainPlace): Promise<void> {
  await transaction(context, async (inside) => {
    await lockAccount(inside, place)
    const domain = await lockDomain(inside, place)
    await inside.db.domain.deleteMany({ where: { id: domain.id } })
    await raiseVersion(inside, place)
    await told(inside, 'domain.deleted', domain)
    if (domain.issuerId) await announce(inside, 'issuer', domain.issuerId)
  })
}

/**
 * Looks for the TXT record. A verified domain stays so, whatever the record says later.
 * @throws invalid_request when the record is not there, conflict when another account has verified the host, not_found
 */
export async function verifyDomain(context: Context, place: DomainPlace): Promise<Domain> {
  const domain = await requireDomain(context, place)
  if (domain.verified) return domain
  await refuseVerifiedElsewhere(context, place, [domain.host])
  const { name, value } = verificationOf(domain)
  const records = await textRecords(context, name)
  if (!records) throw badRequest(`No name server answered for ${name} in time; try again shortly.`)
  if (!records.some((record) => record.trim() === value)) {
    throw badRequest(`There is no TXT record at ${name} with the value ${value}; name servers may need some time.`)
  }
  return transaction(context, async (inside) => {
    await lockAccount(inside, place)
    const current = await lockDomain(inside, { ...place, domain: domain.id })
    if (current.verified) return current
    const now = inside.now()
    try {
      const data = { verified: true, verifiedAt: now, updatedAt: now }
      const verified = await inside.db.domain.update({ where: { id: domain.id }, data })
      await raiseVersion(inside, place)
      await told(inside, 'domain.verified', verified)
      return verified
    } catch (error) {
      if (isDuplicate(error)) throw verifiedElsewhere(domain.host)
      throw error
    }
  })
}

/**
 * Gives a verified domain to an issuer of the account, taking it from the one that had it. Links in the issuer's mails lead
 * to its domain, and with them the credentials that they carry: it asks for the authority of the issuer's users.
 * @throws invalid_request unless verified, insufficient_scope, not_found for the domain or the issuer
 */
export async function assignDomain(context: Context, place: DomainPlace, input: unknown): Promise<Domain> {
  const { issuerId } = check(assignRules, input)
  return transaction(context, async (inside) => {
    // Locked until the end, so that no issuer is deleted with a domain being given to it.
    const text = `SELECT id FROM issuers WHERE id = $1 AND account_id = $2 AND status <> 'deleted' FOR SHARE`
    const [issuer] = await sql<{ id: string }>(inside.db, text, issuerId, place.accountId)
    await lockAccount(inside, place)
    const domain = await lockDomain(inside, place)
    if (!issuer) throw notFound('issuer')
    if (!domain.verified) throw badRequest('Only a verified domain can be assigned; verify it first.')
    if (domain.issuerId === issuerId) return domain
    await requireAuthorityOfIssuer(inside, issuerId)
    return giveTo(inside, domain, issuerId)
  })
}

/** @throws invalid_request unless assigned, not_found */
export async function unassignDomain(context: Context, place: DomainPlace): Promise<Domain> {
  return transaction(context, async (inside) => {
    await lockAccount(inside, place)
    const domain = await lockDomain(inside, place)
    if (!domain.issuerId) throw badRequest('This domain is assigned to no issuer.')
    return giveTo(inside, domain, null)
  })
}

/** All domains of an issuer that is being deleted, in the transaction that deletes it. */
export async function unassignDomainsOf(context: Context, { accountId, issuerId }: InIssuer): Promise<void> {
  if ((await context.db.domain.count({ where: { accountId, issuerId } })) === 0) return
  await lockAccount(context, { accountId })
  for (const domain of await context.db.domain.findMany({ where: { accountId, issuerId } })) {
    await giveTo(context, domain, null)
  }
}

/** Hosts that an issuer is served under besides the IdP's own. */
export async function verifiedHostsOf(context: Context, { accountId, issuerId }: InIssuer): Promise<string[]> {
  const rows = await context.db.domain.findMany({ where: { accountId, issuerId, verified: true } })
  return rows.map(({ host }) => host)
}

/** Writes the assignment and tells the issuers concerned, whose addresses change by it. */
async function giveTo(context: Context, before: Domain, issuerId: string | null): Promise<Domain> {
  const data = { issuerId, updatedAt: context.now() }
  const domain = await context.db.domain.update({ where: { id: before.id }, data })
  await raiseVersion(context, before)
  if (before.issuerId) await told(context, 'domain.unassigned', before)
  if (issuerId) await told(context, 'domain.assigned', domain)
  for (const id of [before.issuerId, issuerId]) if (id) await announce(context, 'issuer', id)
  return domain
}

/**
 * Makes the account's set of domains equal to the given hosts: new ones come unverified, missing ones go.
 * Call it inside the transaction that has written the account's row, whose lock keeps the limit under parallel calls.
 * @returns the old and new hosts, or undefined when nothing changed
 * @throws invalid_request for a bad host or the 21st, insufficient_scope where hosts are added without `domains:write` or
 *   removed without `domains:delete` (decisions D30), conflict for a host verified elsewhere
 */
export async function setDomains(
  context: Context,
  place: InAccount,
  hosts: string[],
): Promise<{ old: string[]; new: string[] } | undefined> {
  const wanted = [...new Set(hosts.map((host, index) => hostOf(`domains[${index}].host`, host)))]
  if (wanted.length > MAX_DOMAINS) {
    throw invalidField('domains', 'too_many', `must have at most ${MAX_DOMAINS} domains.`)
  }
  const present = await context.db.domain.findMany({ where: { accountId: place.accountId } })
  const missing = wanted.filter((host) => !present.some((domain) => domain.host === host))
  const surplus = present.filter((domain) => !wanted.includes(domain.host))
  if (missing.length === 0 && surplus.length === 0) return undefined
  if (missing.length > 0) requireScope(context, 'domains:write')
  if (surplus.length > 0) requireScope(context, 'domains:delete')
  for (const host of missing) refuseOwnHosts(context, 'domains', host)
  await refuseVerifiedElsewhere(context, place, missing)
  await context.db.domain.deleteMany({ where: { id: { in: surplus.map((domain) => domain.id) } } })
  for (const domain of surplus) {
    await told(context, 'domain.deleted', domain)
    if (domain.issuerId) await announce(context, 'issuer', domain.issuerId)
  }
  for (const host of missing) {
    await told(context, 'domain.created', await context.db.domain.create({ data: newDomain(context, place, host) }))
  }
  return { old: present.map((domain) => domain.host).sort(), new: [...wanted].sort() }
}

function newDomain(context: Context, { accountId }: InAccount, host: string) {
  const now = context.now()
  const verificationToken = randomBytes(16).toString('hex')
  return { id: newId('dom', now), accountId, host, verificationToken, createdAt: now, updatedAt: now }
}

/** By id or host. @throws not_found */
async function requireDomain(context: Context, { accountId, domain }: DomainPlace): Promise<Domain> {
  const key = isId('dom', domain) ? { id: domain } : { host: normalHost(domain) ?? '' }
  const found = await context.db.domain.findFirst({ where: { accountId, ...key } })
  if (!found) throw notFound('domain')
  return found
}

/** The same, locked until the transaction ends. */
async function lockDomain(context: Context, place: DomainPlace): Promise<Domain> {
  const { id } = await requireDomain(context, place)
  await sql(context.db, 'SELECT id FROM domains WHERE id = $1 FOR UPDATE', id)
  return requireDomain(context, { accountId: place.accountId, domain: id })
}

/**
 * Domains are part of the account, so each change of one gives the account another version and a stale If-Match is refused
 * (decisions D30). The account's row is locked before the domain's, so that two such changes do not block each other.
 */
async function raiseVersion(context: Context, { accountId }: InAccount): Promise<void> {
  await context.db.account.update({ where: { id: accountId }, data: { updatedAt: context.now() } })
}

/** Keeps the limit under parallel calls (security rule 5). @throws not_found */
async function lockAccount(context: Context, { accountId }: InAccount): Promise<void> {
  const [account] = await sql(context.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
  if (!account) throw notFound('account')
}

const verifiedElsewhere = (host: string): ApiError => conflict(`The domain ${host} is verified by another account.`)

/** @throws conflict */
async function refuseVerifiedElsewhere(context: Context, { accountId }: InAccount, hosts: string[]): Promise<void> {
  const where = { host: { in: hosts }, verified: true, accountId: { not: accountId } }
  const elsewhere = await context.db.domain.findFirst({ where })
  if (elsewhere) throw verifiedElsewhere(elsewhere.host)
}

/** The addresses that this deployment answers at itself can be nobody's. */
function refuseOwnHosts({ config }: Context, field: string, host: string): void {
  if ([config.baseUrl, config.idpUrl].some((url) => new URL(url).hostname === host)) {
    throw invalidField(field, 'reserved', 'must not be a host of this deployment itself.')
  }
}

async function told(context: Context, type: EventType, domain: Domain): Promise<void> {
  const { accountId, issuerId, id, host } = domain
  await emit(context, type, { accountId, issuerId, target: { type: 'domain', id }, data: { host } })
}
