/** Shows the claims that a user would get from a client, and which claims and scopes are left out. */
import { Alert, Button, Group, Select, TextInput, Title } from '@mantine/core'
import { previewToken } from 'documents/claims'
import { clients as clientsQuery } from 'documents/clients'
import type { PreviewTokenQuery } from 'documents/types'
import { userOrganizations } from 'documents/user-tabs'
import { useMemo, useState } from 'react'
import { Card } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { Icon } from '../../components/icon'
import { searchableSelectProps, useAccumulatedOptions, useDebouncedSearch } from '../../components/searchable-options'
import { type SelectedUser, UserPicker } from '../../components/user-picker'
import { useConsoleContext } from '../../console-context'
import { useQuery, useRefetch } from '../../graphql/hooks'
import { RequestError } from '../../graphql/request-error'
import classes from './claims.module.css'

type Preview = NonNullable<PreviewTokenQuery['previewToken']>

/** @param clientId the client; undefined to select one */
export function TokenPreview({ clientId }: { clientId: string | undefined }) {
  const { accountId, issuerId } = useConsoleContext()
  const run = useRefetch()
  const [selectedClientId, setSelectedClientId] = useState<string | null>(clientId ?? null)
  const [user, setUser] = useState<SelectedUser>()
  const [orgId, setOrgId] = useState<string | null>(null)
  const [scope, setScope] = useState('openid profile email')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<RequestError>()
  const [preview, setPreview] = useState<Preview>()
  const errorOf = (field: string) => {
    const message = error?.details.find((detail) => detail.field === field)?.message
    return message && `${message.charAt(0).toUpperCase()}${message.slice(1)}`
  }
  // The page of a client has no field for the client.
  const hasField = error?.details.some(({ field }) => field !== 'clientId' || clientId === undefined)
  const formError = error && !hasField ? (errorOf('clientId') ?? error.message) : undefined

  const show = async () => {
    if (!selectedClientId || !user) return
    setBusy(true)
    setError(undefined)
    try {
      const ids = { accountId, issuerId, clientId: selectedClientId, userId: user.id }
      const result = await run(previewToken, { ...ids, orgId, scope: scope.trim() || null, resource: null })
      setPreview(result.previewToken)
    } catch (caught) {
      if (!(caught instanceof RequestError)) throw caught
      setPreview(undefined)
      setError(caught)
    } finally {
      setBusy(false)
    }
  }

  return (
    <Card
      title="Preview token"
      text="The claims that a user would get after a sign-in with multi-factor authentication. Nothing is signed or stored; unsaved changes have no effect."
    >
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void show()
        }}
      >
        <div className={classes.inputs}>
          {clientId === undefined && (
            <ClientSelect value={selectedClientId} onChange={setSelectedClientId} error={errorOf('clientId')} />
          )}
          <UserPicker
            label="User"
            selected={user}
            error={errorOf('userId')}
            onSelect={(selected) => {
              setUser(selected)
              setOrgId(null)
            }}
          />
          <OrganizationSelect userId={user?.id} value={orgId} onChange={setOrgId} error={errorOf('orgId')} />
          <TextInput
            label="Scope"
            placeholder="openid"
            value={scope}
            error={errorOf('scope')}
            autoComplete="off"
            onChange={(event) => setScope(event.currentTarget.value)}
          />
        </div>
        <Group mt="md">
          <Button type="submit" variant="default" disabled={!user || !selectedClientId} loading={busy}>
            Preview token
          </Button>
        </Group>
      </form>
      {formError && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert" mt="md">
          {formError}
        </Alert>
      )}
      {preview && <PreviewResult preview={preview} />}
    </Card>
  )
}

function PreviewResult({ preview: { accessToken, idToken, userinfo, dropped } }: { preview: Preview }) {
  return (
    <section aria-label="Token preview">
      {dropped.length > 0 && (
        <div className={classes.dropped}>
          <Title order={3} size="h5">
            Left out
          </Title>
          <ul>
            {dropped.map(({ name, reason }) => (
              <li key={`${name} ${reason}`}>
                <code>{name}</code>: {reason}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className={classes.tokens}>
        <CodeBlock title="Access token" code={JSON.stringify(accessToken, null, 2)} />
        <CodeBlock title="ID token" code={idToken ? JSON.stringify(idToken, null, 2) : noOpenidScope} />
        <CodeBlock title="Userinfo" code={userinfo ? JSON.stringify(userinfo, null, 2) : noOpenidScope} />
      </div>
    </section>
  )
}

const noOpenidScope = 'none: request the scope openid'

interface SelectProps {
  value: string | null
  onChange: (id: string | null) => void
  error: string | undefined
}

function ClientSelect({ value, onChange, error }: SelectProps) {
  const { accountId, issuerId } = useConsoleContext()
  const [search, onSearch] = useDebouncedSearch()
  const { data } = useQuery(clientsQuery, { accountId, issuerId, limit: 20, search })
  const found = useMemo(() => data?.clients.data.map(({ id, name }) => ({ value: id, label: name })), [data])
  const options = useAccumulatedOptions(found)
  return (
    <Select
      label="Client"
      required
      placeholder="Type a name"
      value={value}
      error={error}
      onChange={onChange}
      {...searchableSelectProps({ options, onSearch }, value === null ? [] : [value])}
    />
  )
}

/** Selects an organization of the user. */
function OrganizationSelect({ userId, value, onChange, error }: SelectProps & { userId: string | undefined }) {
  const { accountId, issuerId } = useConsoleContext()
  const variables = { accountId, issuerId, userId: userId ?? '', limit: 100 }
  const { data } = useQuery(userOrganizations, variables, { pause: userId === undefined })
  const organizations = (userId !== undefined && data?.user.organizations?.data) || []
  return (
    <Select
      label="Organization"
      placeholder={userId !== undefined && organizations.length === 0 ? 'The user has none' : 'None selected'}
      disabled={organizations.length === 0}
      clearable
      searchable
      data={organizations.map(({ id, name }) => ({ value: id, label: name ?? id }))}
      value={value}
      error={error}
      onChange={onChange}
    />
  )
}
