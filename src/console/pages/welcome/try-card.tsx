/** Starts a sign-in like an application, for a new demo user or an existing user. */
import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { createVerifier } from 'documents/users'
import { createDemoUser, createTrySignInClient, trySignInClients } from 'documents/welcome'
import { useState } from 'react'
import { Card, DescriptionList } from '../../components/card'
import { Icon } from '../../components/icon'
import { Copyable } from '../../components/values'
import { showError, useMutation, useRefetch } from '../../graphql/hooks'
import { useConsoleSession } from '../../shell/console-session'
import { generatePassword, startAuthorization, tryRedirectUri } from './authorization-request'

/**
 * The name of the client for trial sign-ins. The client is public, so it needs no secret. Its redirect URI is the page
 * /console/try.
 */
const CLIENT_NAME = 'Try signing in (console)'

interface DemoSignIn {
  issuer: string
  clientId: string
  username: string
  password: string
}

export function TryCard({ accountId, issuerId }: { accountId: string; issuerId: string }) {
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const session = useConsoleSession()
  const [userChoice, setUserChoice] = useState('demo')
  const [busy, setBusy] = useState(false)
  const [demoSignIn, setDemoSignIn] = useState<DemoSignIn>()
  const ids = { accountId, issuerId }

  const findOrCreateClientId = async (): Promise<string> => {
    const { clients } = await fetchLatest(trySignInClients, { ...ids, name: CLIENT_NAME })
    const found = clients.data.find(({ status, settings }) => {
      const openid = settings['openid'] as { redirect_uris?: string[] } | undefined
      return status === 'active' && openid?.redirect_uris?.includes(tryRedirectUri())
    })
    if (found) return found.id
    const openid = {
      application_type: 'spa',
      grant_types: ['authorization_code'],
      redirect_uris: [tryRedirectUri()],
    }
    const input = { name: CLIENT_NAME, type: 'internal' as const, confidential: false, settings: { openid } }
    const { createClient } = await mutate(createTrySignInClient, { ...ids, input }, { typenames: ['Client'] })
    return createClient.id
  }
  const createDemoCredentials = async () => {
    const username = `demo-${Math.floor(Math.random() * 1e6)}@example.com`
    const password = generatePassword()
    const profile = { name: 'Demo Person', given_name: 'Demo', family_name: 'Person' }
    const input = { usernameType: 'email' as const, username, emailVerified: true, profile }
    const { createUser } = await mutate(createDemoUser, { ...ids, input }, { typenames: ['User'] })
    const verifier = { type: 'password' as const, name: 'Password', password }
    await mutate(createVerifier, { ...ids, userId: createUser.id, input: verifier })
    return { username, password }
  }
  const start = async () => {
    setBusy(true)
    try {
      const issuer = `${session?.idpUrl}/${issuerId}`
      const target = { issuer, clientId: await findOrCreateClientId() }
      if (userChoice === 'demo') setDemoSignIn({ ...target, ...(await createDemoCredentials()) })
      else await startAuthorization({ ...ids, ...target })
    } catch (error) {
      showError(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <Card
      title="Try signing in"
      text="Sign in as your users do: on the hosted page, with the code flow and PKCE. Afterwards you see the tokens that an application gets, with each claim explained."
    >
      {demoSignIn ? (
        <Stack gap="md">
          <DescriptionList
            rows={[
              ['Username', <Copyable key="username" value={demoSignIn.username} label="username" />],
              ['Password', <Copyable key="password" value={demoSignIn.password} label="password" />],
            ]}
          />
          <Text size="sm" c="dimmed">
            This demo user has just been created. The password is shown only here: copy it before you continue.
          </Text>
          <Group>
            <Button
              rightSection={<Icon name="chevronRight" />}
              onClick={() => void startAuthorization({ ...ids, ...demoSignIn }, demoSignIn.username)}
            >
              Open the sign-in page
            </Button>
          </Group>
        </Stack>
      ) : (
        <Group>
          <SegmentedControl
            value={userChoice}
            onChange={setUserChoice}
            aria-label="Who signs in"
            data={[
              { value: 'demo', label: 'A new demo user' },
              { value: 'own', label: 'An existing user' },
            ]}
          />
          <Button onClick={() => void start()} loading={busy}>
            Try signing in
          </Button>
        </Group>
      )}
    </Card>
  )
}
