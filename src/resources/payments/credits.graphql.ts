import {
  Arg,
  Args,
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
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { LedgerEntry as LedgerEntryRow } from '../../platform/postgres/database.js'
import {
  AccountPath,
  idempotencyKeyArg,
  JSONObject,
  ManagesOwnTransactions,
  MicroUsd,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { listLedgerEntries, paymentReferenceOf } from './credits.js'
import { type Topup as TopupResult, topUp } from './topups.js'

@ObjectType({ description: 'A credit or charge in the ledger of an account.' })
class LedgerEntry {
  @Field(() => ID)
  id!: string
  @Field(() => String, { description: 'topup, charge, refund or adjustment.' })
  type!: string
  @Field(() => MicroUsd, { description: 'The amount; negative for charges.' })
  amountMicroUsd!: number
  @Field(() => MicroUsd, { description: 'The balance after this entry.' })
  balanceMicroUsd!: number
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class LedgerEntryPage extends pageType(LedgerEntry) {}

@ObjectType({ description: 'A settled and credited payment.' })
class Topup {
  @Field(() => ID, { description: 'The id of the ledger entry.' })
  id!: string
  @Field(() => MicroUsd)
  amountMicroUsd!: number
  @Field(() => MicroUsd, { description: 'The balance after this top-up.' })
  balanceMicroUsd!: number
  @Field(() => String, { description: 'The payment: `<network>:<transaction>`.' })
  paymentReference!: string
  @Field(() => JSONObject, { description: 'The x402 SettlementResponse.' })
  settlement!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@InputType()
class CreateTopupInput {
  @Field(() => MicroUsd, { description: 'The amount in micro-USD, 1 to 1,000,000,000,000.' })
  amountMicroUsd!: number
}

@Resolver(() => LedgerEntry)
export class CreditResolver {
  @Query(() => LedgerEntryPage, { nullable: true, description: 'Lists ledger entries, newest first.' })
  @Scope('credits', 'read')
  ledgerEntries(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listLedgerEntries(context, { accountId: path.accountId }, page)
  }

  @Mutation(() => Topup, {
    description:
      'Tops up the prepaid credit with an x402 payment. Without a payment, the mutation fails with the error PAYMENT_REQUIRED, which contains the payment requirements to sign.',
  })
  @Scope('credits', 'manage')
  @ManagesOwnTransactions()
  createTopup(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => CreateTopupInput) input: CreateTopupInput,
    @Arg('paymentSignature', () => String, {
      nullable: true,
      description: 'The payment: an x402 v2 PaymentPayload as base64-encoded JSON, as in the PAYMENT-SIGNATURE header.',
    })
    paymentSignature?: string | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ): Promise<TopupResult> {
    return topUp(context, path, input, paymentSignature)
  }

  @FieldResolver(() => String, { nullable: true, description: 'The payment of a top-up: `<network>:<transaction>`.' })
  paymentReference(@Root() entry: LedgerEntryRow): string | null {
    return paymentReferenceOf(entry)
  }
}
