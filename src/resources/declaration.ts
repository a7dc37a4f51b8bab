/**
 * The declaration of a resource: a type-graphql class whose fields are decorated once with `@Property`. The GraphQL type
 * and inputs, the checks of inputs, the `/v1` document, the OpenAPI schema and the field names in events derive from it
 * (docs/architecture.md#declaration-of-a-resource). A type with special needs is a plain type-graphql class.
 */
import 'reflect-metadata'
import {
  type ClassType,
  createParameterDecorator,
  Extensions,
  Field,
  InputType,
  ObjectType,
  registerEnumType,
} from 'type-graphql'
import { z } from 'zod'
import { snakeCase } from '../kernel/field-names.js'
import { fieldSchemas } from '../kernel/input.js'
import type { Context } from '../platform/context.js'

/** A type as type-graphql takes it: `() => String`, `() => [String]`, `() => Client`. */
export type FieldType = () => object

export interface PropertyOptions {
  /** What the field means, for readers without the contract. */
  description: string
  /** A realistic value, for the OpenAPI document. */
  example?: unknown
  nullable?: boolean
  /**
   * The values of a String that are not GraphQL names, with the name of their schema in the OpenAPI document, such as
   * `EventType`.
   */
  values?: { name: string; values: readonly string[] }
  /** How a value in an input is checked. The default depends on the type for enums, Boolean and JSONObject. */
  rule?: z.ZodType
  /** The type of the field in inputs if it differs. */
  inputType?: FieldType
  /** Whether the input of the creation has the field. */
  create?: 'required' | 'optional'
  /** The value of a field that the input of the creation omits. The default is null if the rule accepts null. */
  default?: unknown
  /** Whether the input of the update has the field: true, or the rule for updates if it differs. */
  update?: true | z.ZodType
  /** Describes the field in the input of the update if it differs, for example how the value is merged. */
  updateDescription?: string
  /** True for a field that only inputs have. */
  writeOnly?: boolean
  /**
   * True for a secret that only the responses of some mutations contain. `/v1` shows it only for mutations with
   * `@ReturnsSecret`.
   */
  once?: boolean
  /** True for a field that `/v1` does not show. */
  graphqlOnly?: boolean
  /** The name in `/v1` if it is not the name in snake_case. */
  restName?: string
  /** For a deprecated field: what to use instead. CHANGELOG.md says since when the field is deprecated. */
  deprecated?: string
}

/** A declared field. */
export interface DeclaredProperty extends PropertyOptions {
  name: string
  type: FieldType
}

const declaredProperties = new Map<object, DeclaredProperty[]>()

/** Returns the declared fields of a class, with inherited fields first, in the order of their declaration. */
export function propertiesOf(Class: object): readonly DeclaredProperty[] {
  const Parent = Object.getPrototypeOf(Class) as { prototype?: object }
  // Only classes have a prototype. The parent of a class without `extends` is not a class.
  const inherited = Parent.prototype ? propertiesOf(Parent) : []
  return [...inherited, ...(declaredProperties.get(Class) ?? [])]
}

/**
 * Declares a field of a resource, or of an input that is not derived from a resource. The field is a type-graphql field
 * with this type, nullability and description.
 */
export function Property(type: FieldType, options: PropertyOptions): PropertyDecorator {
  return (prototype, name) => {
    const {
      description,
      nullable = false,
      writeOnly,
      once,
      graphqlOnly,
      restName,
      example,
      values,
      deprecated,
    } = options
    if (!writeOnly) {
      Field(type, { nullable, description, ...(deprecated && { deprecationReason: deprecated }) })(prototype, name)
      Extensions({ once, graphqlOnly, restName, example, values })(prototype, name)
    }
    const properties = declaredProperties.get(prototype.constructor) ?? []
    declaredProperties.set(prototype.constructor, properties)
    properties.push({ ...options, name: String(name), type })
  }
}

const eventTargets = new Map<string, object>()

/** For the class of a resource that events are about: its type in `target` of the events. */
export const EventTarget =
  (type: string): ClassDecorator =>
  (Class) =>
    void eventTargets.set(type, Class)

/** Returns the class of a resource that events are about; undefined if none is declared with this type. */
export const eventTarget = (type: string): object | undefined => eventTargets.get(type)

