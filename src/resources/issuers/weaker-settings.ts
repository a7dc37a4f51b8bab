/**
 * Which change of an issuer's settings makes signing in weaker (decisions D30). One row for each setting under `security`
 * and `signup` that has a direction: where it is, its value when absent, and when another value is the weaker one.
 */
import { canonicalJson } from '../../kernel/canonical.js'
import { isObject } from '../../kernel/merge.js'
import type { IssuerSettings } from './settings.js'

type IsWeaker = (before: unknown, after: unknown) => boolean

const on: IsWeaker = (before, after) => before === false && after === true
const off: IsWeaker = (before, after) => before === true && after === false
const lower: IsWeaker = (before, after) => Number(after) < Number(before)
/** Null is without a limit. */
const later: IsWeaker = (before, after) => before !== null && (after === null || Number(after) > Number(before))
const oneOf =
  (...fromWeakest: readonly string[]): IsWeaker =>
  (before, after) =>
    fromWeakest.indexOf(String(after)) < fromWeakest.indexOf(String(before))

const entries = (list: unknown): Set<string> => new Set((Array.isArray(list) ? list : []).map(canonicalJson))
const added: IsWeaker = (before, after) => [...entries(after)].some((entry) => !entries(before).has(entry))
const removed: IsWeaker = (before, after) => added(after, before)
/** A list of what is allowed, where an empty one or null allows everything. */
const allowsMore =
  (everything: 'empty' | 'null'): IsWeaker =>
  (before, after) => {
    const all = (list: unknown) => (everything === 'null' ? list === null : entries(list).size === 0)
    return !all(before) && (all(after) || added(before, after))
  }

const policy = 'security.openid_policy.client_id_metadata_document'

// biome-ignore format: a table, one row for each setting
const rows: readonly [path: string, absent: unknown, isWeaker: IsWeaker][] = [
  ['security.mfa_required', false, off],
  ['security.password_policy.min_length', 8, lower],
  ['security.password_policy.require_lowercase', false, off],
  ['security.password_policy.require_uppercase', false, off],
  ['security.password_policy.require_digit', false, off],
  ['security.password_policy.require_symbol', false, off],
  ['security.password_policy.disallow_common', true, off],
  ['security.password_policy.disallow_user_info', true, off],
  ['security.password_policy.check_breached', false, off],
  ['security.password_policy.history', 0, lower],
  ['security.password_policy.max_age_days', null, later],
  ['security.cors_origins', [], added],
  ['security.redirect_uri_rules.allow_loopback', true, on],
  ['security.redirect_uri_rules.allow_private_use_schemes', true, on],
  ['security.redirect_uri_rules.allowed_hosts', null, allowsMore('null')],
  [`${policy}.enabled`, false, on],
  [`${policy}.organization_policy`, 'all', oneOf('all', 'selected', 'none')],
  [`${policy}.allowed_resources`, [], added],
  [`${policy}.allowed_scopes`, [], added],
  ['signup.mode', 'open', oneOf('open', 'invite_only')],
  ['signup.allowed_domains', [], allowsMore('empty')],
  ['signup.blocked_domains', [], removed],
  ['signup.require_email_verification', false, off],
  ['signup.require_admin_approval', false, off],
]

/** Is signing in, or signing up, weaker with the settings `after` than with those `before`? */
export const weakens = (before: IssuerSettings, after: IssuerSettings): boolean =>
  rows.some(([path, absent, isWeaker]) => isWeaker(valueAt(before, path) ?? absent, valueAt(after, path) ?? absent))

const valueAt = (settings: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => (isObject(value) ? value[key] : undefined), settings)
