/** The check of JSON bodies and forms before a handler runs (docs/contract.md#input-checks). */
import { describe, expect, test } from '@jest/globals'
import { parseJson, UnsafeInputError, unsafeInputError } from '../../src/kernel/safe-json.js'

const nestedArray = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const nestedObject = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

describe('accepted', () => {
  test.each([
    'null',
    'true',
    '0',
    '-1.5e-300',
    '""',
    '{}',
    '[]',
    '{"a": {"b": [1, "x", null]}}',
    '9007199254740991',
    '-9007199254740991',
    '"\\ud83d\\ude00"',
    '"\\u0001"',
    '{"": 1}',
    '{"Constructor": 1, "proto": 1}',
    '{"a": "__proto__"}',
    nestedArray(32),
    nestedObject(32),
  ])('%s', (text) => expect(parseJson(text)).toEqual(JSON.parse(text)))
})

describe('refused', () => {
  test.each<[string, string]>([
    ['', 'The body is not valid JSON.'],
    ['{', 'The body is not valid JSON.'],
    ["{'a': 1}", 'The body is not valid JSON.'],
    ['[1,]', 'The body is not valid JSON.'],
    ['NaN', 'The body is not valid JSON.'],
    ['"\\u0000"', 'The input contains a NUL character or a lone surrogate.'],
    ['"\\ud800"', 'The input contains a NUL character or a lone surrogate.'],
    ['"\\udc00\\ud800"', 'The input contains a NUL character or a lone surrogate.'],
    ['{"a": {"b": ["x", "\\u0000"]}}', 'a.b[1] contains a NUL character or a lone surrogate.'],
    ['{"a": {"\\u0000": 1}}', 'a has a key with a NUL character or a lone surrogate.'],
    ['{"\\ud800": 1}', 'The input has a key with a NUL character or a lone surrogate.'],
    ['9007199254740992', 'The input contains an integer beyond 2^53 - 1.'],
    ['{"a": -9007199254740992}', 'a contains an integer beyond 2^53 - 1.'],
    ['[1e300]', '[0] contains an integer beyond 2^53 - 1.'],
    ['1e999', 'The input contains a number that is not finite.'],
    ['[0, -1e999]', '[1] contains a number that is not finite.'],
    ['{"__proto__": 1}', 'The key __proto__ is not allowed.'],
    ['{"a": [{"constructor": 1}]}', 'The key constructor is not allowed.'],
    ['{"prototype": 1}', 'The key prototype is not allowed.'],
    [nestedArray(33), 'The input is nested more than 32 levels deep.'],
    [nestedObject(33), 'The input is nested more than 32 levels deep.'],
  ])('%s: %s', (text, message) => {
    expect(() => parseJson(text)).toThrow(UnsafeInputError)
    expect(() => parseJson(text)).toThrow(message)
  })
})

test('parsed values, such as those of forms, are checked too', () => {
  expect(unsafeInputError(undefined)).toBeUndefined()
  expect(unsafeInputError({ a: undefined })).toBeUndefined()
  expect(unsafeInputError({ client_id: 'x\0' })).toBe('client_id contains a NUL character or a lone surrogate.')
  expect(unsafeInputError(Number.NaN)).toBe('The input contains a number that is not finite.')
})
