/** The format and order of identifiers (docs/contract.md#identifiers). */
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { idTimestamp, isId, lowestIdAt, newId, newRow, resetIdGenerator } from '../../src/kernel/ids.js'

const NOW = 1_763_690_000_000
const id = 'usr_01m82xbyw7eyyr72s66vw463dr'

beforeEach(resetIdGenerator)
afterAll(resetIdGenerator)

describe('format', () => {
  test.each<[unknown, boolean]>([
    [id, true],
    [`usr_${'0'.repeat(26)}`, true],
    [`usr_7${'z'.repeat(25)}`, true],
    // 26 characters have 130 bits and a UUID has 128, so the first character is at most 7.
    [`usr_8${'0'.repeat(25)}`, false],
    [`org_${id.slice(4)}`, false],
    [id.toUpperCase(), false],
    [id.slice(0, -1), false],
    [`${id}0`, false],
    [`${id}\n`, false],
    [` ${id}`, false],
    // i, l, o and u are not in the alphabet.
    ...['i', 'l', 'o', 'u', '-', '_', 'é'].map((letter): [string, boolean] => [id.slice(0, -1) + letter, false]),
    ['usr_', false],
    ['usr', false],
    ['', false],
    [null, false],
    [undefined, false],
    [7, false],
    [[id], false],
  ])('%j is a user id: %s', (text, expected) => expect(isId('usr', text)).toBe(expected))

  test('an id with another prefix is refused', () => {
    expect(isId('am', newId('am', NOW))).toBe(true)
    expect(isId('am', newId('acc', NOW))).toBe(false)
    expect(isId('ak', newId('key', NOW))).toBe(false)
  })

  test('a new id is a UUIDv7 with the time of its creation', () => {
    const text = newId('usr', NOW)
    expect(isId('usr', text)).toBe(true)
    expect(idTimestamp(text)).toBe(NOW)
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    const bits = [...text.slice(4)].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
    // Two zero bits, 48 bits of time, the version 7, 12 other bits, and the variant (RFC 9562, section 5.7).
    expect([bits.length, bits.slice(0, 2), bits.slice(50, 54), bits.slice(66, 68)]).toEqual([130, '00', '0111', '10'])
  })
})

describe('order', () => {
  test('ids of one millisecond increase strictly, also after the counter overflows', () => {
    const list = Array.from({ length: 10_000 }, () => newId('evt', NOW))
    expect([...list].sort()).toEqual(list)
    expect(new Set(list).size).toBe(list.length)
    expect(idTimestamp(list.at(-1)!)).toBeGreaterThan(NOW)
  })

  test('ids increase when the clock goes back', () => {
    const [first, second] = [newId('evt', NOW), newId('evt', NOW - 5000)]
    expect(second > first).toBe(true)
    expect(idTimestamp(second)).toBe(NOW)
  })

  test('created_at and updated_at of a new row are the time of its id', () => {
    for (let n = 0; n < 5000; n++) newId('usr', NOW)
    const row = newRow('usr', NOW)
    const time = idTimestamp(row.id)
    expect(time).toBeGreaterThan(NOW)
    expect(row).toEqual({ id: row.id, createdAt: time, updatedAt: time })
  })
})

describe('lowestIdAt', () => {
  test.each([
    [0, 0],
    [1, 1],
    [NOW, NOW],
    [NOW + 0.2, NOW + 1],
    [-1, 0],
    [Number.NEGATIVE_INFINITY, 0],
    [2 ** 48 - 1, 2 ** 48 - 1],
    [2 ** 48, 2 ** 48 - 1],
    [Number.MAX_SAFE_INTEGER, 2 ** 48 - 1],
  ])('lowestIdAt(%s) has the time %s', (time, expected) => {
    const lowest = lowestIdAt('evt', time)
    expect(isId('evt', lowest)).toBe(true)
    expect(idTimestamp(lowest)).toBe(expected)
  })

  test('returns an id that is lower than ids of this time and higher than earlier ids', () => {
    const before = newId('evt', NOW - 1)
    const at = newId('evt', NOW)
    expect([before < lowestIdAt('evt', NOW), lowestIdAt('evt', NOW) < at]).toEqual([true, true])
  })
})
