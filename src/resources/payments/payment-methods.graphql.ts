import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { PaymentMethod as PaymentMethodRow } from '../../platform/database.js'
import { AccountPlace, enumOf, idempotencyKeyArg, MicroUsd, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import {
  createPaymentMethod,
  isActive,
  listPaymentMethods,
  removePaymentMethod,
  updatePaymentMethod,
  walletsOf,
} from './payment-methods.js'

const PaymentMethodType = enumOf(['x402'])
registerEnumType(PaymentMethodType, { name: 'PaymentMethodType' })

@ObjectType({ description: 'How an account pays (spec 2.16).' })
class PaymentMethod {
  @Field(() => ID)
  id!: string
  @Field(() => PaymentMethodType)
  type!: string
  @Field(() => String, { nullable: true })
  label!: string | null
  @Field(() => String, { description: 'active, disabled or removed.' })
  status!: string
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class PaymentMethodPage extends pageType(PaymentMethod) {}

@ArgsType()
class PaymentMethodPlace extends AccountPlace {
  @Field(() => ID)
  methodId!: string
}

@InputType()
class CreatePaymentMethodInput {
  @Field(() => PaymentMethodType)
  type!: string
  @Field(() => String, { nullable: true })
  label?: string | null
  @Field(() => [String], { nullable: true, description: 'Who may pay; null for whoever does.' })
  allowedPayerWallets?: string[] | null
  @Field(() => MicroUsd, { nullable: true })
  autoTopupIncrementMicroUsd?: number | null
}

@InputType()
class UpdatePaymentMethodInput {
  @Field(() => String, { nullable: true })
  label?: string | null
  @Field(() => Boolean, { nullable: true })
  enabled?: boolean | null
  @Field(() => [String], { nullable: true, description: 'Who may pay; null for whoever does.' })
  allowedPayerWallets?: string[] | null
  @Field(() => MicroUsd, { nullable: true })
  autoTopupIncrementMicroUsd?: number | null
}

@Resolver(() => PaymentMethod)
export class PaymentMethodResolver {
  @Query(() => PaymentMethodPage, { description: 'Newest first; removed ones stay in the list.' })
  @Scope('payment_methods', 'read')
  paymentMethods(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listPaymentMethods(context, { accountId: place.accountId }, page)
  }

  @Mutation(() => PaymentMethod, { description: 'At most one is active in an account.' })
  @Scope('payment_methods', 'write')
  createPaymentMethod(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreatePaymentMethodInput) input: CreatePaymentMethodInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createPaymentMethod(context, place, input)
  }

  @Mutation(() => PaymentMethod)
  @Scope('payment_methods', 'write')
  updatePaymentMethod(
    @Ctx() context: Context,
    @Args(() => PaymentMethodPlace) place: PaymentMethodPlace,
    @Arg('input', () => UpdatePaymentMethodInput) input: UpdatePaymentMethodInput,
  ) {
    return updatePaymentMethod(context, place, input)
  }

  @Mutation(() => Boolean, { description: 'For good; it stays in the list.' })
  @Scope('payment_methods', 'delete')
  async deletePaymentMethod(@Ctx() context: Context, @Args(() => PaymentMethodPlace) place: PaymentMethodPlace) {
    await removePaymentMethod(context, place)
    return true
  }

  @FieldResolver(() => Boolean)
  enabled(@Root() method: PaymentMethodRow): boolean {
    return isActive(method)
  }

  @FieldResolver(() => [String], { nullable: true, description: 'Null: whoever pays.' })
  allowedPayerWallets(@Root() method: PaymentMethodRow): string[] | null {
    return walletsOf(method)
  }

  @FieldResolver(() => MicroUsd, {
    nullable: true,
    description: 'Kept for the account; nothing is topped up by itself.',
  })
  autoTopupIncrementMicroUsd(@Root() method: PaymentMethodRow): bigint | null {
    return method.autoTopupMicroUsd
  }
}
