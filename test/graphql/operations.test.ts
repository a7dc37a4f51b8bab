/** The documents behind `/v1` come with the build and are not looked over again at each start: they are right here. */
import { describe, expect, test } from '@jest/globals'
import { validate } from 'graphql'
import { readOperations } from '../../src/graphql/operations.js'
import { schema } from '../../src/graphql/schema.js'
import { wireName } from '../../src/kernel/names.js'
import { readEntries } from '../../src/rest/serve.js'

const operations = [...readOperations('rest', wireName).values()]

describe.each(operations)('$name', ({ document, definition }) => {
  test('fits the schema', () => expect(validate(schema(), document)).toEqual([]))

  test('runs one root field', () => expect(definition.selectionSet.selections).toHaveLength(1))
})

test('each is run by a route', () => {
  const run = new Set([...readEntries().keys()].map(({ operation }) => operation))
  expect(operations.map(({ name }) => name).filter((name) => !run.has(name))).toEqual([])
})
