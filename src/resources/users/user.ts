import { ArgsType, Field, ObjectType } from 'type-graphql'
import type { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Prisma } from '../../platform/postgres/database.js'
import { AccountId, CreatedAt, Id, IssuerId, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { JSONObject, PageArgs, Timestamp } from '../graphql-types.js'
import { profileRules } from './profile.js'

export const UserStatus = enumType('UserStatus', 'Whether a user can sign in, and why not.', {
  active: 'The user can sign in.',
  suspended: 'An administrator has suspended the user. The user cannot sign in, and all sessions have ended.',
  blocked: 'An administrator has blocked the user, or rejected the sign-up. The user cannot sign in.',
  disabled: 'The user cannot sign in.',
  deleted: 'The user is deleted, and the data is erased.',
  pending_approval: 'The user cannot sign in until an administrator approves the sign-up.',
  pending_deletion: 'The user is deleted. The data is erased 24 hours after the deletion.',
})
export type UserStatus = keyof typeof UserStatus
export const writableUserStatuses = ['active', 'suspended', 'blocked'] as const

export const UsernameType = enumType('UsernameType', 'The format of a username.', {
  email: 'An email address.',
  phone: 'A phone number in E.164 form, such as +4915112345678.',
  unique: 'Any other name of 1 to 128 characters without spaces.',
})
export type UsernameType = keyof typeof UsernameType

/** An object that an update replaces as a whole. */
const ObjectField = (description: string, example: object, rule: z.ZodType = fieldSchemas.object) =>
  Property(() => JSONObject, {
    description,
    example,
    rule,
    create: 'optional',
    default: {},
    update: true,
    updateDescription: `${description} The given object replaces the current one.`,
  })

@EventTarget('user')
@ObjectType({ description: 'A person at an issuer.' })
export class User {
  @Id('user', 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => UsernameType, {
    description: 'The format of the username.',
    example: 'email',
    create: 'required',
    update: true,
  })
  usernameType!: UsernameType
  @Property(() => String, {
    description:
      'The name with which the user signs in, unique in the issuer. Lists contain a keyed hash of it instead (sha256:…).',
    example: 'ada@example.com',
    rule: fieldSchemas.text(limits.maxUsernameLength),
    create: 'required',
    update: true,
  })
  username!: string
  @ObjectField(
    'Claims about the user with the names of OpenID Connect, such as name, given_name, family_name and email.',
    { name: 'Ada Lovelace', email: 'ada@example.com' },
    profileRules,
  )
  profile!: Prisma.InputJsonObject
  @ObjectField('Your own data about the security of the user, which Gatehouse does not interpret.', { risk: 'low' })
  security!: Prisma.InputJsonObject
  @ObjectField('Your own data about compliance, such as accepted terms, which Gatehouse does not interpret.', {
    terms_version: '2026-01',
  })
  compliance!: Prisma.InputJsonObject
  @ObjectField('Preferences of the user, which Gatehouse does not interpret.', { newsletter: true })
  preferences!: Prisma.InputJsonObject
  @ObjectField('Fields of your own. An import adds the origin of the user here.', { customer_number: 'C-1042' })
  customFields!: Prisma.InputJsonObject
  @Property(() => [String], {
    description: 'Scopes of the user. A caller can only grant platform scopes that it has itself.',
    example: ['orders:read'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
    update: true,
  })
  scopes!: string[]
  @Metadata('merge')
  metadata!: Prisma.InputJsonObject
  @Property(() => Boolean, {
    description:
      'Whether an administrator must approve the user before the first sign-in. The user then begins with the status pending_approval.',
    create: 'optional',
    default: false,
  })
  requiresApproval!: boolean
  @Property(() => String, {
    description: 'Why the user signed up, for the administrator who decides on the approval.',
    example: 'I work in the accounting team.',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
    create: 'optional',
  })
  signupReason!: string | null
  @Property(() => String, {
    description: 'The rule because of which the user requires an approval, for the administrator who decides on it.',
    example: 'unknown_domain',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
    create: 'optional',
  })
  triggeredRule!: string | null
  @Property(() => Boolean, {
    description:
      'Whether the user has verified the email address. Setting it requires the scope issuers.users.verifiers:write. A new email address makes it false.',
    create: 'optional',
    default: false,
    update: true,
  })
  emailVerified!: boolean
  @Property(() => UserStatus, {
    description: 'Whether the user can sign in. Inputs accept active, suspended and blocked.',
    example: 'active',
    rule: fieldSchemas.oneOf(writableUserStatuses),
    create: 'optional',
    update: true,
  })
  status!: UserStatus
  @Property(() => Timestamp, {
    description: 'When the status changed, in Unix milliseconds. The default in an update is the current time.',
    example: 1763900000000,
    nullable: true,
    rule: fieldSchemas.timestamp,
    update: true,
  })
  statusAt!: number
  @Property(() => String, {
    description: 'Why the status changed. For a rejected sign-up, the user sees this reason.',
    example: 'The user has left the company.',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
    update: true,
  })
  statusReason!: string | null
  @Property(() => String, {
    description: 'Who changed the status. The default in an update is the id of the caller.',
    example: 'key_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
    rule: fieldSchemas.text(limits.maxNameLength),
    update: true,
  })
  statusBy!: string
  /** An input cannot contain null. */
  @Property(() => JSONObject, {
    description: 'The decision on the sign-up: status, reason, decided_at and decided_by. An update replaces it.',
    example: {
      status: 'approved',
      reason: null,
      decided_at: 1763900000000,
      decided_by: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    },
    nullable: true,
    update: true,
  })
  approval!: Prisma.InputJsonObject
  @Property(() => String, {
    description: 'Where the data of the user must be stored, as a note for your systems. It has no effect.',
    example: 'eu',
    nullable: true,
    rule: fieldSchemas.text(64).nullable(),
    create: 'optional',
  })
  region!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const UserPage = pageOf(User)

export const createRules = createRulesOf(User)
export const updateRules = updateRulesOf(User)

/** Description of the argument `search` of lists of users. */
export const userSearchDescription = 'A prefix of the username, of a name or of the email address, in any case.'

@ArgsType()
export class UserFilter extends PageArgs {
  @Field(() => UserStatus, {
    nullable: true,
    description:
      'Lists only users with this status. Without it, all users except deleted ones are listed. A search never finds deleted users.',
  })
  status?: UserStatus | null
  @Field(() => String, { nullable: true, description: userSearchDescription })
  search?: string | null
}
