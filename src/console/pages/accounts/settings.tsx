/** What an account is called, and what belongs to it as free data. */
import { account as accountQuery, updateAccount } from 'documents/accounts'
import type { UpdateAccountInput } from 'documents/types'
import { EditForm } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { accountHref, usePlace } from '../../place'

const fields: Field<UpdateAccountInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Acme' },
  { kind: 'long', path: 'description', label: 'Description', hint: 'Markdown. For your own people.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

export default function AccountSettings() {
  const { accountId, may } = usePlace()
  const run = useRun()
  const fresh = useFresh()
  const { data, fault, loading, again } = useAsk(accountQuery, { accountId })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  return (
    <Page title="Account settings" crumbs={[{ label: 'Settings', href: `${accountHref(accountId)}/settings` }]}>
      <EditForm
        title="General"
        fields={fields}
        thing={data.account}
        editable={may('updateAccount')}
        save={(input, ifMatch) => run(updateAccount, { accountId, input, ifMatch }, { done: 'Account saved' })}
        reload={async () => (await fresh(accountQuery, { accountId })).account}
      />
    </Page>
  )
}
