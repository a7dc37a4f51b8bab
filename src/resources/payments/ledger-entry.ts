import { ObjectType } from 'type-graphql'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { EventTarget, enumType, Property, pageOf } from '../declaration.js'
import { MicroUsd } from '../graphql-types.js'

export const LedgerEntryType = enumType('LedgerEntryType', 'Why the balance of an account changed.', {
  topup: 'A payment was added to the prepaid credit.',
  charge: 'An operation with a price was charged.',
  refund: 'A charge was returned.',
  adjustment: 'The balance was corrected.',
})
export type LedgerEntryType = keyof typeof LedgerEntryType

@EventTarget('ledger_entry')
@ObjectType({ description: 'A credit or charge in the ledger of an account. Entries never change.' })
export class LedgerEntry {
  @Id('ledger entry', 'led_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => LedgerEntryType, { description: 'Why the balance changed.' })
  readonly type!: LedgerEntryType
  @Property(() => MicroUsd, { description: 'The amount in micro-USD; negative for charges.', example: 25_000_000 })
  readonly amountMicroUsd!: number
  @Property(() => MicroUsd, { description: 'The balance after this entry, in micro-USD.', example: 31_500_000 })
  readonly balanceMicroUsd!: number
  @Property(() => String, {
    description: 'What the entry is for: the operation of a charge.',
    nullable: true,
    example: 'createUser',
  })
  readonly description!: string | null
  @Property(() => String, {
    description: 'The payment of a top-up: `<network>:<transaction>`. Null for other entries.',
    example: 'eip155:8453:0x8f3c1f0e9f0d6f5d3b7f3f6f0a4f1e2d3c4b5a69788796a5b4c3d2e1f0a1b2c3',
    nullable: true,
  })
  readonly paymentReference!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const LedgerEntryPage = pageOf(LedgerEntry)
