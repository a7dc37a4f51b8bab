import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Id, IssuerId, OrgId, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf } from '../declaration.js'
import { OrganizationPath, PageArgs, Timestamp } from '../graphql-types.js'
import { isEmail } from '../users/usernames.js'
import { GroupIds } from './member.js'

export const InvitationStatus = enumType('InvitationStatus', 'Whether an invitation can be accepted.', {
  pending: 'The invitation can be accepted.',
  accepted: 'A user has accepted the invitation and is a member.',
  revoked: 'The invitation was revoked and can no longer be accepted.',
  expired: 'The invitation was not accepted in time. It can be sent again.',
})
export type InvitationStatus = keyof typeof InvitationStatus

@EventTarget('organization_invitation')
@ObjectType({ description: 'An invitation by email to become a member of an organization.' })
export class OrganizationInvitation {
  @Id('invitation', 'inv_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @OrgId()
  readonly orgId!: string
  @Property(() => String, {
    description: 'The email address that receives the invitation.',
    example: 'ada@example.com',
    rule: fieldSchemas
      .text(limits.maxUsernameLength)
      .trim()
      .refine(isEmail, { error: 'must be an email address.', params: { code: 'invalid_format' } }),
    create: 'required',
  })
  email!: string
  @Property(() => [String], {
    description: 'Scopes that the new member gets.',
    example: ['projects:write'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
  })
  scopes!: string[]
  @GroupIds({ description: 'The ids of the groups that the new member joins.' })
  groups!: string[]
  @Property(() => String, {
    description: 'A text in the email. By default, the email has the `invitationMessage` of the organization.',
    example: 'Please join our workspace.',
    nullable: true,
    rule: fieldSchemas.text(limits.maxInvitationMessageLength).nullable(),
    create: 'optional',
  })
  message!: string | null
  @Property(() => InvitationStatus, { description: 'Whether the invitation can be accepted.' })
  readonly status!: InvitationStatus
  @Property(() => Timestamp, {
    description: 'Until when the invitation can be accepted, in Unix milliseconds.',
    example: 1764504800000,
  })
  readonly expiresAt!: number
  @Property(() => Timestamp, {
    description: 'When the invitation was accepted, in Unix milliseconds.',
    example: 1763986400000,
    nullable: true,
  })
  readonly acceptedAt!: number | null
  @Property(() => ID, {
    description: 'The user who accepted the invitation.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly acceptedByUserId!: string | null
  @Property(() => ID, {
    description: 'The user, API key or client that created the invitation.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly createdBy!: string | null
  @Property(() => String, {
    description:
      'The token that accepts the invitation. Only the email and the response that creates it contain the token.',
    nullable: true,
    once: true,
  })
  readonly tokenPlain!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const OrganizationInvitationPage = pageOf(OrganizationInvitation)

export const createRules = createRulesOf(OrganizationInvitation)

@ArgsType()
export class InvitationPath extends OrganizationPath {
  @Field(() => ID, { description: 'The id of the invitation.' })
  invitationId!: string
}

@ArgsType()
export class InvitationFilter extends PageArgs {
  @Field(() => InvitationStatus, { nullable: true, description: 'Lists only invitations with this status.' })
  status?: InvitationStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'A prefix of the email address, or the id. The results are sorted by address.',
  })
  search?: string | null
}
