/** The credentials of an agent: secrets, and public keys and wallets whose private key the agent has. */
import { ActionIcon, Alert, Button, Group } from '@mantine/core'
import { agentVerifiers, createAgentVerifier, deleteAgentVerifier } from 'documents/agents'
import type { CreateAgentVerifierInput } from 'documents/types'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon, type IconName } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const secretFields: Field<CreateAgentVerifierInput>[] = [
  {
    kind: 'text',
    path: 'name',
    label: 'Name',
    placeholder: 'Production',
    hint: 'Helps you to distinguish several secrets of the agent.',
  },
]
const walletFields: Field<CreateAgentVerifierInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Treasury wallet' },
  {
    kind: 'text',
    path: 'network',
    label: 'Network',
    required: true,
    hint: 'The CAIP-2 chain ID, such as eip155:1 for Ethereum.',
  },
  { kind: 'text', path: 'address', label: 'Address', required: true, placeholder: '0x…' },
]
const publicKeyFields: Field<CreateAgentVerifierInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Production cluster' },
  {
    kind: 'url',
    path: 'jwksUri',
    label: 'JWKS URL',
    placeholder: 'https://agents.example.com/jwks.json',
    hint: 'The address of the public keys as a JSON Web Key Set. Keys at this address can be rotated without a change here.',
  },
  {
    kind: 'json',
    path: 'jwks',
    label: 'Public keys',
    required: true,
    hint: 'Without a JWKS URL: a JSON Web Key Set {"keys": […]} with EC P-256, Ed25519 or RSA keys. Never enter a private key.',
    visibleWhen: ({ jwksUri }) => !jwksUri,
  },
]

type VerifierType = CreateAgentVerifierInput['type']

/** How credentials of each type are shown and created. */
const kinds: Record<
  VerifierType,
  { icon: IconName; name: string; create: string; fields: Field<CreateAgentVerifierInput>[] }
> = {
  secret: { icon: 'key', name: 'Secret', create: 'Create secret', fields: secretFields },
  public_key: { icon: 'code', name: 'Public key', create: 'Add public key', fields: publicKeyFields },
  wallet: { icon: 'card', name: 'Wallet', create: 'Add wallet', fields: walletFields },
}
const typenames = ['AgentVerifier', 'Agent']

/** @param isReadOnly true if the agent is not active. The credentials of such an agent cannot be changed. */
export function AgentVerifiers({ agentId, isReadOnly }: { agentId: string; isReadOnly: boolean }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const mutate = useMutation()
  const [adding, setAdding] = useState<VerifierType>()
  const [secret, setSecret] = useState<string>()
  const [removing, setRemoving] = useState<{ id: string; label: string }>()
  const ids = { accountId, issuerId, agentId }
  const add = async (typed: CreateAgentVerifierInput) => {
    const input = { ...typed, type: adding!, name: typed.name ?? null }
    const { createAgentVerifier: created } = await mutate(
      createAgentVerifier,
      { ...ids, input },
      { typenames, ...(adding !== 'secret' && { successMessage: `${kinds[adding!].name} added` }) },
    )
    setAdding(undefined)
    if (created.secret) setSecret(created.secret)
  }
  const canAdd = may('createAgentVerifier') && !isReadOnly
  return (
    <>
      {isReadOnly && (
        <Alert mb="md" variant="light" color="yellow" icon={<Icon name="pause" />}>
          The agent is not active: it cannot sign in, and its credentials cannot be changed.
        </Alert>
      )}
      {canAdd && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="key" />} onClick={() => setAdding('secret')}>
            Create secret
          </Button>
          {(['public_key', 'wallet'] as const).map((type) => (
            <Button
              key={type}
              variant="default"
              leftSection={<Icon name={kinds[type].icon} />}
              onClick={() => setAdding(type)}
            >
              {kinds[type].create}
            </Button>
          ))}
        </Group>
      )}
      <List
        label="Credentials"
        query={agentVerifiers}
        variables={ids}
        page={(data) => data.agentVerifiers}
        typename="AgentVerifier"
        columns={[
          {
            header: 'Type',
            cell: ({ type, name, address, algorithm, jwksUri }) => (
              <NameCell
                mark={<Icon name={kinds[type].icon} />}
                name={name ?? kinds[type].name}
                text={address ?? jwksUri ?? (algorithm === null ? 'public key' : `stored as ${algorithm} hash`)}
              />
            ),
          },
          { header: 'Network', width: '150px', hideOnMobile: true, cell: ({ network }) => network ?? '–' },
          { header: 'Last used', width: '130px', cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} /> },
          {
            header: 'Added',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
            width: '72px',
            align: 'right',
            cell: ({ id, type, name }) =>
              may('deleteAgentVerifier') &&
              !isReadOnly && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Remove ${name ?? kinds[type].name}`}
                  onClick={() => setRemoving({ id, label: name ?? kinds[type].name })}
                >
                  <Icon name="trash" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'key',
          title: 'No credentials yet',
          text: 'The agent cannot sign in. Create a secret if the program can store a secret, or add a public key or wallet whose private key the program has.',
          ...(canAdd && { action: 'Create secret', onAction: () => setAdding('secret') }),
        }}
      />
      {adding && (
        <CreateDialog
          title={kinds[adding].create}
          fields={kinds[adding].fields}
          submitLabel={kinds[adding].create}
          create={add}
          onClose={() => setAdding(undefined)}
        />
      )}
      {secret && (
        <SecretDialog
          title="Agent secret"
          text="Other secrets of the agent keep working until you remove them."
          secrets={[
            { label: 'Agent ID', value: agentId },
            { label: 'Secret', value: secret },
          ]}
          fileName={`${agentId}.txt`}
          onClose={() => setSecret(undefined)}
        />
      )}
      {removing && (
        <ConfirmDialog
          title={`Remove ${removing.label}`}
          label="Remove"
          onConfirm={() =>
            mutate(
              deleteAgentVerifier,
              { ...ids, verifierId: removing.id },
              { successMessage: 'Credential removed', typenames },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          The agent will no longer be able to sign in with this credential. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  )
}
