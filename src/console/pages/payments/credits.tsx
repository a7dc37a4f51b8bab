/** The prepaid credit of an account: balance, ledger, and how to top up. */
import { Text } from '@mantine/core'
import { ledgerEntries } from 'documents/payments'
import { Card } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { LinkButton } from '../../components/link'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { formatSignedUsd, formatUsd } from './money'

const entryTypeLabels: Record<string, string> = {
  topup: 'Top-up',
  charge: 'Charge',
  refund: 'Refund',
  adjustment: 'Adjustment',
}

const topUpSnippet = (
  accountId: string,
) => `# 1. Request the price. The response is 402, with the payment to sign in PAYMENT-REQUIRED.
curl -i -u "$KEY_ID:$KEY_SECRET" -H 'Content-Type: application/json' \\
  -d '{"amount_μusd": 5000000}' \\
  ${location.origin}/v1/accounts/${accountId}/credits/topups

# 2. Sign the payment with a wallet (x402, version 2) and repeat the request with the signature.
curl -i -u "$KEY_ID:$KEY_SECRET" -H 'Content-Type: application/json' \\
  -H "PAYMENT-SIGNATURE: $SIGNED" -d '{"amount_μusd": 5000000}' \\
  ${location.origin}/v1/accounts/${accountId}/credits/topups`

export default function Credits() {
  const { accountId, may } = useConsoleContext()
  // Each ledger entry contains the balance after the entry, so the newest entry contains the current balance.
  const { data, error, loading, refetch } = useQuery(
    ledgerEntries,
    { accountId, limit: 1 },
    { typename: 'LedgerEntry' },
  )
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const balance = data.ledgerEntries.data[0]?.balanceMicroUsd ?? 0
  return (
    <Page
      title="Credits"
      lead="Prepaid credit that pays for priced operations."
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
          {formatUsd(balance)}
        </Text>
      </Card>
      {may('createTopup') && (
        <Card
          title="Top up"
          text="A program pays for credit with a wallet: it requests the price, signs the payment, and repeats the request."
        >
          <CodeBlock title="Top up $5" code={topUpSnippet(accountId)} />
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
            header: 'Entry',
            cell: ({ type, description, id }) => (
              <NameCell name={entryTypeLabels[type] ?? type} text={description ?? id} />
            ),
          },
          {
            header: 'Reference',
            width: '240px',
            hideOnMobile: true,
            cell: ({ paymentReference }) =>
              paymentReference ? <Copyable value={paymentReference} label="payment reference" /> : '–',
          },
          {
            header: 'Amount',
            width: '120px',
            align: 'right',
            cell: ({ amountMicroUsd }) => formatSignedUsd(amountMicroUsd),
          },
          {
            header: 'Balance',
            width: '120px',
            align: 'right',
            hideOnMobile: true,
            cell: ({ balanceMicroUsd }) => formatUsd(balanceMicroUsd),
          },
          {
            header: 'Time',
            width: '130px',
            align: 'right',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'card',
          title: 'No ledger entries yet',
          text: 'Top-ups and charges appear here, newest first, each with the resulting balance.',
        }}
      />
    </Page>
  )
}
