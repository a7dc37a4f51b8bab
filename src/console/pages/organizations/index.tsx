/** The organizations of an issuer: the list, and one of them. */
import { Button } from '@mantine/core'
import { createOrganization, organizations } from 'documents/organizations'
import type { CreateOrganizationInput } from 'documents/types'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { issuerHref, usePlace } from '../../place'
import { organizationColumns } from './columns'
import { organizationTypes } from './fields'
import { OrganizationPage } from './organization'
import { OrganizationPlaceOf } from './place'

export default function Organizations() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/*?">
        {({ orgId }) => (
          <OrganizationPlaceOf key={orgId} orgId={orgId!}>
            <OrganizationPage />
          </OrganizationPlaceOf>
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
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/organizations`
  return (
    <Page
      title="Organizations"
      lead="Companies and teams among the users of this issuer. Members, groups and scopes appear in their tokens."
      actions={
        may('createOrganization') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New organization
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
        search={{ name: 'search', placeholder: 'Search by name or id' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended', 'deleted'].map((value) => ({ value, label: value })),
          },
          {
            name: 'invitationEnabled',
            label: 'Any way in',
            boolean: true,
            options: yesOrNo('By invitation too', 'Without invitations'),
          },
          {
            name: 'mfaRequired',
            label: 'Any sign-in',
            boolean: true,
            options: yesOrNo('Two factors needed', 'One factor is enough'),
          },
        ]}
        columns={organizationColumns}
        empty={{
          icon: 'building',
          title: 'No organization yet',
          text: 'If your customers are companies, make one for each: its people become members, with scopes and groups that your applications find in their tokens.',
          ...(may('createOrganization') && { action: 'New organization', onAction: open }),
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
  { kind: 'choice', path: 'orgType', label: 'Kind', options: organizationTypes },
  { kind: 'long', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'defaultMemberScopes',
    label: 'Scopes of every member',
    hint: 'What everybody in it may do, such as orders:read.',
  },
  { kind: 'toggle', path: 'invitationEnabled', label: 'People can be invited by email' },
]

function CreateOrganization({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const create = async (input: CreateOrganizationInput) => {
    const ids = { accountId, issuerId }
    const { createOrganization: made } = await run(createOrganization, { ...ids, input }, { done: 'Organization made' })
    navigate(`${issuerHref(accountId, issuerId)}/organizations/${made.id}`)
  }
  return (
    <CreateDialog
      title="New organization"
      fields={fields}
      initial={{ orgType: 'business', invitationEnabled: true }}
      submit="Make organization"
      create={create}
      onClose={onClose}
    />
  )
}
