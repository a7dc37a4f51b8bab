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
import type { LedgerEntry as LedgerEntryRow } from '../../platform/database.js'
import {
  AccountPlace,
  CommitsItself,
  idempotencyKeyArg,
  JSONObject,
  MicroUsd,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import { listLedger, referenceOf } from './credits.js'
import { type Topup as TopupResult, topUp } from './topups.js'

@ObjectType({ description: 'One movement of the prepaid credit of an account.' })
class LedgerEntry {
  @Field(() => ID)
  id!: string
  @Field(() => String, { description: 'topup, charge, refund or adjustment.' })
  type!: string
  @Field(() => MicroUsd, { description: 'Signed.' })
  amountMicroUsd!: number
  @Field(() => MicroUsd, { description: 'After the movement.' })
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

@ObjectType({ description: 'A payment that was settled and credited.' })
class Topup {
  @Field(() => ID, { description: 'Of its entry in the ledger.' })
  id!: string
  @Field(() => MicroUsd)
  amountMicroUsd!: number
  @Field(() => MicroUsd, { description: 'After it.' })
  balanceMicroUsd!: number
  @Field(() => String, { description: '<network>:<transaction>' })
  paymentReference!: string
  @Field(() => JSONObject, { description: 'The SettlementResponse of x402.' })
  settlement!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@InputType()
class CreateTopupInput {
  @Field(() => MicroUsd, { description: '1 to 1,000,000,000,000.' })
  amountMicroUsd!: number
}

@Resolver(() => LedgerEntry)
export class CreditResolver {
  @Query(() => LedgerEntryPage, { description: 'Most recent first.' })
  @Scope('credits', 'read')
  ledgerEntries(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listLedger(context, { accountId: place.accountId }, page)
  }

  @Mutation(() => Topup, { description: 'Without a payment it fails with PAYMENT_REQUIRED and says what to sign.' })
  @Scope('credits', 'manage')
  @CommitsItself()
  createTopup(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreateTopupInput) input: CreateTopupInput,
    @Arg('paymentSignature', () => String, {
      nullable: true,
      description: 'As the PAYMENT-SIGNATURE header: a PaymentPayload of x402 v2, as base64 of its JSON.',
    })
    paymentSignature?: string | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ): Promise<TopupResult> {
    return topUp(context, place, input, paymentSignature)
  }

  @FieldResolver(() => String, { nullable: true, description: 'Of a top-up: <network>:<transaction>.' })
  paymentReference(@Root() entry: LedgerEntryRow): string | null {
    return referenceOf(entry)
  }
}
