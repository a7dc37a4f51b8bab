/** `canonicalJson` returns the same text for equal values, in any order of their keys. */
import { expect, test } from '@jest/globals'
import { canonicalJson } from '../../src/kernel/canonical-json.js'

test.each<[unknown, string | undefined]>([
  [null, 'null'],
  ['x', '"x"'],
  [1, '1'],
  [{}, '{}'],
  [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
  [{ b: { d: 1, c: 2 }, a: [] }, '{"a":[],"b":{"c":2,"d":1}}'],
  [[{ b: 1, a: 2 }], '[{"a":2,"b":1}]'],
  // The order of array items is kept.
  [[3, 1, 2], '[3,1,2]'],
  [{ a: undefined, b: null }, '{"b":null}'],
  [{ B: 1, a: 2, A: 3 }, '{"A":3,"B":1,"a":2}'],
  [{ ä: 1, z: 2 }, '{"z":2,"ä":1}'],
  [{ a: '{"b":1}' }, '{"a":"{\\"b\\":1}"}'],
  [undefined, undefined],
])('%j becomes %s', (value, text) => expect(canonicalJson(value)).toBe(text))

test.each<[unknown, unknown]>([
  [{ a: 1 }, { a: '1' }],
  [{ a: null }, {}],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: [] }, { a: {} }],
])('%j and %j have different texts', (first, second) => expect(canonicalJson(first)).not.toBe(canonicalJson(second)))
