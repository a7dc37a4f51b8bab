/** How an agent proves who it is: secrets, and wallets whose key it holds. */
import { ActionIcon, Alert, Button, Group } from '@mantine/core'
import { agentVerifiers, createAgentVerifier, deleteAgentVerifier } from 'documents/agents'
import type { CreateAgentVerifierInput } from 'documents/types'
import { useState } from 'react'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { Moment } from '../../parts/values'
import { usePlace } from '../../place'

const secretFields: Field<CreateAgentVerifierInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Production', hint: 'To tell it from others.' },
]
const walletFields: Field<CreateAgentVerifierInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Treasury wallet' },
  {
    kind: 'text',
    path: 'network',
    label: 'Network',
    required: true,
    hint: 'Its CAIP-2 name, such as eip155:1 for Ethereum.',
  },
  { kind: 'text', path: 'address', label: 'Address', required: true, placeholder: '0x…' },
]
const typenames = ['AgentVerifier', 'Agent']

/** @param isBlocked only an active agent may change its verifiers */
export function AgentVerifiers({ agentId, isBlocked }: { agentId: string; isBlocked: boolean }) {
  const { accountId, issuerId, may } = usePlace()
  const run = useRun()
  const [adding, setAdding] = useState<'secret' | 'wallet'>()
  const [secret, setSecret] = useState<string>()
  const [removing, setRemoving] = useState<{ id: string; label: string }>()
  const ids = { accountId, issuerId, agentId }
  const add = async (typed: CreateAgentVerifierInput) => {
    const input = { ...typed, type: adding!, name: typed.name ?? null }
    const { createAgentVerifier: made } = await run(
      createAgentVerifier,
      { ...ids, input },
      { typenames, ...(adding === 'wallet' && { done: 'Wallet added' }) },
    )
    setAdding(undefined)
    if (made.secret) setSecret(made.secret)
  }
  const offered = may('createAgentVerifier') && !isBlocked
  return (
    <>
      {isBlocked && (
        <Alert mb="md" variant="light" color="yellow" icon={<Icon name="pause" />}>
          The agent is not active: it cannot sign in, and its verifiers stay as they are.
        </Alert>
      )}
      {offered && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="key" />} onClick={() => setAdding('secret')}>
            Make a secret
          </Button>
          <Button variant="default" leftSection={<Icon name="card" />} onClick={() => setAdding('wallet')}>
            Add a wallet
          </Button>
        </Group>
      )}
      <List
        label="Verifiers"
        query={agentVerifiers}
        variables={ids}
        page={(data) => data.agentVerifiers}
        typename="AgentVerifier"
        columns={[
          {
            head: 'Kind',
            cell: ({ type, name, address, algorithm }) => (
              <Named
                mark={<Icon name={type === 'wallet' ? 'card' : 'key'} />}
                name={name ?? (type === 'wallet' ? 'Wallet' : 'Secret')}
                text={address ?? `kept as ${algorithm}`}
              />
            ),
          },
          { head: 'Network', width: '150px', wide: true, cell: ({ network }) => network ?? '–' },
          { head: 'Last used', width: '130px', cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
          { head: 'Added', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
            width: '72px',
            align: 'right',
            cell: ({ id, type, name }) =>
              may('deleteAgentVerifier') &&
              !isBlocked && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Remove ${name ?? type}`}
                  onClick={() => setRemoving({ id, label: name ?? type })}
                >
                  <Icon name="trash" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'key',
          title: 'It cannot sign in yet',
          text: 'Make a secret for a program that can keep one, or add the wallet whose key the agent holds.',
          ...(offered && { action: 'Make a secret', onAction: () => setAdding('secret') }),
        }}
      />
      {adding && (
        <CreateDialog
          title={adding === 'secret' ? 'Make a secret' : 'Add a wallet'}
          fields={adding === 'secret' ? secretFields : walletFields}
          submit={adding === 'secret' ? 'Make secret' : 'Add wallet'}
          create={add}
          onClose={() => setAdding(undefined)}
        />
      )}
      {secret && (
        <SecretDialog
          title="The agent’s secret"
          text="Older secrets of the agent go on working until you remove them."
          secrets={[
            { label: 'Agent id', value: agentId },
            { label: 'Secret', value: secret },
          ]}
          fileName={`${agentId}.txt`}
          onClose={() => setSecret(undefined)}
        />
      )}
      {removing && (
        <Confirm
          title={`Remove ${removing.label}`}
          label="Remove"
          run={() =>
            run(deleteAgentVerifier, { ...ids, verifierId: removing.id }, { done: 'Verifier removed', typenames })
          }
          onClose={() => setRemoving(undefined)}
        >
          The agent cannot sign in with it any more. This cannot be undone.
        </Confirm>
      )}
    </>
  )
}
