import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { LedgerEntry as LedgerEntryRow } from '../../platform/postgres/database.js'
import { CreateInput } from '../declaration.js'
import {
  AccountPath,
  IdempotencyKey,
  ManagesOwnTransactions,
  NullableQuery,
  PageArgs,
  Scope,
} from '../graphql-types.js'
import { listLedgerEntries, paymentReferenceOf } from './credits.js'
import { LedgerEntry, LedgerEntryPage } from './ledger-entry.js'
import { PaymentSignature, Topup } from './topup.js'
import { topUp } from './topups.js'

@Resolver(() => LedgerEntry)
export class CreditResolver {
  @NullableQuery(() => LedgerEntryPage, 'Lists the ledger entries of the prepaid credit of an account, newest first.')
  @Scope('credits', 'read')
  ledgerEntries(@Ctx() context: Context, @Args() path: AccountPath, @Args() page: PageArgs) {
    return listLedgerEntries(context, path, page)
  }

  @Mutation(() => Topup, {
    description:
      'Tops up the prepaid credit with an x402 payment. Without a payment, the mutation fails with the error PAYMENT_REQUIRED, which contains the payment requirements to sign.',
  })
  @IdempotencyKey()
  @Scope('credits', 'manage')
  @ManagesOwnTransactions()
  createTopup(
    @Ctx() context: Context,
    @Args() path: AccountPath,
    @CreateInput(Topup) input: object,
    @PaymentSignature() paymentSignature?: string | null,
  ) {
    return topUp(context, path, input, paymentSignature)
  }

  @FieldResolver()
  paymentReference(@Root() entry: LedgerEntryRow): string | null {
    return paymentReferenceOf(entry)
  }
}
