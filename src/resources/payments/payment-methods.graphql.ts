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
import type { PaymentMethod as PaymentMethodRow } from '../../platform/postgres/database.js'
import {
  AccountPath,
  enumOf,
  idempotencyKeyArg,
  MicroUsd,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import {
  allowedWalletsOf,
  createPaymentMethod,
  isActive,
  listPaymentMethods,
  removePaymentMethod,
  updatePaymentMethod,
} from './payment-methods.js'

const PaymentMethodType = enumOf(['x402'])
registerEnumType(PaymentMethodType, { name: 'PaymentMethodType' })

@ObjectType({ description: 'A payment method of an account. An account has at most one active method.' })
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
class PaymentMethodPath extends AccountPath {
  @Field(() => ID)
  methodId!: string
}

@InputType()
class CreatePaymentMethodInput {
  @Field(() => PaymentMethodType)
  type!: string
  @Field(() => String, { nullable: true })
  label?: string | null
  @Field(() => [String], { nullable: true, description: 'The wallets that may pay. Null allows any wallet.' })
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
  @Field(() => [String], { nullable: true, description: 'The wallets that may pay. Null allows any wallet.' })
  allowedPayerWallets?: string[] | null
  @Field(() => MicroUsd, { nullable: true })
  autoTopupIncrementMicroUsd?: number | null
}

@Resolver(() => PaymentMethod)
export class PaymentMethodResolver {
  @Query(() => PaymentMethodPage, {
    nullable: true,
    description: 'Lists payment methods, newest first, including removed ones.',
  })
  @Scope('payment_methods', 'read')
  paymentMethods(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listPaymentMethods(context, { accountId: path.accountId }, page)
  }

  @Mutation(() => PaymentMethod, {
    description: 'Adds an active payment method. An account can have at most one active method.',
  })
  @Scope('payment_methods', 'write')
  createPaymentMethod(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => CreatePaymentMethodInput) input: CreatePaymentMethodInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createPaymentMethod(context, path, input)
  }

  @Mutation(() => PaymentMethod)
  @Scope('payment_methods', 'write')
  updatePaymentMethod(
    @Ctx() context: Context,
    @Args(() => PaymentMethodPath) path: PaymentMethodPath,
    @Arg('input', () => UpdatePaymentMethodInput) input: UpdatePaymentMethodInput,
  ) {
    return updatePaymentMethod(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Removes a payment method permanently. It stays in the list.' })
  @Scope('payment_methods', 'delete')
  async deletePaymentMethod(@Ctx() context: Context, @Args(() => PaymentMethodPath) path: PaymentMethodPath) {
    await removePaymentMethod(context, path)
    return true
  }

  @FieldResolver(() => Boolean)
  enabled(@Root() method: PaymentMethodRow): boolean {
    return isActive(method)
  }

  @FieldResolver(() => [String], { nullable: true, description: 'The wallets that may pay. Null allows any wallet.' })
  allowedPayerWallets(@Root() method: PaymentMethodRow): string[] | null {
    return allowedWalletsOf(method)
  }

  @FieldResolver(() => MicroUsd, {
    nullable: true,
    description: 'The amount of automatic top-ups, stored for clients. Gatehouse makes no automatic top-ups.',
  })
  autoTopupIncrementMicroUsd(@Root() method: PaymentMethodRow): bigint | null {
    return method.autoTopupMicroUsd
  }
}
