import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, UpdatedAt } from '../common-properties.js'
import {
  createRulesOf,
  EventTarget,
  enumType,
  Property,
  pageOf,
  type UpdateValues,
  updateRulesOf,
} from '../declaration.js'
import { JSONObject, SearchablePageArgs } from '../graphql-types.js'

export const OrganizationStatus = enumType('OrganizationStatus', 'Whether an organization can be used.', {
  active: 'The organization can be used.',
  suspended: 'New tokens do not contain the organization, and its API keys cannot authenticate.',
  deleted: 'No organization has this status, because deleting an organization removes it.',
})
export type OrganizationStatus = keyof typeof OrganizationStatus

export const OrganizationType = enumType('OrganizationType', 'A label of an organization, which has no effect.', {
  business: 'A company.',
  nonprofit: 'A nonprofit organization.',
  government: 'A public authority.',
})

const optional = { create: 'optional', update: true } as const
const text = (maxLength?: number) => ({ ...optional, nullable: true, rule: fieldSchemas.text(maxLength).nullable() })
const scopes = { ...optional, rule: fieldSchemas.scopes, default: [] }
const object = { ...optional, default: {}, updateDescription: 'Replaces the current object.' }

const notAvailable = z.literal(false, 'must be false. Organization sign-in is not available yet.').optional()

@EventTarget('organization')
@ObjectType({ description: 'A set of users of an issuer, such as a customer of a multi-tenant application.' })
export class Organization {
  @Id('organization', 'org_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => String, {
    description: 'The name, which the hosted pages and invitations show.',
    example: 'Example Ltd.',
    nullable: true,
    rule: fieldSchemas.name.nullable(),
    ...optional,
  })
  name!: string | null
  @Description()
  description!: string | null
  @Property(() => String, {
    description: 'The address of a logo.',
    example: 'https://example.com/logo.png',
    nullable: true,
    rule: fieldSchemas.url,
    ...optional,
  })
  logoUrl!: string | null
  @Property(() => OrganizationType, {
    description: 'A label, which has no effect.',
    nullable: true,
    rule: fieldSchemas.oneOf(Object.keys(OrganizationType)).nullable(),
    ...optional,
  })
  orgType!: keyof typeof OrganizationType | null
  @Property(() => Int, {
    description: 'The maximum number of members. Null means no limit.',
    example: 25,
    nullable: true,
    rule: z
      .int('must be a whole number or null.')
      .min(1, 'must be at least 1.')
      .max(2_147_483_647, 'must be at most 2147483647.')
      .nullable(),
    ...optional,
  })
  maxMembers!: number | null
  @Property(() => [String], {
    description: 'Scopes that every active member has.',
    example: ['projects:read'],
    ...scopes,
  })
  defaultMemberScopes!: string[]
  @Property(() => [String], {
    description: 'Scopes of the organization itself, which have no effect. Members get `defaultMemberScopes`.',
    example: ['reports'],
    ...scopes,
  })
  scopes!: string[]
  @Property(() => [String], {
    description: 'Scopes that the creator of the organization gets as its first member.',
    example: ['organization:admin'],
    ...scopes,
  })
  creatorScopes!: string[]
  @Property(() => Boolean, {
    description: 'Whether invitations can be created and accepted.',
    ...optional,
    default: false,
  })
  invitationEnabled!: boolean
  @Property(() => String, {
    description: 'A text in the emails of invitations that have no message of their own.',
    example: 'Welcome to our workspace.',
    ...text(limits.maxInvitationMessageLength),
  })
  invitationMessage!: string | null
  @Property(() => JSONObject, {
    description: 'The postal address, an object with members of your choice.',
    example: { city: 'Berlin', country: 'DE' },
    nullable: true,
    rule: fieldSchemas.object.nullable(),
    ...optional,
  })
  address!: object | null
  @Property(() => JSONObject, {
    description: 'Data about the business, an object with members of your choice.',
    example: { vat_id: 'DE123456789' },
    ...object,
  })
  businessDetails!: object
  @Property(() => JSONObject, {
    description: 'Contact data, an object with members of your choice.',
    example: { email: 'office@example.com' },
    ...object,
  })
  contact!: object
  @Property(() => JSONObject, {
    description:
      'If the member `mfa_required` is true, members must sign in with a second factor. Other members of the object have no effect.',
    example: { mfa_required: true },
    rule: z.looseObject({ mfa_required: fieldSchemas.boolean.optional() }, 'must be an object.'),
    ...object,
  })
  security!: { mfa_required?: boolean | undefined }
  @Property(() => JSONObject, {
    description:
      'Data about single sign-on. The members `enabled` and `only` can only be false, because organizations have no sign-in of their own yet.',
    example: { enabled: false },
    rule: z.looseObject({ enabled: notAvailable, only: notAvailable }, 'must be an object.'),
    ...object,
  })
  sso!: { enabled?: false | undefined; only?: false | undefined }
  @Property(() => JSONObject, {
    description: 'An object with members of your choice.',
    example: { plan: 'team' },
    ...object,
  })
  customFields!: object
  @Property(() => [JSONObject], {
    description: 'Links to profiles of the organization, objects with members of your choice.',
    example: [{ type: 'website', url: 'https://example.com' }],
    rule: z
      .array(fieldSchemas.object, 'must be an array of objects.')
      .max(limits.maxOrganizationListEntries, `must have at most ${limits.maxOrganizationListEntries} entries.`),
    ...optional,
    default: [],
  })
  socialLinks!: object[]
  @Property(() => OrganizationStatus, {
    description: 'Whether the organization can be used. It can be set to `active` and `suspended`.',
    rule: fieldSchemas.oneOf(['active', 'suspended']),
    ...optional,
    default: 'active',
  })
  status!: 'active' | 'suspended'
  @Property(() => String, {
    description: 'The reason for the latest change of the status. A change of the status without a reason clears it.',
    example: 'Invoice overdue',
    ...text(),
  })
  statusReason!: string | null
  @Property(() => String, {
    description: 'Who changed the status last: the given text, or by default the id of the caller.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    ...text(limits.maxNameLength),
  })
  statusBy!: string | null
  @Property(() => ID, {
    description:
      'The user who created the organization. By default, this is the caller if the caller is a user. A user of the issuer becomes the first member, with `creatorScopes`.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
    rule: fieldSchemas.text(limits.maxIdLength).nullable(),
    create: 'optional',
  })
  createdByUserId!: string | null
  @Metadata('merge')
  metadata!: JsonObject
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export type OrganizationValues = UpdateValues<Organization>

export const OrganizationPage = pageOf(Organization)

export const createRules = createRulesOf(Organization)
export const updateRules = updateRulesOf(Organization)

@ArgsType()
export class OrganizationFilter extends SearchablePageArgs {
  @Field(() => OrganizationStatus, { nullable: true, description: 'Lists only organizations with this status.' })
  status?: OrganizationStatus | null
  @Field(() => Boolean, { nullable: true, description: 'Lists only organizations with this value of `sso.enabled`.' })
  ssoEnabled?: boolean | null
  @Field(() => Boolean, { nullable: true, description: 'Lists only organizations with this value of `sso.only`.' })
  ssoOnly?: boolean | null
  @Field(() => Boolean, {
    nullable: true,
    description: 'Lists only organizations that require multi-factor authentication (true) or do not (false).',
  })
  mfaRequired?: boolean | null
  @Field(() => Boolean, {
    nullable: true,
    description: 'Lists only organizations in which invitations are enabled (true) or disabled (false).',
  })
  invitationEnabled?: boolean | null
}
