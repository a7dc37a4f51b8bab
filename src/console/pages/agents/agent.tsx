/** The page of an agent: how the agent gets tokens, its credentials and its settings. */
import { agent as agentQuery, deleteAgent, updateAgent } from 'documents/agents'
import type { UpdateAgentInput } from 'documents/types'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { AgentVerifiers } from './verifiers'

const generalFields: Field<UpdateAgentInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'textarea', path: 'description', label: 'Description' },
  { kind: 'text', path: 'provider', label: 'Provider' },
  { kind: 'text', path: 'model', label: 'Model' },
  { kind: 'text', path: 'version', label: 'Version' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'Scopes that are granted to the agent.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]
const statusFields: Field<UpdateAgentInput>[] = [
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'A suspended agent cannot sign in until it is reactivated. Blocking is permanent.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'blocked', label: 'Blocked (permanent)' },
    ],
  },
  {
    kind: 'text',
    path: 'statusReason',
    label: 'Reason',
    required: true,
    visibleWhen: ({ status }) => status !== 'active',
  },
]

export function AgentPage({ agentId }: { agentId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const ids = { accountId, issuerId, agentId }
  const { data, error, loading, refetch } = useQuery(agentQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { agent, issuer } = data
  const listHref = `${issuerHref(accountId, issuerId)}/agents`
  const href = `${listHref}/${agentId}`
  const formProps = {
    resource: agent,
    editable: may('updateAgent') && agent.status !== 'blocked',
    save: (input: UpdateAgentInput, ifMatch: string) =>
      mutate(updateAgent, { ...ids, input, ifMatch }, { successMessage: 'Agent saved' }),
    reload: async () => (await fetchLatest(agentQuery, ids)).agent,
  }
  const remove = async () => {
    await mutate(
      deleteAgent,
      { ...ids, ifMatch: etagOf(agent) },
      { successMessage: 'Agent deleted', typenames: ['Agent'] },
    )
    navigate(listHref)
  }
  return (
    <DetailPage
      title={agent.name}
      badge={<StatusBadge value={agent.status} />}
      {...(agent.description && { lead: agent.description })}
      href={href}
      crumbs={[
        { label: 'Agents', href: listHref },
        { label: agent.name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Connect',
          content: () => (
            <>
              <Card title="Identity">
                <DescriptionList
                  rows={[
                    ['Agent ID', <Copyable key="id" value={agent.id} label="agent ID" />],
                    ['Issuer', <Copyable key="url" value={issuer.url} label="issuer URL" />],
                    ['Model', [agent.provider, agent.model, agent.version].filter(Boolean).join(' ') || 'not set'],
                    agent.statusReason ? ['Status reason', agent.statusReason] : undefined,
                    ['Created', <RelativeTime key="created" at={agent.createdAt} />],
                  ]}
                />
              </Card>
              <Card title="Get a token" text="Requires a secret. The token expires after five minutes.">
                <CodeBlock
                  title="Shell"
                  code={`curl -u "${agent.id}:$AGENT_SECRET" ${issuer.url}/token -d grant_type=client_credentials`}
                />
              </Card>
            </>
          ),
        },
        {
          path: 'verifiers',
          label: 'Credentials',
          isVisible: may('agentVerifiers'),
          content: () => <AgentVerifiers agentId={agentId} isReadOnly={agent.status !== 'active'} />,
        },
        {
          path: 'settings',
          label: 'Settings',
          content: () => (
            <>
              <EditForm key="general" title="General" fields={generalFields} {...formProps} />
              <EditForm key="status" title="Status" fields={statusFields} {...formProps} />
              {may('deleteAgent') && (
                <DangerZone
                  actions={[
                    {
                      title: 'Delete this agent',
                      text: 'Permanently deletes the agent and its credentials.',
                      label: 'Delete agent',
                      warning:
                        'The agent will no longer be able to get tokens. Its current tokens expire within five minutes.',
                      name: agent.name,
                      onConfirm: remove,
                    },
                  ]}
                />
              )}
            </>
          ),
        },
      ]}
    />
  )
}
