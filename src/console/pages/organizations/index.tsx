/** The organizations of an issuer: routes, list, and the dialog that creates an organization. */
import { Button } from '@mantine/core'
import { createOrganization, organizations } from 'documents/organizations'
import type { CreateOrganizationInput } from 'documents/types'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { organizationColumns } from './columns'
import { organizationTypes } from './fields'
import { OrganizationPage } from './organization'
import { OrganizationProvider } from './organization-context'

export default function Organizations() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/*?">
        {({ orgId }) => (
          <OrganizationProvider key={orgId} orgId={orgId!}>
            <OrganizationPage />
          </OrganizationProvider>
        )}
      </Route>
      <Route>{() => <OrganizationList />}</Route>
    </Switch>
  )
}

const yesOrNo = (yes: string, no: string) => [
  { value: 'true', label: yes },
  { value: 'false', label: no },
]

function OrganizationList() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/organizations`
  return (
    <Page
      title="Organizations"
      lead="Companies and teams of the users of this issuer. Tokens contain the memberships, groups and scopes."
      actions={
        may('createOrganization') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create organization
          </Button>
        )
      }
    >
      <List
        label="Organizations"
        query={organizations}
        variables={{ accountId, issuerId }}
        page={(data) => data.organizations}
        typename="Organization"
        href={({ id }) => `${base}/${id}`}
        search={{ name: 'search', placeholder: 'Search by name or ID' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended', 'deleted'].map((value) => ({ value, label: value })),
          },
          {
            name: 'invitationEnabled',
            label: 'Any invitation setting',
            boolean: true,
            options: yesOrNo('Invitations allowed', 'Invitations not allowed'),
          },
          {
            name: 'mfaRequired',
            label: 'Any MFA setting',
            boolean: true,
            options: yesOrNo('MFA required', 'MFA not required'),
          },
        ]}
        columns={organizationColumns}
        empty={{
          icon: 'building',
          title: 'No organizations yet',
          text: 'Create an organization for each customer that is a company. The users of the company become members, and their tokens contain their scopes and groups.',
          ...(may('createOrganization') && { action: 'Create organization', onAction: open }),
        }}
      />
      {params.has('new') && may('createOrganization') && (
        <CreateOrganization onClose={() => setParams({}, { replace: true })} />
      )}
    </Page>
  )
}

const fields: Field<CreateOrganizationInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Hopper Industries' },
  { kind: 'select', path: 'orgType', label: 'Type', options: organizationTypes },
  { kind: 'textarea', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'defaultMemberScopes',
    label: 'Default member scopes',
    hint: 'Scopes that every active member has, such as orders:read.',
  },
  { kind: 'toggle', path: 'invitationEnabled', label: 'Allow invitations by email' },
]

function CreateOrganization({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const create = async (input: CreateOrganizationInput) => {
    const ids = { accountId, issuerId }
    const { createOrganization: created } = await mutate(
      createOrganization,
      { ...ids, input },
      { successMessage: 'Organization created' },
    )
    navigate(`${issuerHref(accountId, issuerId)}/organizations/${created.id}`)
  }
  return (
    <CreateDialog
      title="Create organization"
      fields={fields}
      initial={{ orgType: 'business', invitationEnabled: true }}
      submitLabel="Create organization"
      create={create}
      onClose={onClose}
    />
  )
}
