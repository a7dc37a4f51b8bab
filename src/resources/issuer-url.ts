/** Creates and parses issuer identifiers (the `iss` of tokens). */
import type { Config } from '../config.js'
import { isId } from '../kernel/ids.js'
import type { Context } from '../platform/context.js'

/**
 * Returns the issuer identifier: `{IDP_URL}/{issuer_id}`, or the same with a custom domain as the host. A custom domain
 * has the scheme, port and path of IDP_URL.
 */
export function issuerUrl({ idpUrl }: Pick<Config, 'idpUrl'>, issuerId: string, host: string | null = null): string {
  if (host === null) return `${idpUrl}/${issuerId}`
  const url = new URL(idpUrl)
  url.hostname = host
  return `${url.href.replace(/\/$/, '')}/${issuerId}`
}

/**
 * Parses an issuer identifier. Does not check that the host is a domain of the issuer.
 * @returns `host` is null for the host of IDP_URL; undefined for a text that `issuerUrl` cannot return
 */
export function parseIssuerUrl(
  config: Pick<Config, 'idpUrl'>,
  text: string,
): { issuerId: string; host: string | null } | undefined {
  const issuerId = text.slice(text.lastIndexOf('/') + 1)
  if (!isId('iss', issuerId) || !URL.canParse(text)) return undefined
  if (text === issuerUrl(config, issuerId)) return { issuerId, host: null }
  const { hostname: host } = new URL(text)
  // Compared as text, because URL normalizes its input.
  return text === issuerUrl(config, issuerId, host) ? { issuerId, host } : undefined
}

/**
 * Returns the issuer identifier for links in mails: with the custom domain that was verified first, otherwise with the
 * host of IDP_URL.
 */
export async function preferredIssuerUrl(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
): Promise<string> {
  const where = { accountId, issuerId, verified: true }
  const domain = await context.db.domain.findFirst({ where, orderBy: { verifiedAt: 'asc' }, select: { host: true } })
  return issuerUrl(context.config, issuerId, domain?.host)
}

/** SQL: whether `host` (SQL) is a verified domain that is assigned to the issuer `i`. */
export const servesHostSql = (host: string): string =>
  `EXISTS (SELECT 1 FROM domains d WHERE d.account_id = i.account_id AND d.host = ${host} AND d.verified AND d.issuer_id = i.id)`
