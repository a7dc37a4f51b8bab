import { Args, Ctx, Mutation, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { Input } from '../declaration.js'
import { IssuerPath, NullableQuery, Scope, UserPath } from '../graphql-types.js'
import { Approval, ApprovalFilter, ApprovalPage, DecideApprovalInput, decisionRules } from './approval.js'
import { decideApproval, getApproval } from './approvals.js'
import { listUsersPendingApproval } from './listing.js'

@Resolver(() => Approval)
export class ApprovalResolver {
  @NullableQuery(() => ApprovalPage, 'Lists the users pending approval, oldest first, with hashed usernames.')
  @Scope('issuers.approvals', 'read')
  approvals(@Ctx() context: Context, @Args() path: IssuerPath, @Args() filter: ApprovalFilter) {
    return listUsersPendingApproval(context, path, filter)
  }

  @NullableQuery(
    () => Approval,
    'Returns a user who is pending approval. Null with an error for a user with another status.',
  )
  @Scope('issuers.approvals', 'read')
  approval(@Ctx() context: Context, @Args() path: UserPath) {
    return getApproval(context, path)
  }

  @Mutation(() => Approval, {
    description: 'Approves or rejects a user who is pending approval, and sends the user an email about the decision.',
  })
  @Scope('issuers.approvals', 'manage')
  decideApproval(
    @Ctx() context: Context,
    @Args() path: UserPath,
    @Input(DecideApprovalInput, { rules: decisionRules }) input: object,
  ) {
    return decideApproval(context, path, input)
  }
}
