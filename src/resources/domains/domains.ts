/** Custom domains of an account (spec 2.16, decisions D27). */
import { randomBytes } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { conflict, invalidField } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import type { Domain } from '../../platform/database.js'
import type { InAccount } from '../place.js'

export const MAX_DOMAINS = 20

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * A host name as it is stored: lower case, A-labels (IDNA).
 * @throws invalid_request for addresses, single labels and anything that is not a domain name
 */
export function hostOf(field: string, text: string): string {
  const name = text.trim().replace(/\.$/, '')
  // domainToASCII cuts a host out of whatever holds one: user@host, host:port, host/path.
  const host = /[\s/?#@:\\[\]%]/.test(name) ? '' : domainToASCII(name).toLowerCase()
  const labels = host.split('.')
  const isName = host.length <= 253 && labels.length >= 2 && labels.every((part) => label.test(part))
  if (!isName || /^\d+$/.test(labels.at(-1)!)) {
    throw invalidField(field, 'invalid_format', 'must be a domain name such as login.example.com.')
  }
  return host
}

/** The record that proves control over a domain. */
export const verificationOf = (domain: Domain) => ({
  type: 'dns_txt',
  name: `_gatehouse-challenge.${domain.host}`,
  value: `gatehouse-verify=${domain.verificationToken}`,
})

/**
 * Makes the account's set of domains equal to the given hosts: new ones come unverified, missing ones go.
 * Call it inside the transaction that has written the account's row, whose lock keeps the limit under parallel calls.
 * @returns the old and new hosts, or undefined when nothing changed
 * @throws invalid_request for a bad host or the 21st, conflict for a host verified elsewhere
 */
export async function setDomains(
  context: Context,
  { accountId }: InAccount,
  hosts: string[],
): Promise<{ old: string[]; new: string[] } | undefined> {
  const wanted = [...new Set(hosts.map((host, index) => hostOf(`domains[${index}].host`, host)))]
  if (wanted.length > MAX_DOMAINS) {
    throw invalidField('domains', 'too_many', `must have at most ${MAX_DOMAINS} domains.`)
  }
  const present = await context.db.domain.findMany({ where: { accountId } })
  const missing = wanted.filter((host) => !present.some((domain) => domain.host === host))
  const surplus = present.filter((domain) => !wanted.includes(domain.host))
  if (missing.length === 0 && surplus.length === 0) return undefined
  const elsewhere = await context.db.domain.findFirst({ where: { host: { in: missing }, verified: true } })
  if (elsewhere) throw conflict(`The domain ${elsewhere.host} is verified by another account.`)
  const now = context.now()
  await context.db.domain.deleteMany({ where: { id: { in: surplus.map((domain) => domain.id) } } })
  await context.db.domain.createMany({
    data: missing.map((host) => ({
      id: newId('dom', now),
      accountId,
      host,
      verificationToken: randomBytes(16).toString('hex'),
      createdAt: now,
      updatedAt: now,
    })),
  })
  return { old: present.map((domain) => domain.host).sort(), new: [...wanted].sort() }
}
