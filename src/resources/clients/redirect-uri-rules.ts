/**
 * `settings.security.redirect_uri_rules` of an issuer (decisions D34): which redirect and post-logout redirect URIs its
 * clients may have, of those that spec 4.16 allows. The rules narrow, they never widen.
 */
import { z } from 'zod'
import { type Detail, invalid } from '../../kernel/errors.js'
import { rules } from '../../kernel/input.js'
import { startOf } from '../../kernel/text.js'
import { isLoopback } from '../../kernel/uri.js'
import type { Issuer } from '../../platform/database.js'
import type { ClientSettings } from './settings.js'

const MAX_HOSTS = 100

/** A host in the form in which URLs carry it: lower case, A-labels. Undefined for what is not a host alone. */
function hostOf(text: string): string | undefined {
  const isIpv6 = /^\[[0-9a-f:.]+\]$/i.test(text)
  if (!isIpv6 && (text === '' || /[\s/?#@:\\[\]%*]/.test(text))) return undefined
  return URL.canParse(`https://${text}/`) ? new URL(`https://${text}/`).hostname : undefined
}

/** One entry of `allowed_hosts`: a host, or any host with exactly one more label. */
function patternOf(text: string): { host: string; anyLabel: boolean } | undefined {
  const anyLabel = text.startsWith('*.')
  const host = hostOf(anyLabel ? text.slice(2) : text)
  // An IP address has no labels.
  if (host === undefined || (anyLabel && (host.startsWith('[') || /^[\d.]+$/.test(host)))) return undefined
  return { host, anyLabel }
}

const hostRule = rules
  .text(260)
  .refine((text) => patternOf(text) !== undefined, {
    error: 'must be a host such as app.example.com, or *.example.com for one label more, without scheme and port.',
    params: { code: 'invalid_format' },
  })
  .refine((text) => !isLoopback(patternOf(text)?.host ?? ''), {
    error: 'must not be a loopback host; allow_loopback is the rule for those.',
    params: { code: 'invalid_value' },
  })

export const redirectUriRulesRules = z.strictObject(
  {
    /** Redirect URIs on 127.0.0.1, [::1] and localhost; true if absent. */
    allow_loopback: rules.boolean.optional(),
    /** Redirect URIs of native applications such as com.example.app:/callback; true if absent. */
    allow_private_use_schemes: rules.boolean.optional(),
    /** The hosts of all other redirect URIs; any if null or absent. */
    allowed_hosts: z
      .array(hostRule, 'must be an array of hosts, or null.')
      .min(1, 'must not be empty; null allows any host.')
      .max(MAX_HOSTS, `must have at most ${MAX_HOSTS} entries.`)
      .nullable()
      .optional(),
  },
  'must be an object.',
)

export type RedirectUriRules = z.infer<typeof redirectUriRulesRules>

/** The rules of a stored issuer. */
export const redirectUriRulesOf = (issuer: { settings: unknown }): RedirectUriRules | undefined =>
  (issuer.settings as { security?: { redirect_uri_rules?: RedirectUriRules } }).security?.redirect_uri_rules

/**
 * Whether a redirect URI satisfies the rules of an issuer.
 * @param uri one that spec 4.16 allows (`callbackFault`)
 * @returns the rule that refuses it and why, as a clause; undefined when the URI may be used
 */
export function refusingRule(
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
  if (allowed_hosts === null || allowed_hosts.some((text) => matches(text, hostname))) return undefined
  return { rule: 'allowed_hosts', reason: `the host ${hostname} is not in the list` }
}

function matches(text: string, hostname: string): boolean {
  const pattern = patternOf(text)
  if (!pattern) return false
  if (!pattern.anyLabel) return pattern.host === hostname
  const [, ...rest] = hostname.split('.')
  return rest.join('.') === pattern.host
}

/** Where the rules are found, for messages about them. */
const SETTING = 'settings.security.redirect_uri_rules'

/** The sentence that tells an operator or developer which rule of the issuer refuses a URI. */
export function refusalOf(issuerRules: RedirectUriRules | undefined, uri: string): string | undefined {
  const refused = refusingRule(issuerRules, uri)
  return refused && `${SETTING}.${refused.rule} of the issuer refuses ${startOf(uri, 200)}: ${refused.reason}`
}

/** The URIs of one list that the rules of the issuer refuse, each with its place. */
export function ruleFaults(
  issuerRules: RedirectUriRules | undefined,
  field: string,
  list: readonly string[],
): Detail[] {
  return list.flatMap((uri, index) => {
    const refusal = refusalOf(issuerRules, uri)
    if (refusal === undefined) return []
    return [{ field: `${field}[${index}]`, code: 'not_allowed', message: `is not allowed: ${refusal}.` }]
  })
}

/**
 * The issuer's own rules for the redirect URIs of a client (decisions D34). A client that breaks a newer rule works on
 * until its settings are changed.
 * @throws invalid_request naming each URI and the rule that refuses it
 */
export function requireAllowedUris(issuer: Issuer, { openid = {} }: ClientSettings): void {
  const faults = (['redirect_uris', 'post_logout_redirect_uris'] as const).flatMap((list) =>
    ruleFaults(redirectUriRulesOf(issuer), `settings.openid.${list}`, openid[list] ?? []),
  )
  if (faults.length > 0) throw invalid(faults)
}
