/**
 * The key by which rate limits count anonymous requests: IPv4 address or IPv6 network (docs/contract.md#rate-limits).
 */
import { expect, test } from '@jest/globals'
import { networkOf } from '../../src/kernel/network.js'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
  ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['::', '0:0:0:0::/64'],
  ['0000:0001:0010:0100::', '0:1:10:100::/64'],
  ['', ''],
  ['nonsense', 'nonsense'],
  [null, ''],
])('%s is counted as %s', (ip, counted) => {
  expect(networkOf(ip)).toBe(counted)
})
