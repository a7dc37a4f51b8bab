/** The password policy of an issuer (docs/contract.md#password-policy), except the check for breached passwords. */
import { describe, expect, test } from '@jest/globals'
import { ApiError } from '../../src/kernel/errors.js'
import { DAY } from '../../src/kernel/time.js'
import type { Context } from '../../src/platform/context.js'
import { hashPassword } from '../../src/platform/crypto/secrets.js'
import {
  checkNewPassword,
  isPasswordExpired,
  type PasswordOwner,
  type PasswordPolicy,
  passwordPolicyOf,
} from '../../src/resources/credentials/password-policy.js'

const policyWith = (password_policy: Partial<PasswordPolicy> = {}) =>
  passwordPolicyOf({ settings: { security: { password_policy } } })

/**
 * Returns the codes of the violated rules. Only `check_breached` uses the context, so an empty object is sufficient.
 */
async function violations(policy: Partial<PasswordPolicy>, password: string, owner: Partial<PasswordOwner> = {}) {
  const fullOwner = { username: '', profile: null, ...owner }
  try {
    await checkNewPassword({} as Context, policyWith(policy), password, fullOwner, 'new_password')
    return []
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const details = error.options.details ?? []
    expect(details.every(({ field }) => field === 'new_password')).toBe(true)
    return details.map(({ code }) => code.replace('password_', ''))
  }
}

const relaxed = { min_length: 1, disallow_common: false, disallow_user_info: false }

test('the defaults are 8 to 128 characters, no common password and no name of the user', () => {
  expect(passwordPolicyOf({ settings: {} })).toEqual({
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
  })
  expect(policyWith({ min_length: 12 })).toMatchObject({ min_length: 12, max_length: 128 })
  expect(policyWith({ unknown: 1 } as Partial<PasswordPolicy>)).toEqual(policyWith())
})

describe('rules', () => {
  test.each<[string, Partial<PasswordPolicy>, string, string[]]>([
    ['one character below the minimum', { min_length: 9 }, 'abcdefgq', ['too_short']],
    ['the minimum', { min_length: 8 }, 'abcdefgq', []],
    ['the maximum', { max_length: 8 }, 'abcdefgq', []],
    ['one character above the maximum', { max_length: 7 }, 'abcdefgq', ['too_long']],
    ['an emoji counts as one character', { min_length: 2 }, '😀', ['too_short']],
    ['a letter with a combining mark counts as one', { min_length: 2 }, 'e\u0301', ['too_short']],
    ['spaces count', { min_length: 3 }, '   ', []],
    ['no lower case', { require_lowercase: true }, 'ABC1', ['needs_lowercase']],
    ['lower case', { require_lowercase: true }, 'ABCd', []],
    ['lower case of another script', { require_lowercase: true }, 'Жя', []],
    ['no upper case', { require_uppercase: true }, 'abc1', ['needs_uppercase']],
    ['upper case', { require_uppercase: true }, 'abcD', []],
    ['upper case with a mark', { require_uppercase: true }, 'ä\u00d6', []],
    ['no digit', { require_digit: true }, 'abc', ['needs_digit']],
    ['a digit', { require_digit: true }, 'abc1', []],
    ['a digit of another script', { require_digit: true }, 'abc\u0663', []],
    ['a fraction is not a digit', { require_digit: true }, 'abc½', ['needs_digit']],
    ['no symbol', { require_symbol: true }, 'abc1', ['needs_symbol']],
    ['a symbol', { require_symbol: true }, 'abc!', []],
    ['a space is a symbol', { require_symbol: true }, 'a b', []],
    ['a letter with a mark is not a symbol', { require_symbol: true }, 'abc\u00e9', ['needs_symbol']],
    [
      'all at the same time',
      { min_length: 8, require_uppercase: true, require_digit: true, require_symbol: true },
      'abc',
      ['too_short', 'needs_uppercase', 'needs_digit', 'needs_symbol'],
    ],
  ])('length and characters: %s', async (_, policy, password, codes) =>
    expect(await violations({ ...relaxed, ...policy }, password)).toEqual(codes),
  )

  test.each<[string, boolean, string[]]>([
    ['password', true, ['too_common']],
    ['PassWord', true, ['too_common']],
    ['password', false, []],
    ['a password that is not common', true, []],
  ])('common passwords: %j, disallow_common %s', async (password, disallow_common, codes) =>
    expect(await violations({ ...relaxed, disallow_common }, password)).toEqual(codes),
  )
})

describe('disallow_user_info', () => {
  const owner = {
    username: 'Ada.Lovelace@example.com',
    profile: { given_name: 'Augusta', family_name: 'Byron King', nickname: 'Al', city: 'London' },
  }
  test.each<[string, boolean]>([
    ['my ada.lovelace!', false],
    ['ADA.LOVELACE@EXAMPLE.COM', false],
    ['augusta1815', false],
    ['xxAuGuStAxx', false],
    ['the byron family', false],
    ['a king of old', false],
    // Names with fewer than four letters, other profile fields, and parts of the username are allowed.
    ['always an alibi', true],
    ['london bridge', true],
    ['example.com rules', true],
    ['lovelace', true],
    ['something else', true],
  ])('%j is allowed: %s', async (password, allowed) => {
    const policy = { ...relaxed, disallow_user_info: true }
    expect(await violations(policy, password, owner)).toEqual(allowed ? [] : ['contains_user_info'])
    expect(await violations(relaxed, password, owner)).toEqual([])
  })
})

describe('history', () => {
  test.each<[number, string, string[]]>([
    [0, 'first one', []],
    [1, 'third one', ['used_before']],
    [1, 'second one', []],
    [2, 'second one', ['used_before']],
    [3, 'first one', ['used_before']],
    [3, 'fourth one', []],
  ])('with history %i, checking the new password %j returns the codes %j', async (history, password, codes) => {
    const previousHashes = await Promise.all(['third one', 'second one', 'first one'].map(hashPassword))
    expect(await violations({ ...relaxed, history }, password, { previousHashes })).toEqual(codes)
  })
})

test.each<[number | null, number, boolean]>([
  [null, 1000 * DAY, false],
  [30, 30 * DAY - 1, false],
  [30, 30 * DAY, true],
  [1, 0, false],
])('with max_age_days %s, a password that is %i ms old must be changed: %s', (max_age_days, age, expired) => {
  const policy = policyWith({ max_age_days })
  expect(isPasswordExpired(policy, 5000, 5000 + age)).toBe(expired)
  expect(isPasswordExpired(policy, 5000n, 5000 + age)).toBe(expired)
})
