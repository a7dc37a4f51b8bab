/** What a key or personal token is cut down to (decisions D8). `{}` restricts nothing. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import type { Actor } from '../../kernel/context.js'
import { ApiError } from '../../kernel/errors.js'
import { rules } from '../../kernel/input.js'

const ids = z.array(rules.text(64), 'must be an array of ids.').max(100, 'must have at most 100 entries.')

export const restrictionRules = z.strictObject(
  {
    scopes: rules.scopes.optional(),
    issuer_ids: ids.optional(),
    org_ids: ids.optional(),
    ip_allowlist: z
      .array(
        rules.text(64).refine(isRange, {
          error: 'must be an address or a range such as 203.0.113.0/24.',
          params: { code: 'invalid_format' },
        }),
        'must be an array of addresses or ranges.',
      )
      .max(100, 'must have at most 100 entries.')
      .optional(),
  },
  'must be an object; {} restricts nothing.',
)

export type Restrictions = z.infer<typeof restrictionRules>

/** In the ordinary spelling only: ipaddr.js would read `10` as 0.0.0.10 and `010.0.0.1` as octal. */
function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const kind = isIP(address)
  if (kind === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128))
}

/** May a request from this address use the key? An unknown address may not use a key with a list. */
export function allowsAddress({ ip_allowlist }: Restrictions, ip: string | null): boolean {
  if (ip_allowlist === undefined) return true
  if (ip === null || !ipaddr.isValid(ip)) return false
  const address = ipaddr.process(ip)
  return ip_allowlist.some((entry) => {
    const { start, bits } = rangeOf(entry)
    return start.kind() === address.kind() && address.match(start, bits)
  })
}

/** A single address is a range of one. */
function rangeOf(entry: string): { start: ipaddr.IPv4 | ipaddr.IPv6; bits: number } {
  if (ipaddr.isValidCIDR(entry)) {
    const [start, bits] = ipaddr.parseCIDR(entry)
    return { start, bits }
  }
  const start = ipaddr.process(entry)
  return { start, bits: start.kind() === 'ipv4' ? 32 : 128 }
}

/** Does one of the wider ranges hold all of this one? */
function isWithin(entry: string, wider: readonly string[]): boolean {
  const { start, bits } = rangeOf(entry)
  return wider.map(rangeOf).some((range) => {
    return range.start.kind() === start.kind() && range.bits <= bits && start.match(range.start, range.bits)
  })
}

/** A credential to be made, changed or taken over: what it is cut down to and how long it stays. */
export interface Reach {
  restrictions: Restrictions
  /** Milliseconds; null for ever. */
  expiresAt: number | bigint | null
  /** Of a principal that lies in an issuer, in an organization. */
  issuerId: string | null
  orgId: string | null
}

/**
 * Restrictions are part of a caller's authority (decisions D6, D22): a key that is bound to addresses, issuers or
 * organizations, or that ends, gives nobody a credential that is not. Scopes are asked for elsewhere (mayGrant).
 * @throws forbidden naming the restriction that the caller has and the credential lacks
 */
export function mustReachNoFurther({ actor }: { actor: Actor }, { restrictions, ...reach }: Reach): void {
  const among = (own: readonly string[] | null, ids: readonly string[] | undefined) =>
    own === null || ids?.every((id) => own.includes(id)) === true
  const { ipAllowlist, expiresAt } = actor
  const within: Record<string, boolean> = {
    issuer_ids: among(actor.issuerIds, reach.issuerId === null ? restrictions.issuer_ids : [reach.issuerId]),
    org_ids: among(actor.orgIds, reach.orgId === null ? restrictions.org_ids : [reach.orgId]),
    ip_allowlist:
      ipAllowlist === null || restrictions.ip_allowlist?.every((entry) => isWithin(entry, ipAllowlist)) === true,
    expires_at: expiresAt === null || (reach.expiresAt !== null && reach.expiresAt <= expiresAt),
  }
  const lacking = Object.keys(within).find((name) => !within[name])
  if (lacking) {
    const description = `You are restricted by ${lacking}, and this would be restricted less than you.`
    throw new ApiError('forbidden', description)
  }
}
