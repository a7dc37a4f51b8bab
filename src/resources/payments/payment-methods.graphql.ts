import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { PaymentMethod as PaymentMethodRow } from '../../platform/postgres/database.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { AccountPath, IdempotencyKey, NullableQuery, PageArgs, Scope, trueAfter } from '../graphql-types.js'
import { PaymentMethod, PaymentMethodPage, PaymentMethodPath } from './payment-method.js'
import {
  createPaymentMethod,
  isActive,
  listPaymentMethods,
  removePaymentMethod,
  updatePaymentMethod,
} from './payment-methods.js'

@Resolver(() => PaymentMethod)
export class PaymentMethodResolver {
  @NullableQuery(
    () => PaymentMethodPage,
    'Lists the payment methods of an account, newest first, including removed ones.',
  )
  @Scope('payment_methods', 'read')
  paymentMethods(@Ctx() context: Context, @Args() path: AccountPath, @Args() page: PageArgs) {
    return listPaymentMethods(context, path, page)
  }

  @Mutation(() => PaymentMethod, {
    description:
      'Adds an active payment method. The mutation fails if another one is active. While the account has one, operations with a price are charged to its prepaid credit, unless the operator overrides the billing mode.',
  })
  @IdempotencyKey()
  @Scope('payment_methods', 'write')
  createPaymentMethod(@Ctx() context: Context, @Args() path: AccountPath, @CreateInput(PaymentMethod) input: object) {
    return createPaymentMethod(context, path, input)
  }

  @Mutation(() => PaymentMethod, {
    description: 'Changes the given fields of a payment method. A removed payment method cannot be changed.',
  })
  @Scope('payment_methods', 'write')
  updatePaymentMethod(
    @Ctx() context: Context,
    @Args() path: PaymentMethodPath,
    @UpdateInput(PaymentMethod) input: object,
  ) {
    return updatePaymentMethod(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Removes a payment method permanently. It stays in the list.' })
  @Scope('payment_methods', 'delete')
  deletePaymentMethod(@Ctx() context: Context, @Args() path: PaymentMethodPath) {
    return trueAfter(removePaymentMethod(context, path))
  }

  @FieldResolver()
  enabled(@Root() method: PaymentMethodRow): boolean {
    return isActive(method)
  }

  @FieldResolver()
  autoTopupIncrementMicroUsd(@Root() method: PaymentMethodRow): bigint | null {
    return method.autoTopupMicroUsd
  }
}
