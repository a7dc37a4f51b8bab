import { ArgsType, Field, InputType, ObjectType } from 'type-graphql'
import { customIssue, fieldSchemas } from '../../kernel/input.js'
import { enumType, inputRulesOf, Property, pageOf } from '../declaration.js'
import { PageArgs } from '../graphql-types.js'
import { User, userSearchDescription } from './user.js'

export const ApprovalAction = enumType('ApprovalAction', 'A decision on a sign-up.', {
  approve: 'The user becomes active and can sign in.',
  reject: 'The user becomes blocked. The rejection needs a reason.',
})

@ObjectType({ description: 'A user who is pending approval, or whose approval has been decided.' })
export class Approval extends User {
  @Property(() => String, {
    description: 'An internal note of the administrator who decided, which is never shown to the user.',
    example: 'Confirmed by phone.',
    nullable: true,
    restName: 'note',
  })
  readonly approvalNote!: string | null
}

export const ApprovalPage = pageOf(Approval)

@InputType({ description: 'A decision on a sign-up.' })
export class DecideApprovalInput {
  @Property(() => ApprovalAction, { description: 'Whether the user is approved or rejected.', example: 'approve' })
  action!: keyof typeof ApprovalAction
  @Property(() => String, {
    description: 'The reason, which is shown to the user. Required for a rejection.',
    example: 'We could not verify your employment.',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
  })
  reason?: string | null
  @Property(() => String, {
    description: 'An internal note, which is never shown to the user.',
    example: 'Confirmed by phone.',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
  })
  note?: string | null
}

export const decisionRules = inputRulesOf(DecideApprovalInput).superRefine(({ action, reason }, context) => {
  if (action === 'reject' && !reason?.trim())
    context.addIssue(customIssue(['reason'], 'required', 'is required for a rejection and is shown to the user.'))
})

@ArgsType()
export class ApprovalFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: userSearchDescription })
  search?: string | null
}
