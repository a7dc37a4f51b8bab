/** Restrictions of API keys and personal tokens (docs/contract.md#restrictions-of-keys-and-tokens). */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import type { Actor } from '../../kernel/context.js'
import { ApiError } from '../../kernel/errors.js'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'

const ids = z
  .array(fieldSchemas.text(limits.maxIdLength), 'must be an array of ids.')
  .max(limits.maxKeyRestrictionEntries, `must have at most ${limits.maxKeyRestrictionEntries} entries.`)

export const restrictionRules = z.strictObject(
  {
    scopes: fieldSchemas.scopes.optional(),
    issuer_ids: ids.optional(),
    org_ids: ids.optional(),
    ip_allowlist: z
      .array(
        fieldSchemas.text(64).refine(isAddressOrRange, {
          error: 'must be an IP address or a CIDR range such as 203.0.113.0/24.',
          params: { code: 'invalid_format' },
        }),
        'must be an array of IP addresses or CIDR ranges.',
      )
      .max(limits.maxKeyRestrictionEntries, `must have at most ${limits.maxKeyRestrictionEntries} entries.`)
      .optional(),
  },
  'must be an object. {} restricts nothing.',
)

export type Restrictions = z.infer<typeof restrictionRules>

/** Checks the address with `isIP`, because ipaddr.js would read `10` as 0.0.0.10 and `010.0.0.1` as octal. */
function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const kind = isIP(address)
  if (kind === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128))
}

/**
 * Returns whether a request from this address may use a key or token. If there is an allowlist, requests from an
 * unknown address are refused.
 */
export function isAddressAllowed({ ip_allowlist }: Restrictions, ip: string | null): boolean {
  if (ip_allowlist === undefined) return true
  if (ip === null || !ipaddr.isValid(ip)) return false
  const address = ipaddr.process(ip)
  return ip_allowlist.some((entry) => {
    const { start, bits } = parseRange(entry)
    return start.kind() === address.kind() && address.match(start, bits)
  })
}

/** Parses a CIDR range or an IP address. A single address is a range of one address. */
function parseRange(entry: string): { start: ipaddr.IPv4 | ipaddr.IPv6; bits: number } {
  if (ipaddr.isValidCIDR(entry)) {
    const [start, bits] = ipaddr.parseCIDR(entry)
    return { start, bits }
  }
  const start = ipaddr.process(entry)
  return { start, bits: start.kind() === 'ipv4' ? 32 : 128 }
}

/** Returns whether one of the allowed ranges contains all addresses of an entry. */
function isRangeWithin(entry: string, allowedRanges: readonly string[]): boolean {
  const { start, bits } = parseRange(entry)
  return allowedRanges.map(parseRange).some((range) => {
    return range.start.kind() === start.kind() && range.bits <= bits && start.match(range.start, range.bits)
  })
}

/** The restrictions and lifetime of a credential that is created, changed or rotated. */
export interface CredentialReach {
  restrictions: Restrictions
  /** Unix milliseconds; null for no expiry. */
  expiresAt: number | bigint | null
  /** The issuer outside of which the credential has no authority, whatever its restrictions; null if there is none. */
  issuerId: string | null
  /** The organization that owns the credential; null if there is none. */
  orgId: string | null
}

/**
 * Refuses a credential that is less restricted than the caller by issuers, organizations, IP addresses or expiry
 * (docs/contract.md#restrictions-of-keys-and-tokens). `requireGrantableScopes` checks the scopes.
 * @throws forbidden naming the restriction that the caller has and the credential lacks
 */
export function requireNoWiderReach({ actor }: { actor: Actor }, { restrictions, ...reach }: CredentialReach): void {
  const isSubsetOf = (own: readonly string[] | null, ids: readonly string[] | undefined) =>
    own === null || ids?.every((id) => own.includes(id)) === true
  const { ipAllowlist, expiresAt } = actor
  const satisfied: Record<string, boolean> = {
    issuer_ids: isSubsetOf(actor.issuerIds, reach.issuerId === null ? restrictions.issuer_ids : [reach.issuerId]),
    org_ids: isSubsetOf(actor.orgIds, reach.orgId === null ? restrictions.org_ids : [reach.orgId]),
    ip_allowlist:
      ipAllowlist === null || restrictions.ip_allowlist?.every((entry) => isRangeWithin(entry, ipAllowlist)) === true,
    expires_at: expiresAt === null || (reach.expiresAt !== null && reach.expiresAt <= expiresAt),
  }
  const missing = Object.keys(satisfied).find((name) => !satisfied[name])
  if (missing) {
    const description = `Your credential is restricted by ${missing}. The key or token that you create or change must have the same restriction or a narrower one.`
    throw new ApiError('forbidden', description)
  }
}
