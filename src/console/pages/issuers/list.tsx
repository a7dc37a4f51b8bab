/** The issuers of an account. */
import { Button } from '@mantine/core'
import { createAuthMethod, createIssuer, issuers } from 'documents/issuers'
import type { CreateIssuerInput } from 'documents/types'
import { useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'

const fields: Field<CreateIssuerInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Acme customers' },
  { kind: 'long', path: 'description', label: 'Description', hint: 'Who signs in here? For your own people.' },
  {
    kind: 'choice',
    path: 'settings.signup.mode',
    label: 'Who may sign up',
    options: [
      { value: 'open', label: 'Everybody' },
      { value: 'invite_only', label: 'Only who is invited' },
    ],
  },
]

export default function Issuers() {
  const { accountId, may } = usePlace()
  const [, navigate] = useLocation()
  // So that other pages can lead to the open dialogue.
  const [params, setParams] = useSearchParams()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateIssuerInput) => {
    const { createIssuer: made } = await run(createIssuer, { accountId, input }, { done: 'Issuer made' })
    // An issuer without a way to sign in is of no use to anybody.
    const password = { name: 'Password', method: 'password' as const }
    await run(createAuthMethod, { accountId, issuerId: made.id, input: password })
    navigate(issuerHref(accountId, made.id))
  }
  return (
    <Page
      title="Issuers"
      lead="Each issuer is an identity provider: its own people, applications, rules and looks."
      actions={
        may('createIssuer') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New issuer
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
        search={{ name: 'search', placeholder: 'Search by name or id' }}
        columns={[
          {
            head: 'Name',
            cell: ({ name, id, description }) => (
              <Named mark={<Icon name="gate" />} name={name} text={description ?? id} />
            ),
          },
          { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Made', width: '140px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'gate',
          title: 'No issuer yet',
          text: 'An issuer signs people in. Give it a name; everything else has good defaults.',
          ...(may('createIssuer') && { action: 'New issuer', onAction: open }),
        }}
      />
      {params.has('new') && may('createIssuer') && (
        <CreateDialog
          title="New issuer"
          fields={fields}
          initial={{ settings: { signup: { mode: 'invite_only' } } }}
          submit="Make issuer"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}
