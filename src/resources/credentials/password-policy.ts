/** Password policy of an issuer (docs/contract.md#password-policy). */
import { type ErrorDetail, invalidFields } from '../../kernel/errors.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { verifyPassword } from '../../platform/crypto/secrets.js'
import { isBreachedPassword } from './breached-passwords.js'

export interface PasswordPolicy {
  min_length: number
  max_length: number
  require_lowercase: boolean
  require_uppercase: boolean
  require_digit: boolean
  require_symbol: boolean
  disallow_common: boolean
  disallow_user_info: boolean
  /** Number of latest passwords, including the current one, that may not be used again. */
  history: number
  /** Number of days after which a password must be changed at sign-in; null for never. */
  max_age_days: number | null
  /** Whether new passwords are checked against an external list of breached passwords (breached-passwords.ts). */
  check_breached: boolean
}

const defaultPolicy: PasswordPolicy = {
  min_length: 8,
  max_length: 128,
  require_lowercase: false,
  require_uppercase: false,
  require_digit: false,
  require_symbol: false,
  disallow_common: true,
  disallow_user_info: true,
  history: 0,
  max_age_days: null,
  check_breached: false,
}

/** Returns the policy of an issuer: its setting `security.password_policy`, with defaults for absent keys. */
export function passwordPolicyOf(issuer: { settings: unknown }): PasswordPolicy {
  const settings = issuer.settings as { security?: { password_policy?: Record<string, unknown> } }
  const configured = Object.entries(settings.security?.password_policy ?? {})
  return { ...defaultPolicy, ...Object.fromEntries(configured.filter(([key]) => key in defaultPolicy)) }
}

/** The user of a new password, for the rules `disallow_user_info` and `history`. */
export interface PasswordOwner {
  username: string
  profile: unknown
  /** Hashes of the current and earlier passwords, newest first. */
  previousHashes?: readonly string[]
}

type Rule = [code: string, isViolated: (password: string) => boolean, message: string]

/**
 * Checks a new password against the policy. The history and the list of breached passwords are checked only if the
 * password violates no other rule.
 * @param field name of the password in the caller's input
 * @throws invalid_request with one detail for each violated rule (`password_too_short`, …)
 */
export async function checkNewPassword(
  context: Context,
  policy: PasswordPolicy,
  password: string,
  owner: PasswordOwner,
  field = 'password',
): Promise<void> {
  const text = password.normalize('NFC')
  const length = [...text].length
  const common = policy.disallow_common ? await commonPasswords() : undefined
  const rules: Rule[] = [
    ['password_too_short', () => length < policy.min_length, `must have at least ${policy.min_length} characters.`],
    ['password_too_long', () => length > policy.max_length, `must have at most ${policy.max_length} characters.`],
    [
      'password_needs_lowercase',
      (p) => policy.require_lowercase && !/\p{Ll}/u.test(p),
      'must have a lower-case letter.',
    ],
    [
      'password_needs_uppercase',
      (p) => policy.require_uppercase && !/\p{Lu}/u.test(p),
      'must have an upper-case letter.',
    ],
    ['password_needs_digit', (p) => policy.require_digit && !/\p{Nd}/u.test(p), 'must have a digit.'],
    ['password_needs_symbol', (p) => policy.require_symbol && !/[^\p{L}\p{N}]/u.test(p), 'must have a symbol.'],
    ['password_too_common', (p) => common?.has(p.toLowerCase()) ?? false, 'is too common. Choose another password.'],
    [
      'password_contains_user_info',
      (p) => policy.disallow_user_info && userInfoWords(owner).some((word) => p.toLowerCase().includes(word)),
      'must not contain the username or name.',
    ],
  ]
  const details = rules
    .filter(([, isViolated]) => isViolated(text))
    .map(([code, , message]): ErrorDetail => ({ field, code, message }))
  if (details.length > 0) throw invalidFields(details)
  for (const hash of (owner.previousHashes ?? []).slice(0, policy.history)) {
    if (await verifyPassword(hash, password)) {
      throw invalidFields([
        { field, code: 'password_used_before', message: 'was used before. Choose another password.' },
      ])
    }
  }
  if (policy.check_breached && (await isBreachedPassword(context, text))) {
    throw invalidFields([
      { field, code: 'password_breached', message: 'appeared in a data breach. Choose another password.' },
    ])
  }
}

/**
 * Returns whether a password must be changed because of `max_age_days`.
 * @param setAt when the password was set (Unix milliseconds)
 * @param now Unix milliseconds
 */
export const isPasswordExpired = (policy: PasswordPolicy, setAt: number | bigint, now: number): boolean =>
  policy.max_age_days !== null && Number(setAt) + policy.max_age_days * DAY <= now

/**
 * Returns the username, its part before the `@`, and the words of the profile fields whose keys end with `name`, in
 * lower case. Words with fewer than four characters are left out.
 */
function userInfoWords({ username, profile }: PasswordOwner): string[] {
  const names = Object.entries((profile ?? {}) as Record<string, unknown>)
    .filter(([key, value]) => /name$/.test(key) && typeof value === 'string')
    .map(([, value]) => value as string)
  return [username, username.split('@')[0]!, ...names.flatMap((name) => name.split(/\s+/))]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 4)
}

let common: Promise<Set<string>> | undefined

/** Loads the list of common passwords (about 49,000) on first use. */
function commonPasswords(): Promise<Set<string>> {
  common ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'] as string[]),
  )
  return common
}
