/** ETag, If-Match and If-None-Match (docs/contract.md#etag-and-if-match). */
import { describe, expect, test } from '@jest/globals'
import { ApiError } from '../../src/kernel/errors.js'
import {
  etagOf,
  matchesIfNoneMatch,
  matchesPrecondition,
  type Precondition,
  parseIfMatch,
} from '../../src/kernel/etag.js'

test.each([
  [1763690000000, '"1763690000000"'],
  [1763690000000n, '"1763690000000"'],
  [0, '"0"'],
])('the ETag of a row with updated_at %s is %s', (updatedAt, etag) => expect(etagOf({ updatedAt })).toBe(etag))

describe('If-Match', () => {
  test.each<[string | null | undefined, Precondition | undefined]>([
    [undefined, undefined],
    [null, undefined],
    ['*', '*'],
    [' * ', '*'],
    ['"1"', ['1']],
    ['\t "1" \t', ['1']],
    ['""', ['']],
    ['"1","2"', ['1', '2']],
    ['"1" , "2",\t"3"', ['1', '2', '3']],
    // An entity tag may contain a comma (RFC 9110, section 8.8.3).
    ['"1,2"', ['1,2']],
    ['"a,", ",b"', ['a,', ',b']],
    ['"*"', ['*']],
    ['"\u00ff"', ['\u00ff']],
  ])('%j is parsed as %j', (header, precondition) => expect(parseIfMatch(header)).toEqual(precondition))

  test.each([
    '',
    ' ',
    '1',
    '"1',
    '1"',
    "'1'",
    'W/"1"',
    ' W/"1"',
    '"1", W/"2"',
    'w/"1"',
    '"1" "2"',
    '"1";"2"',
    '"1",',
    ',"1"',
    '"1",,"2"',
    '*, "1"',
    '"1", *',
    '**',
    '"a b"',
    '"a"b"',
    '"\u0000"',
    '"\u007f"',
    '"\u0100"',
  ])('%j is refused', (header) => {
    expect(() => parseIfMatch(header)).toThrow(ApiError)
    expect(() => parseIfMatch(header)).toThrow(/^ifMatch: /)
  })

  test.each<[Precondition | undefined, number | bigint, boolean]>([
    [undefined, 1, true],
    ['*', 1, true],
    [['1'], 1, true],
    [['1'], 1n, true],
    [['2', '1'], 1, true],
    [['2'], 1, false],
    [['01'], 1, false],
    [['1.0'], 1, false],
    [[''], 0, false],
    [['*'], 1, false],
    [[], 1, false],
  ])('%j matches a row with updated_at %s: %s', (precondition, updatedAt, matches) =>
    expect(matchesPrecondition(precondition, { updatedAt })).toBe(matches),
  )
})

describe('If-None-Match', () => {
  test.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['*', true],
    [' * ', true],
    ['"1"', true],
    ['W/"1"', true],
    ['"2", W/"1"', true],
    ['"2"', false],
    ['"11"', false],
    ['1', false],
    ['w/"1"', false],
  ])('%j matches the ETag "1": %s', (header, matches) => expect(matchesIfNoneMatch(header, '"1"')).toBe(matches))
})
