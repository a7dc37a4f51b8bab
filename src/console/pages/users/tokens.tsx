/** The personal tokens by which a user's scripts act for the user. */
import { ActionIcon, Button, Group } from '@mantine/core'
import type { CreatePersonalTokenInput } from 'documents/types'
import { createPersonalToken, personalTokens, revokePersonalToken } from 'documents/user-parts'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { Moment, Status } from '../../parts/values'
import { usePlace } from '../../place'

const DAY = 86_400_000

type NewToken = CreatePersonalTokenInput & { days: string }

const fields: Field<NewToken>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Nightly export' },
  { kind: 'text', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'restrictions.scopes',
    label: 'Scopes',
    hint: 'Without any, all that the user may.',
    placeholder: 'users:read',
  },
  {
    kind: 'choice',
    path: 'days',
    label: 'Works for',
    options: [
      { value: '1', label: 'A day' },
      { value: '7', label: 'A week' },
      { value: '21', label: 'Three weeks, the longest' },
    ],
  },
  { kind: 'url', path: 'audience', label: 'Audience', hint: 'Who accepts it. Left empty, this Core API.' },
]

export function UserTokens({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const run = useRun()
  const [params, setParams] = useSearchParams()
  const [token, setToken] = useState<string>()
  const [revoking, setRevoking] = useState<{ id: string; name: string }>()
  const ids = { accountId, issuerId, userId }
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async ({ days, restrictions, ...typed }: NewToken) => {
    const ends = days === '21' ? {} : { expiresAt: Date.now() + Number(days) * DAY }
    const input = { ...typed, ...ends, type: 'personal_token' as const, restrictions: restrictions ?? {} }
    const { createPersonalToken: made } = await run(createPersonalToken, { ...ids, input })
    setParams({}, { replace: true })
    setToken(made.tokenPlain ?? undefined)
  }
  return (
    <>
      {may('createPersonalToken') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New token
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
            head: 'Name',
            cell: ({ name, description, audience }) => (
              <Named mark={<Icon name="key" />} name={name} text={description ?? audience} />
            ),
          },
          { head: 'Scopes', wide: true, cell: ({ scopes }) => scopes?.join(', ') || 'all of the user’s' },
          { head: 'Status', width: '125px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Ends', width: '130px', wide: true, cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
          {
            head: '',
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
          title: 'No personal token',
          text: 'With one, a script acts for this user for up to three weeks, without a password and without a browser.',
          ...(may('createPersonalToken') && { action: 'New token', onAction: open }),
        }}
      />
      {params.has('new') && may('createPersonalToken') && (
        <CreateDialog
          title="New personal token"
          fields={fields}
          initial={{ days: '7' }}
          submit="Make token"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
      {token && (
        <SecretDialog
          title="The token"
          text="Whoever has it acts for this user."
          secrets={[{ label: 'Token', value: token }]}
          fileName={`token-${userId}.txt`}
          onClose={() => setToken(undefined)}
        />
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          label="Revoke"
          run={() => run(revokePersonalToken, { accountId, tokenId: revoking.id }, { done: 'Token revoked' })}
          onClose={() => setRevoking(undefined)}
        >
          It stops working at once, for ever.
        </Confirm>
      )}
    </>
  )
}
