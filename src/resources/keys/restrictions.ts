/** What a key or personal token is cut down to (decisions D8). `{}` restricts nothing. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
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
    const [range, bits] = ipaddr.isValidCIDR(entry)
      ? ipaddr.parseCIDR(entry)
      : [ipaddr.process(entry), address.kind() === 'ipv4' ? 32 : 128]
    return range.kind() === address.kind() && address.match(range, bits)
  })
}
