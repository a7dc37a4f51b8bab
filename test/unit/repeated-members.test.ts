import { expect, test } from '@jest/globals'
import { repeatedMember } from '../../src/kernel/repeated-members.js'

test.each([
  ['{"a":1,"b":2,"a":3}', 'a'],
  ['{"a":{"b":1,"b":2}}', 'b'],
  ['[{"a":1},{"a":1,"c":[{"x":1}],"a":2}]', 'a'],
  ['{"a\\u0062":1,"ab":2}', 'ab'],
  ['{"a":1 , "a" : 2}', 'a'],
  ['{"":1,"":2}', ''],
])('%s repeats the member %j', (text, name) => {
  expect(repeatedMember(text)).toBe(name)
})

test.each([
  '{}',
  '[]',
  '"a"',
  '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}',
  '{"a":"a","b":["a","a"]}',
  '{"a":"\\"a\\":1,","b":"{\\"a\\":1}"}',
  '{"A":1,"a":2}',
])('%s repeats no member of an object', (text) => {
  expect(repeatedMember(text)).toBeUndefined()
})
