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
import { enumOf, IssuerPlace, PageArgs, pageType, Scope } from '../graphql.js'
import { type ApprovalAction, approvalActions, decideApproval, getApproval } from './approvals.js'
import { listWaitingUsers } from './listing.js'
import { User, UserPlace } from './users.graphql.js'

export const ApprovalActionEnum = enumOf(approvalActions)
registerEnumType(ApprovalActionEnum, { name: 'ApprovalAction' })

@ObjectType({ description: 'A user at the approval desk (spec 4.11).' })
class Approval extends User {
  @Field(() => String, { nullable: true, description: 'Internal: never shown to the user.' })
  approvalNote!: string | null
}

@ObjectType()
class ApprovalPage extends pageType(Approval) {}

@InputType()
class DecideApprovalInput {
  @Field(() => ApprovalActionEnum)
  action!: ApprovalAction
  @Field(() => String, { nullable: true, description: 'Required when rejecting; shown to the user.' })
  reason?: string | null
  @Field(() => String, { nullable: true, description: 'Internal: never shown to the user.' })
  note?: string | null
}

@ArgsType()
class ApprovalFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: 'The beginning of a username, name or email address.' })
  search?: string | null
}

@Resolver(() => Approval)
export class ApprovalResolver {
  @Query(() => ApprovalPage, { description: 'Users who wait for approval, the oldest signup first.' })
  @Scope('issuers.approvals', 'read')
  approvals(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => ApprovalFilter) filter: ApprovalFilter,
  ) {
    return listWaitingUsers(context, place, filter)
  }

  @Query(() => Approval)
  @Scope('issuers.approvals', 'read')
  approval(@Ctx() context: Context, @Args(() => UserPlace) place: UserPlace) {
    return getApproval(context, place)
  }

  @Mutation(() => Approval)
  @Scope('issuers.approvals', 'manage')
  decideApproval(
    @Ctx() context: Context,
    @Args(() => UserPlace) place: UserPlace,
    @Arg('input', () => DecideApprovalInput) input: DecideApprovalInput,
  ) {
    return decideApproval(context, place, input)
  }
}