/** Returns the name of a field in `/v1`. */
export const restNameOfProperty = ({ name, restName }: DeclaredProperty): string => restName ?? snakeCase(name)

type WritableKey<T> = {
  [K in keyof T]-?: (<F>() => F extends { [P in K]: T[K] } ? 1 : 2) extends <F>() => F extends {
    -readonly [P in K]: T[K]
  }
    ? 1
    : 2
    ? K
    : never
}[keyof T]

/**
 * The checked values of a creation: the fields of the class that are not `readonly`. A field that is optional and has
 * no default can be absent, although its type does not say so.
 */
export type CreateValues<T> = Pick<T, WritableKey<T>>
/** The checked values of an update, which contain only the fields of the input. */
export type UpdateValues<T> = Partial<Pick<T, WritableKey<T>>>

type Action = 'create' | 'update' | 'input'

/**
 * Returns the rules of the input that creates a resource. They fill in the defaults.
 * @param omit the names of fields that the input does not have, as in `@CreateInput`
 */
export const createRulesOf = <T extends object, Omitted extends keyof CreateValues<T> = never>(
  Resource: ClassType<T>,
  omit: readonly (Omitted & string)[] = [],
): z.ZodType<Omit<CreateValues<T>, Omitted>> =>
  rulesOf(Resource, 'create', omit) as unknown as z.ZodType<Omit<CreateValues<T>, Omitted>>

/** Returns the rules of the input that updates a resource. */
export const updateRulesOf = <T extends object>(Resource: ClassType<T>): z.ZodType<UpdateValues<T>> =>
  rulesOf(Resource, 'update') as unknown as z.ZodType<UpdateValues<T>>

/** Returns the rules of an input class whose fields are declared with `@Property`. Nullable fields are optional. */
export const inputRulesOf = <T extends object>(Input: ClassType<T>): z.ZodType<T> =>
  rulesOf(Input, 'input') as unknown as z.ZodType<T>

const rulesCache = new Map<string, WeakMap<object, z.ZodType>>()

function rulesOf(Class: object, action: Action, omitted: readonly string[] = []): z.ZodType {
  const cacheKey = [action, ...omitted].join()
  const cache = rulesCache.get(cacheKey) ?? new WeakMap<object, z.ZodType>()
  rulesCache.set(cacheKey, cache)
  let rules = cache.get(Class)
  if (!rules) {
    const fields = inputProperties(Class, action, omitted).map((property) => [property.name, rule(property, action)])
    rules = z.strictObject(Object.fromEntries(fields), 'must be an object.')
    cache.set(Class, rules)
  }
  return rules
}

function inputProperties(Class: object, action: Action, omitted: readonly string[]): readonly DeclaredProperty[] {
  const isWritable = (property: DeclaredProperty) => action === 'input' || property[action] !== undefined
  return propertiesOf(Class).filter((property) => isWritable(property) && !omitted.includes(property.name))
}

const isRequired = (property: DeclaredProperty, action: Action): boolean =>
  action === 'input' ? property.nullable !== true : action === 'create' && property.create === 'required'

function rule(property: DeclaredProperty, action: Action): z.ZodType {
  if (action === 'update' && property.update !== true) return property.update!.optional()
  const base = property.rule ?? ruleOfType(property)
  if (action === 'update') return base.optional()
  if (isRequired(property, action)) return base
  if (property.default !== undefined) return base.default(property.default)
  return action === 'create' && base.safeParse(null).success ? base.default(null) : base.optional()
}

/** The rules of types that need no rule of their own, by the name of the type. */
const rulesByType: Record<string, z.ZodType> = { Boolean: fieldSchemas.boolean, JSONObject: fieldSchemas.object }

function ruleOfType({ name, type }: DeclaredProperty): z.ZodType {
  const of = type() as { name?: string }
  const found = enumTypes.has(of) ? fieldSchemas.oneOf(Object.keys(of)) : rulesByType[of.name ?? '']
  if (!found) throw new Error(`The property ${name} can be written and needs a rule.`)
  return found
}

/** The rules of the inputs by the name of their GraphQL type, which `/v1` checks and the OpenAPI document describes. */
const rulesByInput = new Map<string, { rules: z.ZodType; properties: readonly DeclaredProperty[] }>()

