/**
 * Detects changes of issuer settings that weaken sign-in or sign-up. Such changes require the authority of the issuer's
 * users (docs/contract.md#authority-for-changes).
 */
import { canonicalJson } from '../../kernel/canonical-json.js'
import { isObject } from '../../kernel/merge-patch.js'
import type { IssuerSettings } from './settings.js'

type IsWeaker = (before: unknown, after: unknown) => boolean

const turnedOn: IsWeaker = (before, after) => before === false && after === true
const turnedOff: IsWeaker = (before, after) => before === true && after === false
const lowered: IsWeaker = (before, after) => Number(after) < Number(before)
/** For settings in which null means no limit. */
const raised: IsWeaker = (before, after) => before !== null && (after === null || Number(after) > Number(before))
const movedTowards =
  (...fromWeakest: readonly string[]): IsWeaker =>
  (before, after) =>
    fromWeakest.indexOf(String(after)) < fromWeakest.indexOf(String(before))

const entrySet = (list: unknown): Set<string> => new Set((Array.isArray(list) ? list : []).map(canonicalJson))
const hasAddedEntries: IsWeaker = (before, after) => [...entrySet(after)].some((entry) => !entrySet(before).has(entry))
const hasRemovedEntries: IsWeaker = (before, after) => hasAddedEntries(after, before)
/** For allowlists. `everything` says whether an empty list or null allows everything. */
const allowsMore =
  (everything: 'empty' | 'null'): IsWeaker =>
  (before, after) => {
    const all = (list: unknown) => (everything === 'null' ? list === null : entrySet(list).size === 0)
    return !all(before) && (all(after) || hasAddedEntries(before, after))
  }

const METADATA_DOCUMENT_POLICY = 'security.openid_policy.client_id_metadata_document'
const DYNAMIC_REGISTRATION = 'security.openid_policy.dynamic_registration'

/** The default value of each setting, and the function that decides whether a new value is weaker. */
// biome-ignore format: a table, one row for each setting
const weakeningRules: readonly [path: string, absent: unknown, isWeaker: IsWeaker][] = [
  ['security.mfa_required', false, turnedOff],
  ['security.password_policy.min_length', 8, lowered],
  ['security.password_policy.require_lowercase', false, turnedOff],
  ['security.password_policy.require_uppercase', false, turnedOff],
  ['security.password_policy.require_digit', false, turnedOff],
  ['security.password_policy.require_symbol', false, turnedOff],
  ['security.password_policy.disallow_common', true, turnedOff],
  ['security.password_policy.disallow_user_info', true, turnedOff],
  ['security.password_policy.check_breached', false, turnedOff],
  ['security.password_policy.history', 0, lowered],
  ['security.password_policy.max_age_days', null, raised],
  ['security.cors_origins', [], hasAddedEntries],
  ['security.redirect_uri_rules.allow_loopback', true, turnedOn],
  ['security.redirect_uri_rules.allow_private_use_schemes', true, turnedOn],
  ['security.redirect_uri_rules.allowed_hosts', null, allowsMore('null')],
  [`${METADATA_DOCUMENT_POLICY}.enabled`, false, turnedOn],
  [`${METADATA_DOCUMENT_POLICY}.organization_policy`, 'all', movedTowards('all', 'selected', 'none')],
  [`${METADATA_DOCUMENT_POLICY}.allowed_resources`, [], hasAddedEntries],
  [`${METADATA_DOCUMENT_POLICY}.allowed_scopes`, [], hasAddedEntries],
  ['security.openid_policy.profile', null, (before, after) => before === 'fapi2' && after !== 'fapi2'],
  [`${DYNAMIC_REGISTRATION}.enabled`, false, turnedOn],
  [`${DYNAMIC_REGISTRATION}.initial_access_token_required`, true, turnedOff],
  [`${DYNAMIC_REGISTRATION}.allowed_scopes`, [], hasAddedEntries],
  [`${DYNAMIC_REGISTRATION}.allowed_resources`, [], hasAddedEntries],
  ['signup.mode', 'open', movedTowards('open', 'invite_only')],
  ['signup.allowed_domains', [], allowsMore('empty')],
  ['signup.blocked_domains', [], hasRemovedEntries],
  ['signup.require_email_verification', false, turnedOff],
  ['signup.require_admin_approval', false, turnedOff],
]

/** Returns whether the settings `after` make sign-in or sign-up weaker than the settings `before`. */
export const hasWeakerSettings = (before: IssuerSettings, after: IssuerSettings): boolean =>
  weakeningRules.some(([path, absent, isWeaker]) =>
    isWeaker(valueAt(before, path) ?? absent, valueAt(after, path) ?? absent),
  )

const valueAt = (settings: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => (isObject(value) ? value[key] : undefined), settings)
