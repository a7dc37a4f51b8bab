import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { AccountId, CreatedAt, IssuerId, Metadata, OrgId, UpdatedAt } from '../common-properties.js'
import {
  createRulesOf,
  EventTarget,
  enumType,
  Property,
  type PropertyOptions,
  pageOf,
  updateRulesOf,
} from '../declaration.js'
import { OrganizationPath, PageArgs } from '../graphql-types.js'

export const MemberStatus = enumType('MemberStatus', 'Whether a membership has an effect.', {
  active: 'The member has its effective scopes, and the tokens of the user contain the organization.',
  suspended: 'The member has no scopes, and new tokens of the user do not contain the organization.',
})
export type MemberStatus = keyof typeof MemberStatus

/** The ids of the groups of a member, or of the member that an invitation creates. */
export const GroupIds = (options: Pick<PropertyOptions, 'description' | 'update'>) =>
  Property(() => [ID], {
    example: ['grp_01kb3w8hxv6k8y1f4sn0q3a7pd'],
    rule: z
      .array(fieldSchemas.text(limits.maxIdLength), 'must be an array of group ids.')
      .max(limits.maxGroupsPerMember, `must have at most ${limits.maxGroupsPerMember} entries.`)
      .transform((list) => [...new Set(list)]),
    create: 'optional',
    default: [],
    ...options,
  })

@EventTarget('organization_membership')
@ObjectType({ description: 'A user of the issuer who is a member of an organization. Its id is the id of the user.' })
export class OrganizationMember {
  @Property(() => ID, { description: 'The id of the user.', example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly id!: string
  @Property(() => ID, {
    description: 'The id of the user, which is also the `id` of the member.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    rule: fieldSchemas.text(limits.maxIdLength),
    create: 'required',
  })
  memberId!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @OrgId()
  readonly orgId!: string
  @Property(() => [String], {
    description:
      'Scopes of this member, in addition to `defaultMemberScopes` of the organization and the scopes of the groups of the member.',
    example: ['projects:write'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
    update: true,
  })
  scopes!: string[]
  @Property(() => [String], {
    description:
      'The scopes of the member, of its groups, and `defaultMemberScopes` of the organization. Empty while the member is suspended.',
    example: ['projects:read', 'projects:write'],
  })
  readonly effectiveScopes!: string[]
  @GroupIds({ description: 'The ids of the groups of the member.', update: true })
  groups!: string[]
  @Property(() => String, {
    description: 'The title or role of the member in the organization, which has no effect.',
    example: 'Head of Sales',
    nullable: true,
    rule: fieldSchemas.text(limits.maxNameLength).nullable(),
    create: 'optional',
    update: true,
  })
  userTitle!: string | null
  @Metadata('merge')
  metadata!: JsonObject
  @Property(() => MemberStatus, {
    description: 'Whether the membership has an effect.',
    create: 'optional',
    default: 'active',
    update: true,
  })
  status!: MemberStatus
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const OrganizationMemberPage = pageOf(OrganizationMember)

export const createRules = createRulesOf(OrganizationMember)
export const updateRules = updateRulesOf(OrganizationMember)

/** Description of the argument `search` of member lists. */
export const memberSearchDescription =
  'A prefix of the username, name or email address of the user. Requires read access to users.'

@ArgsType()
export class MemberPath extends OrganizationPath {
  @Field(() => ID, { description: 'The id of the user.' })
  memberId!: string
}

@ArgsType()
export class MemberFilter extends PageArgs {
  @Field(() => MemberStatus, { nullable: true, description: 'Lists only members with this status.' })
  status?: MemberStatus | null
  @Field(() => String, {
    nullable: true,
    description:
      'Lists only active members with this effective scope, which can come from the organization or a group.',
  })
  scope?: string | null
  @Field(() => String, { nullable: true, description: memberSearchDescription })
  search?: string | null
}
