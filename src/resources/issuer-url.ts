/** Creates and parses issuer identifiers (the `iss` of tokens). */
import type { Config } from '../config.js'
import { isId } from '../kernel/ids.js'
import type { Context } from '../platform/context.js'

/**
 * Returns the issuer identifier: `{IDP_URL}/{issuer_id}`, or the same URL with a custom domain as its host. The scheme,
 * port and path of IDP_URL apply to custom domains too.
 * @param host a custom domain; null for the host of IDP_URL
 */
export function issuerUrl({ idpUrl }: Pick<Config, 'idpUrl'>, issuerId: string, host: string | null = null): string {
  if (host === null) return `${idpUrl}/${issuerId}`
  const url = new URL(idpUrl)
  url.hostname = host
  return `${url.href.replace(/\/$/, '')}/${issuerId}`
}

/**
 * Parses an issuer identifier. Does not check that the host is a domain of the issuer.
 * @returns the issuer id, and the host, which is null for the host of IDP_URL; undefined if `issuerUrl` cannot return
 *   the text
 */
export function parseIssuerUrl(
  config: Pick<Config, 'idpUrl'>,
  text: string,
): { issuerId: string; host: string | null } | undefined {
  const issuerId = text.slice(text.lastIndexOf('/') + 1)
  if (!isId('iss', issuerId) || !URL.canParse(text)) return undefined
  if (text === issuerUrl(config, issuerId)) return { issuerId, host: null }
  const { hostname: host } = new URL(text)
  // The texts are compared, because `new URL` would accept other spellings of the same URL.
  return text === issuerUrl(config, issuerId, host) ? { issuerId, host } : undefined
}

/**
 * Returns the issuer identifier for links in mails. Its host is the verified custom domain of the issuer that was
 * verified first, or the host of IDP_URL if the issuer has none.
 */
export async function preferredIssuerUrl(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
): Promise<string> {
  const where = { accountId, issuerId, verified: true }
  const domain = await context.db.domain.findFirst({ where, orderBy: { verifiedAt: 'asc' }, select: { host: true } })
  return issuerUrl(context.config, issuerId, domain?.host)
}

/** SQL condition: the host is a verified domain that is assigned to the issuer `i`. @param host SQL expression */
export const servesHostSql = (host: string): string =>
  `EXISTS (SELECT 1 FROM domains d WHERE d.account_id = i.account_id AND d.host = ${host} AND d.verified AND d.issuer_id = i.id)`
