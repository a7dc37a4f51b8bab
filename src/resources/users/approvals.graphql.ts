import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { enumOf, IssuerPath, PageArgs, pageType, RestName, Scope } from '../graphql-types.js'
import { type ApprovalAction, approvalActions, decideApproval, getApproval } from './approvals.js'
import { listUsersPendingApproval } from './listing.js'
import { User, UserPath } from './users.graphql.js'

export const ApprovalActionEnum = enumOf(approvalActions)
registerEnumType(ApprovalActionEnum, { name: 'ApprovalAction' })

@ObjectType({ description: 'A user who is pending approval, or whose approval has been decided.' })
class Approval extends User {
  @Field(() => String, { nullable: true, description: 'An internal note, which is never shown to the user.' })
  @RestName('note')
  approvalNote!: string | null
}

@ObjectType()
class ApprovalPage extends pageType(Approval) {}

@InputType()
class DecideApprovalInput {
  @Field(() => ApprovalActionEnum)
  action!: ApprovalAction
  @Field(() => String, {
    nullable: true,
    description: 'The reason, which is shown to the user. Required for a rejection.',
  })
  reason?: string | null
  @Field(() => String, { nullable: true, description: 'An internal note, which is never shown to the user.' })
  note?: string | null
}

@ArgsType()
class ApprovalFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: 'A prefix of the username, a name or the email address.' })
  search?: string | null
}

@Resolver(() => Approval)
export class ApprovalResolver {
  @Query(() => ApprovalPage, {
    nullable: true,
    description: 'Lists the users pending approval, oldest first, with hashed usernames.',
  })
  @Scope('issuers.approvals', 'read')
  approvals(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Args(() => ApprovalFilter) filter: ApprovalFilter,
  ) {
    return listUsersPendingApproval(context, path, filter)
  }

  @Query(() => Approval, { nullable: true })
  @Scope('issuers.approvals', 'read')
  approval(@Ctx() context: Context, @Args(() => UserPath) path: UserPath) {
    return getApproval(context, path)
  }

  @Mutation(() => Approval)
  @Scope('issuers.approvals', 'manage')
  decideApproval(
    @Ctx() context: Context,
    @Args(() => UserPath) path: UserPath,
    @Arg('input', () => DecideApprovalInput) input: DecideApprovalInput,
  ) {
    return decideApproval(context, path, input)
  }
}
