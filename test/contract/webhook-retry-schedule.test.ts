/** Retry times of deliveries (docs/contract.md#limits, docs/contract.md#webhook-payload-and-signature). */
import { expect, test } from '@jest/globals'
import { limits } from '../../src/kernel/limits.js'
import { retryAfter, retryDelay } from '../../src/resources/webhooks/delivery-attempt.js'

const [SECOND, HOUR] = [1000, 3_600_000]

test('retry: min(3600, 2^(n-1)) seconds after attempt n, give or take a tenth: 40 attempts in 28.1 hours', () => {
  const middle = Array.from({ length: limits.maxWebhookDeliveryAttempts - 1 }, (_, n) => retryDelay(n + 1, 0.5))
  expect(middle.slice(0, 5)).toEqual([1000, 2000, 4000, 8000, 16_000])
  expect([middle[11], middle[12], middle[38]]).toEqual([2_048_000, HOUR, HOUR])
  expect(middle.reduce((sum, delay) => sum + delay)).toBe(101_295_000)
  expect([retryDelay(1, 0), retryDelay(1, 1), retryDelay(39, 0), retryDelay(39, 1)]).toEqual([
    900, 1100, 3_240_000, 3_960_000,
  ])
})

test.each<[string | undefined, number]>([
  [undefined, 0],
  ['120', 120 * SECOND],
  ['86400', HOUR],
  ['-5', 0],
  ['soon', 0],
  ['Sat, 21 Nov 2026 00:00:30 GMT', 30 * SECOND],
  ['Fri, 20 Nov 2026 00:00:00 GMT', 0],
  ['9'.repeat(400), 0],
])('Retry-After: %s', (header, wait) => {
  expect(retryAfter(header, Date.UTC(2026, 10, 21))).toBe(wait)
})
