/** Decorators of the fields that API keys and personal tokens have in the same way. */
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { Property, type PropertyOptions } from '../declaration.js'
import { JSONObject, Timestamp } from '../graphql-types.js'
import { restrictionRules } from './restrictions.js'

export const Tags = () =>
  Property(() => [String], {
    description: 'Labels of your own.',
    example: ['billing', 'production'],
    rule: fieldSchemas.tags,
    create: 'optional',
    default: [],
    update: true,
  })

/** @param options the options that differ between the resources */
export const RestrictionsProperty = (options: Partial<PropertyOptions> = {}) =>
  Property(() => JSONObject, {
    description:
      'What the credential can do, and from where: an object with the optional members `scopes`, `issuer_ids`, `org_ids` and `ip_allowlist` (IP addresses and CIDR ranges). {} restricts nothing.',
    example: { scopes: ['issuers.users:read'], ip_allowlist: ['203.0.113.0/24'] },
    rule: restrictionRules,
    create: 'required',
    ...options,
  })

export const StatusAt = () =>
  Property(() => Timestamp, {
    description: 'When an operation last changed the status, in Unix milliseconds. Null if none has.',
    example: 1763900000000,
    nullable: true,
  })

export const StatusBy = () =>
  Property(() => String, {
    description: 'Who last changed the status: the id of the caller, or the text given as `by`.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })

export const StatusReason = () =>
  Property(() => String, {
    description: 'Why the status was last changed.',
    example: 'The key was published by mistake.',
    nullable: true,
  })

/** A field of the inputs that change the status. */
export const By = () =>
  Property(() => String, {
    description: 'Who changes the status, as shown in `statusBy`. The default is the id of the caller.',
    example: 'security@example.com',
    nullable: true,
    rule: fieldSchemas.text(limits.maxNameLength).nullable(),
  })

/** A field of the inputs that change the status. */
export const Reason = () =>
  Property(() => String, {
    description: 'Why the status is changed, as shown in `statusReason`.',
    example: 'The key was published by mistake.',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
  })
