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

/** Returns the types that have fields, with their fields. */
const typesWithFields = (): { name: string; fields: DescribedField[] }[] =>
  Object.values(schema().getTypeMap()).flatMap((type) =>
    !type.name.startsWith('__') && 'getFields' in type
      ? [{ name: type.name, fields: Object.values(type.getFields()) as DescribedField[] }]
      : [],
  )

test('every type, field, argument and enum value has a description', () => {
  const roots = [schema().getQueryType(), schema().getMutationType(), schema().getSubscriptionType()]
  const described = Object.values(schema().getTypeMap())
    .filter((type) => !type.name.startsWith('__') && !roots.some((root) => root === type))
    .flatMap((type) => [
      { name: type.name, description: type.description },
      ...('getValues' in type
        ? type.getValues().map((value) => ({ name: `${type.name}.${value.name}`, description: value.description }))
        : []),
    ])
  const fields = typesWithFields().flatMap((type) =>
    type.fields.flatMap((field) => [
      { name: `${type.name}.${field.name}`, description: field.description },
      ...(field.args ?? []).map((arg) => ({
        name: `${type.name}.${field.name}(${arg.name})`,
        description: arg.description,
      })),
    ]),
  )
  expect(fields.length).toBeGreaterThan(500)
  expect([...described, ...fields].filter(({ description }) => !description).map(({ name }) => name)).toEqual([])
})

interface DescribedField {
  name: string
  type: unknown
  description?: string | null | undefined
  args?: readonly DescribedField[]
}

/** Ids that Gatehouse does not issue. */
const foreignIds = ['credentialId', 'rpId', 'externalId']

test('ids of Gatehouse have the type ID', () => {
  const isId = ({ name }: DescribedField) => /(^id|Id|Ids)$/.test(name) && !foreignIds.includes(name)
  const wrong = typesWithFields().flatMap((type) =>
    type.fields.flatMap((field) =>
      [field, ...(field.args ?? [])]
        .filter((one) => isId(one) && /String/.test(String(one.type)))
        .map((one) => `${type.name}.${field.name} ${one.name}: ${one.type}`),
    ),
  )
  expect(wrong).toEqual([])
})
