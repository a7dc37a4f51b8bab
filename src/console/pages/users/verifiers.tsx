/** The credentials of a user. */
import { ActionIcon, Button, Group } from '@mantine/core'
import type { CreateVerifierInput, VerifierType } from 'documents/types'
import { createVerifier, deleteVerifier, verifiers } from 'documents/users'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon, type IconName } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const verifierTypes: Partial<Record<VerifierType, { label: string; icon: IconName }>> = {
  password: { label: 'Password', icon: 'lock' },
  temporary_password: { label: 'Temporary password', icon: 'lock' },
  passkey: { label: 'Passkey', icon: 'fingerprint' },
  totp: { label: 'Authenticator app', icon: 'phone' },
  backup_codes: { label: 'Backup codes', icon: 'key' },
  oauth: { label: 'External provider', icon: 'globe' },
}

const passwordFields: Field<CreateVerifierInput>[] = [
  { kind: 'password', path: 'password', label: 'New password', required: true },
  { kind: 'toggle', path: 'mustChange', label: 'Require a new password at the next sign-in' },
]

export function UserVerifiers({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const mutate = useMutation()
  const [adding, setAdding] = useState(false)
  const [codes, setCodes] = useState<readonly string[]>()
  const [removing, setRemoving] = useState<{ id: string; label: string }>()
  const ids = { accountId, issuerId, userId }
  const typenames = ['Verifier']

  const addPassword = async (typed: CreateVerifierInput) => {
    const input = { ...typed, type: 'password' as const, name: 'Password' }
    await mutate(createVerifier, { ...ids, input }, { successMessage: 'Password set', typenames })
    setAdding(false)
  }
  const createBackupCodes = async () => {
    const input = { type: 'backup_codes' as const, name: null }
    const { createVerifier: created } = await mutate(createVerifier, { ...ids, input }, { typenames })
    if ('codesPlain' in created) setCodes(created.codesPlain)
  }
  return (
    <>
      {may('createVerifier') && (
        <Group gap="xs" mb="md">
          <Button variant="default" leftSection={<Icon name="lock" />} onClick={() => setAdding(true)}>
            Set password
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="key" />}
            onClick={() => void createBackupCodes().catch(showError)}
          >
            Create backup codes
          </Button>
        </Group>
      )}
      <List
        label="Credentials"
        query={verifiers}
        variables={ids}
        page={(data) => data.verifiers}
        typename="Verifier"
        columns={[
          {
            header: 'Type',
            cell: ({ type, name }) => (
              <NameCell
                mark={<Icon name={verifierTypes[type]?.icon ?? 'key'} />}
                name={verifierTypes[type]?.label ?? type}
                {...(name && { text: name })}
              />
            ),
          },
          { header: 'Last used', width: '150px', cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} /> },
          {
            header: 'Added',
            width: '150px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
            width: '60px',
            align: 'right',
            cell: ({ id, type }) =>
              may('deleteVerifier') && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Remove ${verifierTypes[type]?.label ?? type}`}
                  onClick={() => setRemoving({ id, label: verifierTypes[type]?.label ?? type })}
                >
                  <Icon name="trash" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'fingerprint',
          title: 'No credentials yet',
          text: 'Without a credential, the user can sign in only by email or through another provider, if the issuer offers it. Otherwise, set a password.',
        }}
      />
      {adding && (
        <CreateDialog
          title="Set password"
          fields={passwordFields}
          submitLabel="Set password"
          create={addPassword}
          onClose={() => setAdding(false)}
        />
      )}
      {removing && (
        <ConfirmDialog
          title={`Remove ${removing.label.toLowerCase()}`}
          label="Remove"
          onConfirm={() =>
            mutate(
              deleteVerifier,
              { ...ids, verifierId: removing.id },
              { successMessage: `${removing.label} removed`, typenames },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          The user will no longer be able to sign in with this credential.
        </ConfirmDialog>
      )}
      {codes && (
        <SecretDialog
          title="Backup codes"
          text="Each code works once. Earlier backup codes of this user no longer work."
          secrets={[{ label: 'Codes', value: codes.join(' ') }]}
          fileName={`backup-codes-${userId}.txt`}
          onClose={() => setCodes(undefined)}
        />
      )}
    </>
  )
}
