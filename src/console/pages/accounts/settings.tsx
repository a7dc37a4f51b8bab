/** Account settings: name, description and metadata. */
import { account as accountQuery, updateAccount } from 'documents/accounts'
import type { UpdateAccountInput } from 'documents/types'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { accountHref, useConsoleContext } from '../../console-context'
import { EditForm } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'

const fields: Field<UpdateAccountInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Acme' },
  { kind: 'textarea', path: 'description', label: 'Description', hint: 'Internal description, in Markdown.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

export default function AccountSettings() {
  const { accountId, may } = useConsoleContext()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const { data, error, loading, refetch } = useQuery(accountQuery, { accountId })
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  return (
    <Page title="Account settings" crumbs={[{ label: 'Settings', href: `${accountHref(accountId)}/settings` }]}>
      <EditForm
        title="General"
        fields={fields}
        resource={data.account}
        editable={may('updateAccount')}
        save={(input, ifMatch) =>
          mutate(updateAccount, { accountId, input, ifMatch }, { successMessage: 'Account saved' })
        }
        reload={async () => (await fetchLatest(accountQuery, { accountId })).account}
      />
    </Page>
  )
}
