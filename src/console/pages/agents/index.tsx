/** The agents of an issuer: routes, list, and the dialog that creates an agent. */
import { Button } from '@mantine/core'
import { agents, createAgent } from 'documents/agents'
import type { CreateAgentInput } from 'documents/types'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { AgentPage } from './agent'

export default function Agents() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/agents/:agentId/*?">
        {({ agentId }) => <AgentPage key={agentId} agentId={agentId!} />}
      </Route>
      <Route>{() => <AgentList />}</Route>
    </Switch>
  )
}

function AgentList() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/agents`
  return (
    <Page
      title="Agents"
      lead="Programs with their own identity. They sign in with a secret or a wallet and get tokens that are valid for five minutes."
      actions={
        may('createAgent') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create agent
          </Button>
        )
      }
    >
      <List
        label="Agents"
        query={agents}
        variables={{ accountId, issuerId }}
        page={(data) => data.agents}
        typename="Agent"
        href={({ id }) => `${base}/${id}`}
        search={{ name: 'search', placeholder: 'Search by name or ID' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended', 'blocked'].map((value) => ({ value, label: value })),
          },
          {
            name: 'hasVerifiers',
            label: 'Any credentials',
            boolean: true,
            options: [
              { value: 'true', label: 'With credentials' },
              { value: 'false', label: 'Without credentials' },
            ],
          },
        ]}
        columns={[
          {
            header: 'Name',
            cell: ({ name, id }) => <NameCell mark={<Icon name="robot" />} name={name} text={id} />,
          },
          {
            header: 'Model',
            hideOnMobile: true,
            cell: ({ model, provider }) => [provider, model].filter(Boolean).join(' ') || '–',
          },
          {
            header: 'Credentials',
            width: '150px',
            hideOnMobile: true,
            cell: ({ verifierTypes }) => verifierTypes.join(', ') || 'none',
          },
          { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'robot',
          title: 'No agents yet',
          text: 'Give each autonomous program its own identity, with scopes, credentials, and an audit log of its actions.',
          ...(may('createAgent') && { action: 'Create agent', onAction: open }),
        }}
      />
      {params.has('new') && may('createAgent') && <CreateAgent onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

const fields: Field<CreateAgentInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Invoice reader' },
  { kind: 'textarea', path: 'description', label: 'Description' },
  { kind: 'text', path: 'provider', label: 'Provider', hint: 'The company that runs the model, if there is one.' },
  { kind: 'text', path: 'model', label: 'Model' },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Scopes',
    hint: 'Scopes that are granted to the agent.',
    placeholder: 'invoices:read',
  },
]

function CreateAgent({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const create = async (input: CreateAgentInput) => {
    const { createAgent: created } = await mutate(
      createAgent,
      { accountId, issuerId, input },
      { successMessage: 'Agent created' },
    )
    navigate(`${issuerHref(accountId, issuerId)}/agents/${created.id}/verifiers`)
  }
  return (
    <CreateDialog title="Create agent" fields={fields} submitLabel="Create agent" create={create} onClose={onClose} />
  )
}
