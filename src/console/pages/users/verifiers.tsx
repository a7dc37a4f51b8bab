/** How a user proves who it is. */
import { ActionIcon, Button, Group } from '@mantine/core'
import type { CreateVerifierInput, VerifierType } from 'documents/types'
import { createVerifier, deleteVerifier, verifiers } from 'documents/users'
import { useState } from 'react'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Confirm } from '../../parts/confirm'
import { Icon, type IconName } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { Moment } from '../../parts/values'
import { usePlace } from '../../place'

const kinds: Partial<Record<VerifierType, { label: string; icon: IconName }>> = {
  password: { label: 'Password', icon: 'lock' },
  temporary_password: { label: 'Temporary password', icon: 'lock' },
  passkey: { label: 'Passkey', icon: 'fingerprint' },
  totp: { label: 'Authenticator app', icon: 'phone' },
  backup_codes: { label: 'Backup codes', icon: 'key' },
  oauth: { label: 'Another provider', icon: 'globe' },
}

const fields: Field<CreateVerifierInput>[] = [
  { kind: 'password', path: 'password', label: 'New password', required: true },
  { kind: 'toggle', path: 'mustChange', label: 'The user chooses another at the next sign-in' },
]

export function UserVerifiers({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const run = useRun()
  const [adding, setAdding] = useState(false)
  const [codes, setCodes] = useState<readonly string[]>()
  const [removing, setRemoving] = useState<{ id: string; label: string }>()
  const ids = { accountId, issuerId, userId }
  const typenames = ['Verifier']

  const addPassword = async (typed: CreateVerifierInput) => {
    const input = { ...typed, type: 'password' as const, name: 'Password' }
    await run(createVerifier, { ...ids, input }, { done: 'Password set', typenames })
    setAdding(false)
  }
  const makeCodes = async () => {
    const input = { type: 'backup_codes' as const, name: null }
    const { createVerifier: made } = await run(createVerifier, { ...ids, input }, { typenames })
    if ('codesPlain' in made) setCodes(made.codesPlain)
  }
  return (
    <>
      {may('createVerifier') && (
        <Group gap="xs" mb="md">
          <Button variant="default" leftSection={<Icon name="lock" />} onClick={() => setAdding(true)}>
            Add a password
          </Button>
          <Button variant="default" leftSection={<Icon name="key" />} onClick={() => void makeCodes().catch(tellFault)}>
            Make backup codes
          </Button>
        </Group>
      )}
      <List
        label="Ways to sign in"
        query={verifiers}
        variables={ids}
        page={(data) => data.verifiers}
        typename="Verifier"
        columns={[
          {
            head: 'Kind',
            cell: ({ type, name }) => (
              <Named
                mark={<Icon name={kinds[type]?.icon ?? 'key'} />}
                name={kinds[type]?.label ?? type}
                {...(name && { text: name })}
              />
            ),
          },
          { head: 'Last used', width: '150px', cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
          { head: 'Added', width: '150px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
            width: '60px',
            align: 'right',
            cell: ({ id, type }) =>
              may('deleteVerifier') && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Remove ${kinds[type]?.label ?? type}`}
                  onClick={() => setRemoving({ id, label: kinds[type]?.label ?? type })}
                >
                  <Icon name="trash" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'fingerprint',
          title: 'No way to sign in',
          text: 'The user cannot sign in until there is one. Give a password, or let the user sign up with the same address.',
        }}
      />
      {adding && (
        <CreateDialog
          title="Add a password"
          fields={fields}
          submit="Set password"
          create={addPassword}
          onClose={() => setAdding(false)}
        />
      )}
      {removing && (
        <Confirm
          title={`Remove ${removing.label.toLowerCase()}`}
          label="Remove"
          run={() =>
            run(deleteVerifier, { ...ids, verifierId: removing.id }, { done: `${removing.label} removed`, typenames })
          }
          onClose={() => setRemoving(undefined)}
        >
          The user cannot sign in with it any more.
        </Confirm>
      )}
      {codes && (
        <SecretDialog
          title="Backup codes"
          text="Each works once. Earlier codes of this user work no more."
          secrets={[{ label: 'Codes', value: codes.join(' ') }]}
          fileName={`backup-codes-${userId}.txt`}
          onClose={() => setCodes(undefined)}
        />
      )}
    </>
  )
}
