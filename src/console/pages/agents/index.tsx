/** The agents of an issuer: the list, and one of them. */
import { Button } from '@mantine/core'
import { agents, createAgent } from 'documents/agents'
import type { CreateAgentInput } from 'documents/types'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
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
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/agents`
  return (
    <Page
      title="Agents"
      lead="Programs with an identity of their own. They sign in with a secret or a wallet and get tokens of five minutes."
      actions={
        may('createAgent') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New agent
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
        search={{ name: 'search', placeholder: 'Search by name or id' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended', 'blocked'].map((value) => ({ value, label: value })),
          },
          {
            name: 'hasVerifiers',
            label: 'Any verifiers',
            boolean: true,
            options: [
              { value: 'true', label: 'Can sign in' },
              { value: 'false', label: 'Without verifier' },
            ],
          },
        ]}
        columns={[
          {
            head: 'Name',
            cell: ({ name, id }) => <Named mark={<Icon name="robot" />} name={name} text={id} />,
          },
          {
            head: 'Model',
            wide: true,
            cell: ({ model, provider }) => [provider, model].filter(Boolean).join(' ') || '–',
          },
          {
            head: 'Signs in by',
            width: '150px',
            wide: true,
            cell: ({ verifierTypes }) => verifierTypes.join(', ') || 'nothing yet',
          },
          { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'robot',
          title: 'No agent yet',
          text: 'Give each program that acts on its own an identity here: its scopes, a secret or a wallet, and a trail of what it did.',
          ...(may('createAgent') && { action: 'New agent', onAction: open }),
        }}
      />
      {params.has('new') && may('createAgent') && <CreateAgent onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

const fields: Field<CreateAgentInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Invoice reader' },
  { kind: 'long', path: 'description', label: 'Description' },
  { kind: 'text', path: 'provider', label: 'Provider', hint: 'Who runs the model, if there is one.' },
  { kind: 'text', path: 'model', label: 'Model' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'What it may do.', placeholder: 'invoices:read' },
]

function CreateAgent({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const create = async (input: CreateAgentInput) => {
    const { createAgent: made } = await run(createAgent, { accountId, issuerId, input }, { done: 'Agent made' })
    navigate(`${issuerHref(accountId, issuerId)}/agents/${made.id}/verifiers`)
  }
  return <CreateDialog title="New agent" fields={fields} submit="Make agent" create={create} onClose={onClose} />
}