/** Returns the rules and fields of a GraphQL input type. @throws Error if no parameter is declared with this type */
export function rulesOfInput(name: string) {
  const input = rulesByInput.get(name)
  if (!input)
    throw new Error(`The input ${name} has no rules. Declare the parameter with @CreateInput, @UpdateInput or @Input.`)
  return input
}

interface InputOptions {
  /** The name of the GraphQL type. */
  name?: string
  /** Names of fields that this input does not have. */
  omit?: readonly string[]
}

/** A parameter of a resolver: the input that creates a resource, of the derived type `Create…Input`. */
export const CreateInput = (Resource: ClassType, options: InputOptions = {}) =>
  derivedInput(Resource, 'create', `Create${Resource.name}Input`, options)

/** A parameter of a resolver: the input that updates a resource, of the derived type `Update…Input`. */
export const UpdateInput = (Resource: ClassType, options: InputOptions = {}) =>
  derivedInput(Resource, 'update', `Update${Resource.name}Input`, options)

function derivedInput(Resource: ClassType, action: 'create' | 'update', defaultName: string, options: InputOptions) {
  const { name = defaultName, omit = [] } = options
  const Derived = class {}
  InputType(name, { description: `The fields of the mutation that ${action}s the resource ${Resource.name}.` })(Derived)
  const properties = inputProperties(Resource, action, omit)
  for (const property of properties) {
    const description = (action === 'update' && property.updateDescription) || property.description
    const nullable = !isRequired(property, action)
    Field(property.inputType ?? property.type, { nullable, description })(Derived.prototype, property.name)
  }
  return inputParameter(Derived, { name, rules: rulesOf(Resource, action, omit), properties, nullable: false })
}

/**
 * A parameter of a resolver: an input class of its own.
 * @param options `rules`: the rules of a class whose fields are not declared with `@Property`; `nullable`: whether the
 *   mutation can be called without an input
 */
export const Input = (Class: ClassType, options: { rules?: z.ZodType; nullable?: boolean } = {}) =>
  inputParameter(Class, {
    name: Class.name,
    rules: options.rules ?? rulesOf(Class, 'input'),
    properties: propertiesOf(Class),
    nullable: options.nullable ?? false,
  })

function inputParameter(
  Class: ClassType,
  declared: { name: string; rules: z.ZodType; properties: readonly DeclaredProperty[]; nullable: boolean },
): ParameterDecorator {
  const { name, rules, properties, nullable } = declared
  rulesByInput.set(name, { rules, properties })
  // An input that `/v1` has checked is not checked again.
  return createParameterDecorator<Context>(({ args, context }) => context.checkedInput ?? args['input'], {
    arg: { name: 'input', typeFunc: () => Class, options: { nullable, description: 'The fields of the request.' } },
  }) as ParameterDecorator
}

const enumTypes = new Set<unknown>()

/**
 * Creates an enum type.
 * @param values the description of each value
 */
export function enumType<Value extends string>(
  name: string,
  description: string,
  values: Record<Value, string>,
): { [V in Value]: V } {
  const names = Object.keys(values) as Value[]
  const type = Object.fromEntries(names.map((value) => [value, value])) as { [V in Value]: V }
  const valuesConfig = Object.fromEntries(names.map((value) => [value, { description: values[value] }]))
  registerEnumType(type, { name, description, valuesConfig: valuesConfig as Record<Value, { description: string }> })
  enumTypes.add(type)
  return type
}

/** Creates the type of one page of a list, such as `ClientPage`. */
export function pageOf<T extends object>(
  Item: ClassType<T>,
  name = `${Item.name}Page`,
): ClassType<{ data: T[]; nextCursor: string | null }> {
  const Page = class {
    data!: T[]
    nextCursor!: string | null
    hasMore!: boolean
  }
  ObjectType(name, { description: `One page of a list of the type ${Item.name}.` })(Page)
  Field(() => [Item], { description: 'The entries of this page.' })(Page.prototype, 'data')
  Field(() => String, {
    nullable: true,
    description: 'The value of the argument `cursor` for the next page. Null on the last page.',
  })(Page.prototype, 'nextCursor')
  Field(() => Boolean, { description: 'Whether there is a next page.' })(Page.prototype, 'hasMore')
  return Page
}
