/** The shape of the GraphQL schema (docs/contract.md#graphql-api). */
import { expect, test } from '@jest/globals'
import { GraphQLObjectType, isNonNullType } from 'graphql'
import { requiredPermissionOf } from '../../src/graphql/field-extensions.js'
import { schema } from '../../src/graphql/schema.js'

test('the root fields of queries and the relations are nullable, so that a refused one leaves the others', () => {
  const query = schema().getQueryType()!
  const roots = Object.values(query.getFields()).map((field) => ({ name: field.name, field }))
  const relations = Object.values(schema().getTypeMap())
    .filter((type) => type instanceof GraphQLObjectType)
    .filter((type) => ![query, schema().getMutationType(), schema().getSubscriptionType()].includes(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field })))
    // Fields that only require an authenticated caller are never refused after their parent was allowed.
    .filter(({ field }) => (requiredPermissionOf(field)?.scope ?? 'authenticated') !== 'authenticated')
  expect(relations.length).toBeGreaterThan(20)
  expect([...roots, ...relations].filter(({ field }) => isNonNullType(field.type)).map(({ name }) => name)).toEqual([])
})
