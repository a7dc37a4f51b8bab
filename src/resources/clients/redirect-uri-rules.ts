/**
 * Redirect URI rules of an issuer: the setting `security.redirect_uri_rules`
 * (docs/contract.md#redirect-uri-rules-of-an-issuer). The rules only restrict the URIs that
 * docs/contract.md#redirect-uri-registration allows; they cannot allow other URIs.
 */
import { z } from 'zod'
import { type ErrorDetail, invalidFields } from '../../kernel/errors.js'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { truncateText } from '../../kernel/text.js'
import { isLoopback } from '../../kernel/uri.js'
import type { Issuer } from '../../platform/postgres/database.js'
import type { ClientSettings } from './settings.js'

/** Returns a host in the form of `URL.hostname` (lower case, A-labels); undefined if the text is not only a host. */
function urlHostOf(text: string): string | undefined {
  const isIpv6 = /^\[[0-9a-f:.]+\]$/i.test(text)
  if (!isIpv6 && (text === '' || /[\s/?#@:\\[\]%*]/.test(text))) return undefined
  return URL.canParse(`https://${text}/`) ? new URL(`https://${text}/`).hostname : undefined
}

/**
 * Parses an entry of `allowed_hosts`: a host, or `*.` and a host, which allows hosts with exactly one more label.
 * Returns undefined for an invalid entry.
 */
function parseHostPattern(text: string): { host: string; anyLabel: boolean } | undefined {
  const anyLabel = text.startsWith('*.')
  const host = urlHostOf(anyLabel ? text.slice(2) : text)
  // `*.` cannot be combined with an IP address, which has no labels.
  if (host === undefined || (anyLabel && (host.startsWith('[') || /^[\d.]+$/.test(host)))) return undefined
  return { host, anyLabel }
}

const hostRule = fieldSchemas
  .text(260)
  .refine((text) => parseHostPattern(text) !== undefined, {
    error:
      'must be a host such as app.example.com, or *.example.com for exactly one more label, without a scheme or port.',
    params: { code: 'invalid_format' },
  })
  .refine((text) => !isLoopback(parseHostPattern(text)?.host ?? ''), {
    error: 'must not be a loopback host; use allow_loopback for loopback hosts.',
    params: { code: 'invalid_value' },
  })

export const redirectUriRulesSchema = z.strictObject(
  {
    /** Whether redirect URIs may use 127.0.0.1, [::1] and localhost; true if absent. */
    allow_loopback: fieldSchemas.boolean.optional(),
    /** Whether native clients may use private-use schemes such as com.example.app:/callback; true if absent. */
    allow_private_use_schemes: fieldSchemas.boolean.optional(),
    /** Hosts that redirect URIs may have in addition to loopback hosts; null or absent allows any host. */
    allowed_hosts: z
      .array(hostRule, 'must be an array of hosts, or null.')
      .min(1, 'must not be empty; null allows any host.')
      .max(limits.maxRedirectUriRuleHosts, `must have at most ${limits.maxRedirectUriRuleHosts} entries.`)
      .nullable()
      .optional(),
  },
  'must be an object.',
)

export type RedirectUriRules = z.infer<typeof redirectUriRulesSchema>

/** Returns the redirect URI rules in the issuer's settings, or undefined if it has none. */
export const redirectUriRulesOf = (issuer: { settings: unknown }): RedirectUriRules | undefined =>
  (issuer.settings as { security?: { redirect_uri_rules?: RedirectUriRules } }).security?.redirect_uri_rules

/**
 * Checks a redirect URI against the rules of an issuer.
 * @param uri a URI that `redirectUriError` accepts
 * @returns the violated rule and a clause with the reason, or undefined if the URI is allowed
 */
export function violatedRule(
  { allow_loopback = true, allow_private_use_schemes = true, allowed_hosts = null }: RedirectUriRules = {},
  uri: string,
): { rule: keyof RedirectUriRules; reason: string } | undefined {
  const { protocol, hostname } = new URL(uri)
  if (protocol !== 'https:' && protocol !== 'http:') {
    if (allow_private_use_schemes) return undefined
    return { rule: 'allow_private_use_schemes', reason: 'private-use schemes are not allowed' }
  }
  if (isLoopback(hostname)) {
    return allow_loopback ? undefined : { rule: 'allow_loopback', reason: 'loopback hosts are not allowed' }
  }
  if (allowed_hosts === null || allowed_hosts.some((text) => matchesHostPattern(text, hostname))) return undefined
  return { rule: 'allowed_hosts', reason: `the host ${hostname} is not in the list` }
}

function matchesHostPattern(text: string, hostname: string): boolean {
  const pattern = parseHostPattern(text)
  if (!pattern) return false
  if (!pattern.anyLabel) return pattern.host === hostname
  const [, ...rest] = hostname.split('.')
  return rest.join('.') === pattern.host
}

/** The name of the setting in error messages. */
const SETTING = 'settings.security.redirect_uri_rules'

/** Returns a clause that says which rule of the issuer rejects a URI; undefined if the URI is allowed. */
export function redirectUriViolation(issuerRules: RedirectUriRules | undefined, uri: string): string | undefined {
  const violation = violatedRule(issuerRules, uri)
  return (
    violation && `${SETTING}.${violation.rule} of the issuer refuses ${truncateText(uri, 200)}: ${violation.reason}`
  )
}

/** Returns the errors of a list of URIs. The `field` of each error contains the index of the URI. */
export function redirectUriRuleErrors(
  issuerRules: RedirectUriRules | undefined,
  field: string,
  list: readonly string[],
): ErrorDetail[] {
  return list.flatMap((uri, index) => {
    const violation = redirectUriViolation(issuerRules, uri)
    if (violation === undefined) return []
    return [{ field: `${field}[${index}]`, code: 'not_allowed', message: `is not allowed: ${violation}.` }]
  })
}

/**
 * Requires that the URIs in the settings of a client comply with the redirect URI rules of the issuer. Call it when the
 * settings change or the client is enabled. A client that violates a newer rule keeps working, but such changes are
 * refused.
 * @throws invalid_request with one detail per URI that a rule rejects
 */
export function requireAllowedRedirectUris(issuer: Issuer, { openid = {} }: ClientSettings): void {
  const errors = (['redirect_uris', 'post_logout_redirect_uris'] as const).flatMap((list) =>
    redirectUriRuleErrors(redirectUriRulesOf(issuer), `settings.openid.${list}`, openid[list] ?? []),
  )
  if (errors.length > 0) throw invalidFields(errors)
}
