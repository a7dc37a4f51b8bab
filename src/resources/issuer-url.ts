/** Issuer identifiers: the names under which an issuer is known, and what such a name says. */
import type { Config } from '../config.js'
import { isId } from '../kernel/ids.js'
import type { Context } from '../platform/context.js'

/**
 * The issuer identifier: `{IDP_URL}/{issuer_id}`, or the same under a custom domain. Scheme, port and path are those of
 * IDP_URL: whoever serves the domain serves it the same way.
 */
export function issuerUrl({ idpUrl }: Pick<Config, 'idpUrl'>, issuerId: string, host: string | null = null): string {
  if (host === null) return `${idpUrl}/${issuerId}`
  const url = new URL(idpUrl)
  url.hostname = host
  return `${url.href.replace(/\/$/, '')}/${issuerId}`
}

/**
 * Reads an issuer identifier. Whether the host is the issuer's is for the database to say.
 * @returns `host` null for the IdP's own address; undefined for what is written in no way that we write
 */
export function readIssuerUrl(
  config: Pick<Config, 'idpUrl'>,
  text: string,
): { issuerId: string; host: string | null } | undefined {
  const issuerId = text.slice(text.lastIndexOf('/') + 1)
  if (!isId('iss', issuerId) || !URL.canParse(text)) return undefined
  if (text === issuerUrl(config, issuerId)) return { issuerId, host: null }
  const { hostname: host } = new URL(text)
  // Compared as text, for URL repairs what it reads.
  return text === issuerUrl(config, issuerId, host) ? { issuerId, host } : undefined
}

/**
 * The name by which people know an issuer: of its custom domains the one that was verified first, else the IdP's own address. For
 * links that begin outside of a browser, in mails.
 */
export async function homeUrl(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
): Promise<string> {
  const where = { accountId, issuerId, verified: true }
  const domain = await context.db.domain.findFirst({ where, orderBy: { verifiedAt: 'asc' }, select: { host: true } })
  return issuerUrl(context.config, issuerId, domain?.host)
}

/** SQL: are these hosts among those that the issuer `i` is served under? */
export const servesHost = (host: string): string =>
  `EXISTS (SELECT 1 FROM domains d WHERE d.account_id = i.account_id AND d.host = ${host} AND d.verified AND d.issuer_id = i.id)`
