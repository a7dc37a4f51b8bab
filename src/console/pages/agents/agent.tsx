/** One agent: what it is, how it signs in. */
import { agent as agentQuery, deleteAgent, updateAgent } from 'documents/agents'
import type { UpdateAgentInput } from 'documents/types'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { AgentVerifiers } from './verifiers'

const general: Field<UpdateAgentInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'long', path: 'description', label: 'Description' },
  { kind: 'text', path: 'provider', label: 'Provider' },
  { kind: 'text', path: 'model', label: 'Model' },
  { kind: 'text', path: 'version', label: 'Version' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'What it may do.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]
const statuses: Field<UpdateAgentInput>[] = [
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'A suspended agent cannot sign in until it is active again. A block is final.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'blocked', label: 'Blocked, for ever' },
    ],
  },
  { kind: 'text', path: 'statusReason', label: 'Why', required: true, when: ({ status }) => status !== 'active' },
]

export function AgentPage({ agentId }: { agentId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const ids = { accountId, issuerId, agentId }
  const { data, fault, loading, again } = useAsk(agentQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { agent, issuer } = data
  const list = `${issuerHref(accountId, issuerId)}/agents`
  const href = `${list}/${agentId}`
  const form = {
    thing: agent,
    editable: may('updateAgent') && agent.status !== 'blocked',
    save: (input: UpdateAgentInput, ifMatch: string) =>
      run(updateAgent, { ...ids, input, ifMatch }, { done: 'Agent saved' }),
    reload: async () => (await fresh(agentQuery, ids)).agent,
  }
  const remove = async () => {
    await run(deleteAgent, { ...ids, ifMatch: versionOf(agent) }, { done: 'Agent deleted', typenames: ['Agent'] })
    navigate(list)
  }
  return (
    <DetailPage
      title={agent.name}
      badge={<Status value={agent.status} />}
      {...(agent.description && { lead: agent.description })}
      href={href}
      crumbs={[
        { label: 'Agents', href: list },
        { label: agent.name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Connect',
          content: () => (
            <>
              <Card title="Identity">
                <Facts
                  rows={[
                    ['Agent id', <Copyable key="id" value={agent.id} label="agent id" />],
                    ['Issuer', <Copyable key="url" value={issuer.url} label="issuer address" />],
                    ['Model', [agent.provider, agent.model, agent.version].filter(Boolean).join(' ') || 'not said'],
                    agent.statusReason ? ['Why it is so', agent.statusReason] : undefined,
                    ['Made', <Moment key="made" at={agent.createdAt} />],
                  ]}
                />
              </Card>
              <Card title="Get a token" text="With a secret verifier. The token is good for five minutes.">
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
          label: 'Verifiers',
          offered: may('agentVerifiers'),
          content: () => <AgentVerifiers agentId={agentId} isBlocked={agent.status !== 'active'} />,
        },
        {
          path: 'settings',
          label: 'Settings',
          content: () => (
            <>
              <EditForm key="general" title="General" fields={general} {...form} />
              <EditForm key="status" title="Status" fields={statuses} {...form} />
              {may('deleteAgent') && (
                <DangerZone
                  dangers={[
                    {
                      title: 'Delete this agent',
                      text: 'With all its verifiers, for ever.',
                      label: 'Delete agent',
                      warning: 'It can get no token any more. Tokens that it has end within five minutes.',
                      name: agent.name,
                      run: remove,
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
