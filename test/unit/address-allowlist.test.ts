/** IP allowlists of API keys and personal tokens (docs/contract.md#restrictions-of-keys-and-tokens). */
import { describe, expect, test } from '@jest/globals'
import type { Actor } from '../../src/kernel/context.js'
import { isAddressAllowed, requireNoWiderReach, restrictionRules } from '../../src/resources/keys/restrictions.js'

describe('entries of ip_allowlist', () => {
  const isAccepted = (entry: string) => restrictionRules.safeParse({ ip_allowlist: [entry] }).success
  test.each([
    '203.0.113.7',
    '203.0.113.0/24',
    '203.0.113.7/24',
    '0.0.0.0/0',
    '203.0.113.7/32',
    '2001:db8::1',
    '2001:DB8::/32',
    '::/0',
    '::1/128',
    '::ffff:203.0.113.7',
  ])('%s is accepted', (entry) => expect(isAccepted(entry)).toBe(true))
  test.each([
    '',
    '10',
    '10.1',
    '010.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '256.0.0.1',
    '203.0.113.7/33',
    '203.0.113.7/-1',
    '203.0.113.7/',
    '203.0.113.7/024',
    '203.0.113.7/24/8',
    '203.0.113.7/255.255.255.0',
    '2001:db8::/129',
    '[2001:db8::1]',
    'fe80::1%eth0',
    '203.0.113.*',
    '203.0.113.1-9',
    'example.com',
    ' 203.0.113.7',
    '203.0.113.7:80',
  ])('%j is refused', (entry) => expect(isAccepted(entry)).toBe(false))
})

describe('an allowlist permits an address', () => {
  test.each<[string[] | undefined, string | null, boolean]>([
    [undefined, '203.0.113.7', true],
    [undefined, null, true],
    [[], '203.0.113.7', false],
    [['203.0.113.7'], '203.0.113.7', true],
    [['203.0.113.7'], '203.0.113.8', false],
    [['203.0.113.7'], null, false],
    [['203.0.113.7'], '', false],
    [['203.0.113.7'], 'unknown', false],
    [['203.0.113.0/24'], '203.0.113.255', true],
    [['203.0.113.0/24'], '203.0.114.0', false],
    // Bits after the prefix length are ignored.
    [['203.0.113.7/24'], '203.0.113.1', true],
    [['203.0.113.0/31'], '203.0.113.1', true],
    [['203.0.113.0/31'], '203.0.113.2', false],
    [['0.0.0.0/0'], '203.0.113.7', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['::/0'], '203.0.113.7', false],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['2001:db8::1'], '2001:0DB8:0:0::1', true],
    // An IPv4-mapped IPv6 address, as Node.js returns for IPv4 connections to an IPv6 socket.
    [['203.0.113.7'], '::ffff:203.0.113.7', true],
    [['::ffff:203.0.113.7'], '203.0.113.7', true],
    [['198.51.100.1', '203.0.113.0/24'], '203.0.113.7', true],
  ])('%j, %s: %s', (ip_allowlist, ip, allowed) =>
    expect(isAddressAllowed(ip_allowlist ? { ip_allowlist } : {}, ip)).toBe(allowed),
  )
})

describe('a new credential must not allow an address that the allowlist of its creator refuses', () => {
  const isGranted = (ipAllowlist: string[] | null, ip_allowlist: string[] | undefined) => {
    const actor = { ipAllowlist, issuerIds: null, orgIds: null, expiresAt: null } as unknown as Actor
    const restrictions = ip_allowlist ? { ip_allowlist } : {}
    try {
      requireNoWiderReach({ actor }, { restrictions, expiresAt: null, issuerId: null, orgId: null })
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('ip_allowlist') })
      return false
    }
  }
  test.each<[string[] | null, string[] | undefined, boolean]>([
    [null, undefined, true],
    [null, ['203.0.113.7'], true],
    [['203.0.113.0/24'], undefined, false],
    [['203.0.113.0/24'], [], true],
    [['203.0.113.0/24'], ['203.0.113.0/24'], true],
    [['203.0.113.0/24'], ['203.0.113.128/25'], true],
    [['203.0.113.0/24'], ['203.0.113.7'], true],
    [['203.0.113.0/24'], ['203.0.112.0/23'], false],
    [['203.0.113.0/24'], ['203.0.113.7', '198.51.100.1'], false],
    [['203.0.113.7'], ['203.0.113.0/24'], false],
    [['203.0.113.0/24', '2001:db8::/32'], ['2001:db8:1::/48'], true],
    [['0.0.0.0/0'], ['::/0'], false],
    // One entry of the creator must contain the whole entry, so two halves are not enough.
    [['203.0.113.0/25', '203.0.113.128/25'], ['203.0.113.0/24'], false],
  ])('creator %j, credential %j: %s', (ownList, newList, granted) => expect(isGranted(ownList, newList)).toBe(granted))
})
