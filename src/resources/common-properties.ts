/** Decorators of the fields that many resources have in the same way. */
import { ID } from 'type-graphql'
import { fieldSchemas } from '../kernel/input.js'
import { Property, type PropertyOptions } from './declaration.js'
import { JSONObject, Timestamp } from './graphql-types.js'

/** @param resource the name of the resource in a sentence, such as `client` */
export const Id = (resource: string, example: string) =>
  Property(() => ID, { description: `The id of the ${resource}.`, example })

export const AccountId = (options: Partial<PropertyOptions> = {}) =>
  Property(() => ID, {
    description: 'The account that the resource belongs to.',
    example: 'acc_01kb3w8hxv6k8y1f4sn0q3a7pd',
    ...options,
  })

export const IssuerId = (options: Partial<PropertyOptions> = {}) =>
  Property(() => ID, {
    description: 'The issuer that the resource belongs to.',
    example: 'iss_01kb3w8hxv6k8y1f4sn0q3a7pd',
    ...options,
  })

export const OrgId = (options: Partial<PropertyOptions> = {}) =>
  Property(() => ID, {
    description: 'The organization that the resource belongs to.',
    example: 'org_01kb3w8hxv6k8y1f4sn0q3a7pd',
    ...options,
  })

export const CreatedAt = () =>
  Property(() => Timestamp, {
    description: 'When the resource was created, in Unix milliseconds.',
    example: 1763900000000,
  })

export const UpdatedAt = () =>
  Property(() => Timestamp, {
    description: 'When the resource was last changed, in Unix milliseconds. This is also the version in the ETag.',
    example: 1763900000000,
  })

/** A description for administrators, which can be null. */
export const Description = (description = 'A description for administrators.') =>
  Property(() => String, {
    description,
    nullable: true,
    rule: fieldSchemas.description,
    create: 'optional',
    update: true,
  })

/** @param update what an update does with the current metadata */
export const Metadata = (update: 'merge' | 'replace') =>
  Property(() => JSONObject, {
    description: 'Data of your own, which Gatehouse does not interpret.',
    example: { team: 'checkout' },
    rule: fieldSchemas.metadata,
    create: 'optional',
    default: {},
    update: true,
    updateDescription:
      update === 'merge'
        ? 'Is merged with the current metadata at the top level. A key with the value null is removed.'
        : 'Replaces the current metadata.',
  })
