/** The prepaid credit of an account: what is left, what moved it, how to add to it. */
import { Text } from '@mantine/core'
import { ledgerEntries } from 'documents/payments'
import { useAsk } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Card } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { LinkButton } from '../../parts/link'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { money, signedMoney } from './money'

const titles: Record<string, string> = { topup: 'Top-up', charge: 'Charge', refund: 'Refund', adjustment: 'Adjustment' }

const topUp = (accountId: string) => `# 1. What is to be paid? The answer is 402, with what to sign in PAYMENT-REQUIRED.
curl -i -u "$KEY_ID:$KEY_SECRET" -H 'Content-Type: application/json' \\
  -d '{"amount_μusd": 5000000}' \\
  ${location.origin}/v1/accounts/${accountId}/credits/topups

# 2. Sign that with a wallet (x402, version 2) and send the same again with it.
curl -i -u "$KEY_ID:$KEY_SECRET" -H 'Content-Type: application/json' \\
  -H "PAYMENT-SIGNATURE: $SIGNED" -d '{"amount_μusd": 5000000}' \\
  ${location.origin}/v1/accounts/${accountId}/credits/topups`

export default function Credits() {
  const { accountId, may } = usePlace()
  // Each entry says what was left after it.
  const { data, fault, loading, again } = useAsk(ledgerEntries, { accountId, limit: 1 }, { typename: 'LedgerEntry' })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const balance = data.ledgerEntries.data[0]?.balanceMicroUsd ?? 0
  return (
    <Page
      title="Credits"
      lead="Prepaid credit that priced operations are paid from."
      actions={
        may('paymentMethods') && (
          <LinkButton href={`${accountHref(accountId)}/payment-methods`} variant="default">
            Payment methods
          </LinkButton>
        )
      }
    >
      <Card title="Balance">
        <Text fz={30} fw={620} lh={1.2}>
          {money(balance)}
        </Text>
      </Card>
      {may('createTopup') && (
        <Card
          title="Top up"
          text="Credit is paid for by a wallet, without a person: a program asks what it costs, signs, and sends it again."
        >
          <CodeBlock title="Top up by 5 dollars" code={topUp(accountId)} />
        </Card>
      )}
      <List
        label="Ledger"
        query={ledgerEntries}
        variables={{ accountId }}
        page={(page) => page.ledgerEntries}
        typename="LedgerEntry"
        columns={[
          {
            head: 'Movement',
            cell: ({ type, description, id }) => <Named name={titles[type] ?? type} text={description ?? id} />,
          },
          {
            head: 'Reference',
            width: '240px',
            wide: true,
            cell: ({ paymentReference }) =>
              paymentReference ? <Copyable value={paymentReference} label="payment reference" /> : '–',
          },
          { head: 'Amount', width: '120px', align: 'right', cell: ({ amountMicroUsd }) => signedMoney(amountMicroUsd) },
          {
            head: 'After it',
            width: '120px',
            align: 'right',
            wide: true,
            cell: ({ balanceMicroUsd }) => money(balanceMicroUsd),
          },
          {
            head: 'When',
            width: '130px',
            align: 'right',
            wide: true,
            cell: ({ createdAt }) => <Moment at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'card',
          title: 'Nothing has moved yet',
          text: 'Top-ups and what operations cost appear here, newest first, with the balance after each.',
        }}
      />
    </Page>
  )
}
