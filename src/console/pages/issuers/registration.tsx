/** Dynamic client registration of an issuer: the policy and the initial access tokens. */
import { ActionIcon, Button } from '@mantine/core'
import { createInitialAccessToken, initialAccessTokens, revokeInitialAccessToken } from 'documents/registration'
import type {
  CreateInitialAccessTokenInput,
  InitialAccessTokenFieldsFragment,
  UpdateIssuerInput,
} from 'documents/types'
import { useState } from 'react'
import { Card } from '../../components/card'
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

const POLICY_PATH = 'settings.security.openid_policy.dynamic_registration'

const isEnabled = (values: Record<string, unknown>): boolean => values[`${POLICY_PATH}.enabled`] === true

export const registrationFields: Field<UpdateIssuerInput>[] = [
  {
    kind: 'toggle',
    path: `${POLICY_PATH}.enabled`,
    label: 'Allow dynamic client registration',
    hint: 'Clients can register themselves at this issuer (RFC 7591). Users must consent to the access of such clients.',
  },
  {
    kind: 'toggle',
    path: `${POLICY_PATH}.initial_access_token_required`,
    label: 'Require an initial access token',
    hint: 'Without this, anyone can register a client. Most MCP clients have no initial access token.',
    defaultValue: true,
    visibleWhen: isEnabled,
  },
  {
    kind: 'list',
    path: `${POLICY_PATH}.allowed_scopes`,
    label: 'Allowed scopes',
    hint: 'Scopes that registered clients may have in addition to those of OpenID Connect.',
    placeholder: 'notes:read',
    visibleWhen: isEnabled,
  },
  {
    kind: 'list',
    path: `${POLICY_PATH}.allowed_resources`,
    label: 'Allowed resources',
    hint: 'URIs of the APIs and MCP servers for which registered clients may request tokens (RFC 8707).',
    placeholder: 'https://mcp.example.com/mcp',
    visibleWhen: isEnabled,
  },
]

const DAY_SECONDS = 86_400
const tokenFields: Field<CreateInitialAccessTokenInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', hint: 'Who gets the token, for example. Only administrators see it.' },
  {
    kind: 'select',
    path: 'expiresIn',
    label: 'Expires after',
    required: true,
    options: [
      { value: String(DAY_SECONDS / 24), label: '1 hour' },
      { value: String(DAY_SECONDS), label: '1 day' },
      { value: String(7 * DAY_SECONDS), label: '7 days' },
      { value: String(30 * DAY_SECONDS), label: '30 days' },
      { value: String(365 * DAY_SECONDS), label: '1 year' },
    ],
  },
  {
    kind: 'number',
    path: 'maxUses',
    label: 'Clients',
    hint: 'The number of clients that can register with the token.',
    required: true,
    min: 1,
    max: 10_000,
  },
]

/** The initial access tokens of an issuer: a list, creation and revocation. */
export function InitialAccessTokens() {
  const { accountId, issuerId, may } = useConsoleContext()
  const mutate = useMutation()
  const [isCreating, setIsCreating] = useState(false)
  const [tokenPlain, setTokenPlain] = useState<string>()
  const [revoking, setRevoking] = useState<InitialAccessTokenFieldsFragment>()
  const ids = { accountId, issuerId }
  const create = async (input: CreateInitialAccessTokenInput) => {
    const { createInitialAccessToken: created } = await mutate(
      createInitialAccessToken,
      { ...ids, input: { ...input, expiresIn: Number(input.expiresIn) } },
      { typenames: ['InitialAccessToken'] },
    )
    setIsCreating(false)
    setTokenPlain(created.tokenPlain!)
  }
  const open = () => setIsCreating(true)
  const canCreate = may('createInitialAccessToken')
  return (
    <>
      <Card
        title="Initial access tokens"
        text="A client that presents an initial access token can register itself, as often as the token allows."
        actions={
          canCreate && (
            <Button variant="default" leftSection={<Icon name="plus" />} onClick={open}>
              Create initial access token
            </Button>
          )
        }
      >
        <TokenList onRevoke={setRevoking} canRevoke={may('revokeInitialAccessToken')} />
      </Card>
      {isCreating && (
        <CreateDialog
          title="Create initial access token"
          fields={tokenFields}
          initial={{ expiresIn: String(DAY_SECONDS), maxUses: 1 }}
          submitLabel="Create initial access token"
          create={create}
          onClose={() => setIsCreating(false)}
        />
      )}
      {tokenPlain && (
        <SecretDialog
          title="Initial access token"
          text="A client sends the token as a Bearer token when it registers itself."
          secrets={[{ label: 'Initial access token', value: tokenPlain }]}
          fileName="initial-access-token.txt"
          onClose={() => setTokenPlain(undefined)}
        />
      )}
      {revoking && (
        <ConfirmDialog
          title="Revoke initial access token"
          label="Revoke initial access token"
          onConfirm={() =>
            mutate(
              revokeInitialAccessToken,
              { ...ids, initialAccessTokenId: revoking.id },
              { successMessage: 'Initial access token revoked' },
            )
          }
          onClose={() => setRevoking(undefined)}
        >
          No further client can register with {revoking.name ?? revoking.id}. Registered clients keep working.
        </ConfirmDialog>
      )}
    </>
  )
}

interface TokenListProps {
  canRevoke: boolean
  onRevoke: (token: InitialAccessTokenFieldsFragment) => void
}

function TokenList({ canRevoke, onRevoke }: TokenListProps) {
  const { accountId, issuerId } = useConsoleContext()
  return (
    <List
      label="Initial access tokens"
      query={initialAccessTokens}
      variables={{ accountId, issuerId }}
      page={(data) => data.initialAccessTokens}
      typename="InitialAccessToken"
      columns={[
        {
          header: 'Name',
          cell: ({ name, id }) => <NameCell mark={<Icon name="key" />} name={name ?? 'Unnamed'} text={id} />,
        },
        { header: 'Uses', width: '90px', cell: ({ uses, maxUses }) => `${uses} of ${maxUses}` },
        { header: 'Status', width: '110px', cell: ({ status }) => <StatusBadge value={status} /> },
        {
          header: 'Expires',
          width: '120px',
          hideOnMobile: true,
          cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
        },
        {
          header: 'Last used',
          width: '120px',
          hideOnMobile: true,
          cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
        },
        {
          header: '',
          width: '72px',
          align: 'right',
          cell: (token) =>
            canRevoke &&
            token.status === 'active' && (
              <ActionIcon
                variant="subtle"
                color="red"
                aria-label={`Revoke ${token.name ?? token.id}`}
                onClick={() => onRevoke(token)}
              >
                <Icon name="close" />
              </ActionIcon>
            ),
        },
      ]}
      empty={{
        icon: 'key',
        title: 'No initial access tokens yet',
        text: 'Create a token for each partner or program that may register clients.',
      }}
    />
  )
}
