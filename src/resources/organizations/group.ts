import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, OrgId, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, inputRulesOf, Property, pageOf, updateRulesOf } from '../declaration.js'
import { OrganizationPath, PageArgs } from '../graphql-types.js'
import { memberSearchDescription } from './member.js'

@EventTarget('organization_group')
@ObjectType({
  description: 'A named set of members of an organization. Active members have the scopes of the group.',
})
export class OrganizationGroup {
  @Id('group', 'grp_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @OrgId()
  readonly orgId!: string
  @Property(() => String, {
    description: 'The name, which is unique in the organization.',
    example: 'Editors',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Description()
  description!: string | null
  @Property(() => [String], {
    description: 'Scopes that the active members of the group have.',
    example: ['articles:write'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
    update: true,
  })
  scopes!: string[]
  @Metadata('replace')
  metadata!: object
  @Property(() => Int, { description: 'The number of members of the group.', example: 3 })
  readonly memberCount!: number
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const OrganizationGroupPage = pageOf(OrganizationGroup)

@InputType({ description: 'The member that is added to a group.' })
export class AddOrganizationGroupMemberInput {
  @Property(() => ID, {
    description: 'The user id of a member of the organization.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    rule: fieldSchemas.text(limits.maxIdLength),
  })
  memberId!: string
}

export const createRules = createRulesOf(OrganizationGroup)
export const updateRules = updateRulesOf(OrganizationGroup)
export const addMemberRules = inputRulesOf(AddOrganizationGroupMemberInput)

@ArgsType()
export class GroupPath extends OrganizationPath {
  @Field(() => ID, { description: 'The id of the group.' })
  groupId!: string
}

@ArgsType()
export class GroupMemberPath extends GroupPath {
  @Field(() => ID, { description: 'The id of the user.' })
  memberId!: string
}

@ArgsType()
export class GroupMemberFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: memberSearchDescription })
  search?: string | null
}
