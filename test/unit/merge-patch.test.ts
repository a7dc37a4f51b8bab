/** JSON Merge Patch (RFC 7396) and the merge of metadata (docs/contract.md#common-field-rules). */
import { describe, expect, test } from '@jest/globals'
import { isObject, type JsonObject, mergeMetadata, mergePatch } from '../../src/kernel/merge-patch.js'

// The table of RFC 7396, appendix A.
const rfc7396: [target: unknown, patch: unknown, result: unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

describe('merge patch', () => {
  test.each(rfc7396)('RFC 7396: %j patched with %j is %j', (target, patch, result) =>
    expect(mergePatch(target, patch)).toEqual(result),
  )

  test.each<[unknown, unknown, unknown]>([
    [undefined, { a: 1 }, { a: 1 }],
    [null, { a: 1 }, { a: 1 }],
    [{ a: 1 }, {}, { a: 1 }],
    [{ a: { b: 1 } }, { a: {} }, { a: { b: 1 } }],
    [{ a: 1 }, { b: null }, { a: 1 }],
    [{ a: 1 }, { a: 0 }, { a: 0 }],
    [{ a: 1 }, { a: '' }, { a: '' }],
    [{ a: true }, { a: false }, { a: false }],
    [{ a: 1 }, { a: [] }, { a: [] }],
    // Null in an array is a value and removes nothing.
    [{ a: 1 }, { a: [null] }, { a: [null] }],
  ])('%j patched with %j is %j', (target, patch, result) => expect(mergePatch(target, patch)).toEqual(result))

  test('changes neither the target nor the patch', () => {
    const target = { a: { b: 1 }, c: 2 }
    const patch = { a: { b: 3 }, c: null }
    mergePatch(target, patch)
    expect([target, patch]).toEqual([
      { a: { b: 1 }, c: 2 },
      { a: { b: 3 }, c: null },
    ])
  })

  test('a key __proto__ does not change a prototype', () => {
    const patch = JSON.parse('{"__proto__": {"isAdmin": true}, "a": {"__proto__": {"isAdmin": true}}}')
    const result = mergePatch({ a: {} }, patch) as { isAdmin?: boolean; a: { isAdmin?: boolean } }
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    expect(Object.hasOwn(result, '__proto__')).toBe(true)
    expect([result.isAdmin, result.a.isAdmin]).toEqual([undefined, undefined])
  })
})

describe('merging metadata', () => {
  test.each<[unknown, JsonObject, JsonObject]>([
    [{}, { a: 1 }, { a: 1 }],
    [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
    [{ a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    [null, { a: 1 }, { a: 1 }],
    // Nested values are replaced, not merged.
    [{ a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3 } }],
    [{ a: { b: 1 } }, { a: { b: null } }, { a: { b: null } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
  ])('%j patched with %j is %j', (target, patch, result) => expect(mergeMetadata(target, patch)).toEqual(result))

  test('a key __proto__ does not change a prototype', () => {
    const result = mergeMetadata({}, JSON.parse('{"__proto__": {"isAdmin": true}}')) as { isAdmin?: boolean }
    expect([({} as { isAdmin?: boolean }).isAdmin, result.isAdmin]).toEqual([undefined, undefined])
  })
})

test.each<[unknown, boolean]>([
  [{}, true],
  [{ a: 1 }, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['', false],
  [0, false],
])('%j is a JSON object: %s', (value, expected) => expect(isObject(value)).toBe(expected))
