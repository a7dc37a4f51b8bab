/**
 * The documents behind `/v1`. The build precompiles the documents, and the server does not validate them at its start,
 * so this test validates them.
 */
import { describe, expect, test } from '@jest/globals'
import { validate } from 'graphql'
import { readOperations } from '../../src/graphql/operations.js'
import { schema } from '../../src/graphql/schema.js'
import { restNameOfAlias } from '../../src/kernel/field-names.js'
import { loadRouteBindings } from '../../src/rest/serve.js'

const operations = [...readOperations('rest', restNameOfAlias).values()]

describe.each(operations)('$name', ({ document, definition }) => {
  test('is valid for the schema', () => expect(validate(schema(), document)).toEqual([]))

  test('has one root field', () => expect(definition.selectionSet.selections).toHaveLength(1))
})

test('each document belongs to a route', () => {
  const used = new Set([...loadRouteBindings().keys()].map(({ operation }) => operation))
  expect(operations.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([])
})
