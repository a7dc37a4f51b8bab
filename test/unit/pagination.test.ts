/** The parameters `limit` and `cursor`, and pages (docs/contract.md#pagination). */
import { describe, expect, test } from '@jest/globals'
import { ApiError } from '../../src/kernel/errors.js'
import { idTimestamp } from '../../src/kernel/ids.js'
import { checkPageLimit, toPage } from '../../src/kernel/pagination.js'
import { whereBelowCursor, whereOlderThanCursor } from '../../src/resources/resource-path.js'

describe('limit', () => {
  test.each<[number | null | undefined, number]>([
    [undefined, 50],
    [null, 50],
    [1, 1],
    [50, 50],
    [100, 100],
  ])('%s requests a page of %i', (limit, size) => expect(checkPageLimit({ limit: limit as number })).toBe(size))

  test.each([0, -1, 101, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, '10'])(
    '%s is refused',
    (limit) => {
      expect(() => checkPageLimit({ limit: limit as number })).toThrow(ApiError)
      expect(() => checkPageLimit({ limit: limit as number })).toThrow('limit: must be a whole number from 1 to 100.')
    },
  )

  test('the caller can set another maximum and default, as for backlinks', () => {
    expect(checkPageLimit({}, 50, 10)).toBe(10)
    expect(checkPageLimit({ limit: 50 }, 50, 10)).toBe(50)
    expect(() => checkPageLimit({ limit: 51 }, 50, 10)).toThrow('from 1 to 50')
  })
})

describe('page', () => {
  const rows = (...ids: string[]) => ids.map((id) => ({ id }))
  test.each<[string[], number, string[], string | null]>([
    [[], 2, [], null],
    [['a'], 2, ['a'], null],
    [['a', 'b'], 2, ['a', 'b'], null],
    // The query reads one row more than the limit. If there is such a row, there is another page.
    [['a', 'b', 'c'], 2, ['a', 'b'], 'b'],
    [['a', 'b'], 1, ['a'], 'a'],
  ])('of rows %j with limit %i: %j, next cursor %j', (ids, limit, data, nextCursor) =>
    expect(toPage(rows(...ids), limit)).toEqual({ data: rows(...data), nextCursor, hasMore: nextCursor !== null }),
  )
})

describe('cursor', () => {
  const id = 'usr_01m82xbyw7eyyr72s66vw463dr'

  test.each([undefined, null])('%s selects the first page', (cursor) => {
    expect(whereBelowCursor('usr', cursor)).toEqual({})
    expect(whereOlderThanCursor('usr', cursor)).toEqual({})
  })

  test('an id selects the rows with lower ids', () => {
    expect(whereBelowCursor('usr', id)).toEqual({ id: { lt: id } })
    expect(whereOlderThanCursor('usr', id)).toEqual({ id: { lt: id }, createdAt: { lte: idTimestamp(id) } })
  })

  test.each(['', 'x', 'usr', 'usr_', id.replace('usr', 'org'), id.toUpperCase(), `${id}0`, ` ${id}`, id.slice(0, -1)])(
    '%j is refused',
    (cursor) => {
      for (const where of [whereBelowCursor, whereOlderThanCursor]) {
        expect(() => where('usr', cursor)).toThrow(ApiError)
        expect(() => where('usr', cursor)).toThrow('cursor: must be the next_cursor')
      }
    },
  )
})
