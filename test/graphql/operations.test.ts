/** The operations behind `/v1`. The server does not validate them when it starts, so this test validates them. */
import { describe, expect, test } from '@jest/globals'
import { validate } from 'graphql'
import { schema } from '../../src/graphql/schema.js'
import { createOperation } from '../../src/rest/operations.js'
import { routes } from '../../src/rest/routes.js'

describe.each(routes)('$operation', (route) => {
  test('is valid for the schema', () => {
    const { document } = createOperation(route, ({ name }) => name)
    expect(validate(schema(), document)).toEqual([])
  })
})
