/** Password policy of an issuer (decisions D9): length and a list of common passwords; composition only on request. */
import { type Detail, invalid } from '../../kernel/errors.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { verifyPassword } from '../../platform/secrets.js'
import { isBreached } from './breached.js'

export interface PasswordPolicy {
  min_length: number
  max_length: number
  require_lowercase: boolean
  require_uppercase: boolean
  require_digit: boolean
  require_symbol: boolean
  disallow_common: boolean
  disallow_user_info: boolean
  /** How many earlier passwords may not come back. */
  history: number
  /** After how many days a password must be changed at sign-in; null for never. */
  max_age_days: number | null
  /** Ask a service outside whether the password has leaked somewhere (breached.ts). */
  check_breached: boolean
}

const defaults: PasswordPolicy = {
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

/** The policy in force at an issuer: its settings over the defaults. */
export function passwordPolicyOf(issuer: { settings: unknown }): PasswordPolicy {
  const settings = issuer.settings as { security?: { password_policy?: Record<string, unknown> } }
  const given = Object.entries(settings.security?.password_policy ?? {})
  return { ...defaults, ...Object.fromEntries(given.filter(([key]) => key in defaults)) }
}

/** What a password must not contain or repeat. */
export interface PasswordOwner {
  username: string
  profile: unknown
  /** Argon2id hashes of earlier passwords, newest first. */
  previousHashes?: readonly string[]
}

type Rule = [code: string, broken: (password: string) => boolean, message: string]

/**
 * Checks a new password against the policy.
 * @param field where the password stands in the caller's input
 * @throws invalid_request with one detail per broken rule (`password_too_short`, …)
 */
export async function checkPassword(
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
    [
      'password_too_common',
      (p) => common?.has(p.toLowerCase()) ?? false,
      'is one that many people use; choose another.',
    ],
    [
      'password_contains_user_info',
      (p) => policy.disallow_user_info && personalWords(owner).some((word) => p.toLowerCase().includes(word)),
      'must not contain the username or name.',
    ],
  ]
  const details = rules
    .filter(([, broken]) => broken(text))
    .map(([code, , message]): Detail => ({ field, code, message }))
  if (details.length > 0) throw invalid(details)
  for (const hash of (owner.previousHashes ?? []).slice(0, policy.history)) {
    if (await verifyPassword(hash, password)) {
      throw invalid([{ field, code: 'password_used_before', message: 'was used before; choose another.' }])
    }
  }
  if (policy.check_breached && (await isBreached(context, text))) {
    throw invalid([{ field, code: 'password_breached', message: 'has leaked from some service; choose another.' }])
  }
}

/** Is a password of this age due for a change (`max_age_days`)? Both in Unix milliseconds. */
export const isOutworn = (policy: PasswordPolicy, setAt: number | bigint, now: number): boolean =>
  policy.max_age_days !== null && Number(setAt) + policy.max_age_days * DAY <= now

/** Words of four letters and more from the username and names, in lower case. */
function personalWords({ username, profile }: PasswordOwner): string[] {
  const names = Object.entries((profile ?? {}) as Record<string, unknown>)
    .filter(([key, value]) => /name$/.test(key) && typeof value === 'string')
    .map(([, value]) => value as string)
  return [username, username.split('@')[0]!, ...names.flatMap((name) => name.split(/\s+/))]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 4)
}

let common: Promise<Set<string>> | undefined

/** Some 49,000 passwords that turn up in leaks most often; read when first needed. */
function commonPasswords(): Promise<Set<string>> {
  common ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'] as string[]),
  )
  return common
}
