/** The issuers of an account. */
import { Button } from '@mantine/core'
import { createAuthMethod, createIssuer, issuers } from 'documents/issuers'
import type { CreateIssuerInput } from 'documents/types'
import { useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const fields: Field<CreateIssuerInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Acme customers' },
  {
    kind: 'textarea',
    path: 'description',
    label: 'Description',
    hint: 'Only for administrators. Describe, for example, which users sign in at this issuer.',
  },
  {
    kind: 'select',
    path: 'settings.signup.mode',
    label: 'Who can sign up',
    options: [
      { value: 'open', label: 'Anyone' },
      { value: 'invite_only', label: 'Invited users only' },
    ],
  },
]

export default function Issuers() {
  const { accountId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  // The URL contains whether the dialog is open, so that other pages can link to the open dialog.
  const [params, setParams] = useSearchParams()
  const mutate = useMutation()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateIssuerInput) => {
    const { createIssuer: created } = await mutate(
      createIssuer,
      { accountId, input },
      { successMessage: 'Issuer created' },
    )
    // Without an authentication method, users could not sign in. If this fails, the dialog must not stay open, because
    // submitting it again would create a second issuer.
    const password = { name: 'Password', method: 'password' as const }
    await mutate(createAuthMethod, { accountId, issuerId: created.id, input: password }).catch(showError)
    navigate(issuerHref(accountId, created.id))
  }
  return (
    <Page
      title="Issuers"
      lead="Each issuer is an identity provider with its own users, clients, settings and branding."
      actions={
        may('createIssuer') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create issuer
          </Button>
        )
      }
    >
      <List
        label="Issuers"
        query={issuers}
        variables={{ accountId }}
        page={(data) => data.issuers}
        typename="Issuer"
        href={({ id }) => issuerHref(accountId, id)}
        search={{ name: 'search', placeholder: 'Search by name or ID' }}
        columns={[
          {
            header: 'Name',
            cell: ({ name, id, description }) => (
              <NameCell mark={<Icon name="gate" />} name={name} text={description ?? id} />
            ),
          },
          { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Created',
            width: '140px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'gate',
          title: 'No issuers yet',
          text: 'An issuer signs users in to your applications. It only needs a name; all settings have defaults.',
          ...(may('createIssuer') && { action: 'Create issuer', onAction: open }),
        }}
      />
      {params.has('new') && may('createIssuer') && (
        <CreateDialog
          title="Create issuer"
          fields={fields}
          initial={{ settings: { signup: { mode: 'invite_only' } } }}
          submitLabel="Create issuer"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}
