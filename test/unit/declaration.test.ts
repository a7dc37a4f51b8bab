/** The declaration of a resource (docs/architecture.md#declaration-of-a-resource). */
import 'reflect-metadata'
import { expect, test } from '@jest/globals'
import { GraphQLBoolean, type GraphQLInputObjectType, type GraphQLObjectType, GraphQLString } from 'graphql'
import { buildSchemaSync, Mutation, ObjectType, Query, Resolver } from 'type-graphql'
import { ApiError } from '../../src/kernel/errors.js'
import { checkInput, fieldSchemas } from '../../src/kernel/input.js'
import {
  CreateInput,
  createRulesOf,
  enumType,
  Property,
  rulesOfInput,
  UpdateInput,
  updateRulesOf,
} from '../../src/resources/declaration.js'
import { JSONObject } from '../../src/resources/graphql-types.js'

const Size = enumType('SampleSize', 'How large a sample is.', { small: 'Fits in a pocket.', large: 'Does not.' })

@ObjectType({ description: 'A resource of this test.' })
class Sample {
  @Property(() => GraphQLString, { description: 'The id.' })
  readonly id!: string
  @Property(() => GraphQLString, {
    description: 'The name.',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Property(() => GraphQLString, {
    description: 'A note.',
    nullable: true,
    rule: fieldSchemas.description,
    create: 'optional',
    update: true,
    updateDescription: 'Replaces the note.',
  })
  note!: string | null
  @Property(() => Size, { description: 'The size.', create: 'optional', default: 'small' })
  size!: keyof typeof Size
  @Property(() => JSONObject, { description: 'The tags.', create: 'optional', default: {}, update: true })
  tags!: object
  @Property(() => GraphQLBoolean, { description: 'Whether it is open.', update: true, deprecated: 'Use size.' })
  open!: boolean
}

@Resolver(() => Sample)
class SampleResolver {
  @Query(() => Sample)
  sample() {
    return null
  }
  @Mutation(() => Sample)
  createSample(@CreateInput(Sample) input: object) {
    return input
  }
  @Mutation(() => Sample)
  updateSample(@UpdateInput(Sample) input: object) {
    return input
  }
}

const schema = buildSchemaSync({ resolvers: [SampleResolver], validate: false })
const createRules = createRulesOf(Sample)
const updateRules = updateRulesOf(Sample)

const detailsOf = (check: () => unknown): string[] => {
  try {
    check()
    return []
  } catch (error) {
    return (error as ApiError).options.details!.map(({ field, code }) => `${field} ${code}`)
  }
}

test('the GraphQL type has every field with its nullability and description', () => {
  const fields = (schema.getType('Sample') as GraphQLObjectType).getFields()
  expect(Object.values(fields).map(({ name, type }) => `${name}: ${type}`)).toEqual([
    'id: String!',
    'name: String!',
    'note: String',
    'size: SampleSize!',
    'tags: JSONObject!',
    'open: Boolean!',
  ])
  expect(fields['name']!.description).toBe('The name.')
  expect(fields['open']!.deprecationReason).toBe('Use size.')
})

test.each([
  ['CreateSampleInput', ['name: String!', 'note: String', 'size: SampleSize', 'tags: JSONObject'], 'A note.'],
  ['UpdateSampleInput', ['name: String', 'note: String', 'tags: JSONObject', 'open: Boolean'], 'Replaces the note.'],
])('%s has the fields that the declaration allows to write', (name, expected, note) => {
  const fields = (schema.getType(name) as GraphQLInputObjectType).getFields()
  expect(Object.values(fields).map((field) => `${field.name}: ${field.type}`)).toEqual(expected)
  expect(fields['note']!.description).toBe(note)
  expect(rulesOfInput(name)!.properties.map((property) => property.name)).toEqual(Object.keys(fields))
})

test('the rules of a creation fill in the defaults, and null for an absent field that can be null', () => {
  expect(checkInput(createRules, { name: ' A ' })).toEqual({ name: 'A', note: null, size: 'small', tags: {} })
})

test('the rules of an update return only the given fields', () => {
  expect(checkInput(updateRules, { note: null })).toEqual({ note: null })
})

test.each([
  ['a missing field', createRules, {}, ['name required']],
  [
    'several errors at once',
    createRules,
    { name: '', size: 'huge', id: 'x' },
    ['name too_small', 'size invalid_value', 'id unknown_field'],
  ],
  ['a field that only the creation has', updateRules, { size: 'large' }, ['size unknown_field']],
  ['a field that only the update has', createRules, { name: 'A', open: true }, ['open unknown_field']],
  ['a wrong type, once', createRules, { name: [] }, ['name invalid_type']],
  ['an input that is no object', createRules, [], [' invalid_type']],
  ['null for a field that cannot be null', updateRules, { name: null }, ['name invalid_type']],
])('%s is an error', (_, rules, input, expected) => {
  expect(detailsOf(() => checkInput<object>(rules, input))).toEqual(expected)
})

test('checked values are not checked again by the same rules', () => {
  const values = checkInput(createRules, { name: 'A' })
  expect(checkInput(createRules, values)).toBe(values)
  expect(checkInput(createRules, { ...values })).not.toBe(values)
})

test('a writable field without a rule is an error, unless its type has one', () => {
  class Ruleless {
    @Property(() => GraphQLString, { description: 'A text.', update: true })
    text!: string
  }
  expect(() => updateRulesOf(Ruleless)).toThrow('The property text can be written and needs a rule.')
})
