/** Personal tokens, with which scripts act as the user. */
import { ActionIcon, Button, Group } from '@mantine/core'
import type { CreatePersonalTokenInput } from 'documents/types'
import { createPersonalToken, personalTokens, revokePersonalToken } from 'documents/user-tabs'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { RelativeTime, StatusBadge } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const DAY = 86_400_000

type PersonalTokenForm = CreatePersonalTokenInput & { days: string }

const fields: Field<PersonalTokenForm>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Nightly export' },
  { kind: 'text', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'restrictions.scopes',
    label: 'Scopes',
    hint: 'Leave empty for all scopes of the user.',
    placeholder: 'users:read',
  },
  {
    kind: 'select',
    path: 'days',
    label: 'Lifetime',
    options: [
      { value: '1', label: '1 day' },
      { value: '7', label: '7 days' },
      { value: '21', label: '21 days (maximum)' },
    ],
  },
  {
    kind: 'url',
    path: 'audience',
    label: 'Audience',
    hint: 'The API that accepts the token. Leave empty for the Gatehouse API.',
  },
]

export function UserTokens({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const mutate = useMutation()
  const [params, setParams] = useSearchParams()
  const [token, setToken] = useState<string>()
  const [revoking, setRevoking] = useState<{ id: string; name: string }>()
  const ids = { accountId, issuerId, userId }
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async ({ days, restrictions, ...typed }: PersonalTokenForm) => {
    const expiry = days === '21' ? {} : { expiresAt: Date.now() + Number(days) * DAY }
    const input = { ...typed, ...expiry, type: 'personal_token' as const, restrictions: restrictions ?? {} }
    const { createPersonalToken: created } = await mutate(createPersonalToken, { ...ids, input })
    setParams({}, { replace: true })
    setToken(created.tokenPlain ?? undefined)
  }
  return (
    <>
      {may('createPersonalToken') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create token
          </Button>
        </Group>
      )}
      <List
        label="Personal tokens"
        query={personalTokens}
        variables={ids}
        page={(data) => data.personalTokens}
        typename="PersonalToken"
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended', 'blocked', 'revoked', 'expired'].map((value) => ({ value, label: value })),
          },
        ]}
        columns={[
          {
            header: 'Name',
            cell: ({ name, description, audience }) => (
              <NameCell mark={<Icon name="key" />} name={name} text={description ?? audience} />
            ),
          },
          { header: 'Scopes', hideOnMobile: true, cell: ({ scopes }) => scopes?.join(', ') || 'all of the user’s' },
          { header: 'Status', width: '125px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Expires',
            width: '130px',
            hideOnMobile: true,
            cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
          },
          {
            header: '',
            width: '72px',
            align: 'right',
            cell: ({ id, name, status }) =>
              status === 'active' &&
              may('revokePersonalToken') && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Revoke ${name}`}
                  onClick={() => setRevoking({ id, name })}
                >
                  <Icon name="close" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'key',
          title: 'No personal tokens yet',
          text: 'With a personal token, a script can act as this user for up to 21 days, without a password or a browser.',
          ...(may('createPersonalToken') && { action: 'Create token', onAction: open }),
        }}
      />
      {params.has('new') && may('createPersonalToken') && (
        <CreateDialog
          title="Create personal token"
          fields={fields}
          initial={{ days: '7' }}
          submitLabel="Create token"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
      {token && (
        <SecretDialog
          title="Personal token"
          text="Anyone with this token can act as this user."
          secrets={[{ label: 'Token', value: token }]}
          fileName={`token-${userId}.txt`}
          onClose={() => setToken(undefined)}
        />
      )}
      {revoking && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}`}
          label="Revoke"
          onConfirm={() =>
            mutate(revokePersonalToken, { accountId, tokenId: revoking.id }, { successMessage: 'Token revoked' })
          }
          onClose={() => setRevoking(undefined)}
        >
          The token stops working immediately. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  )
}
