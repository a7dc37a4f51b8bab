/** Begins a sign-in as an application's people would, with somebody made for it or with a user that there is. */
import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { createVerifier } from 'documents/users'
import { createDemoUser, createTriedClient, triedClients } from 'documents/welcome'
import { useState } from 'react'
import { tellFault, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { Copyable } from '../../parts/values'
import { useVisit } from '../../shell/person'
import { callbackHere, demoPassword, depart } from './attempt'

/** The client that tries sign-ins. Public, so that it needs no secret; its callback is a page of the console. */
const NAME = 'Try signing in (console)'

interface Ready {
  issuer: string
  clientId: string
  username: string
  password: string
}

export function TryCard({ accountId, issuerId }: { accountId: string; issuerId: string }) {
  const run = useRun()
  const fresh = useFresh()
  const visit = useVisit()
  const [who, setWho] = useState('demo')
  const [busy, setBusy] = useState(false)
  const [ready, setReady] = useState<Ready>()
  const ids = { accountId, issuerId }

  const clientId = async (): Promise<string> => {
    const { clients } = await fresh(triedClients, { ...ids, name: NAME })
    const found = clients.data.find(({ status, settings }) => {
      const openid = settings['openid'] as { redirect_uris?: string[] } | undefined
      return status === 'active' && openid?.redirect_uris?.includes(callbackHere())
    })
    if (found) return found.id
    const openid = {
      application_type: 'spa',
      grant_types: ['authorization_code'],
      redirect_uris: [callbackHere()],
    }
    const input = { name: NAME, type: 'internal' as const, confidential: false, settings: { openid } }
    const { createClient } = await run(createTriedClient, { ...ids, input }, { typenames: ['Client'] })
    return createClient.id
  }
  const demoUser = async () => {
    const username = `demo-${Math.floor(Math.random() * 1e6)}@example.com`
    const password = demoPassword()
    const profile = { name: 'Demo Person', given_name: 'Demo', family_name: 'Person' }
    const input = { usernameType: 'email' as const, username, emailVerified: true, profile }
    const { createUser } = await run(createDemoUser, { ...ids, input }, { typenames: ['User'] })
    const verifier = { type: 'password' as const, name: 'Password', password }
    await run(createVerifier, { ...ids, userId: createUser.id, input: verifier })
    return { username, password }
  }
  const begin = async () => {
    setBusy(true)
    try {
      const issuer = `${visit?.idpUrl}/${issuerId}`
      const to = { issuer, clientId: await clientId() }
      if (who === 'demo') setReady({ ...to, ...(await demoUser()) })
      else await depart({ ...ids, ...to })
    } catch (fault) {
      tellFault(fault)
    } finally {
      setBusy(false)
    }
  }

  return (
    <Card
      title="Try signing in"
      text="As your people will: on the hosted page, by code and PKCE. Afterwards you see the tokens that an application gets, claim by claim."
    >
      {ready ? (
        <Stack gap="md">
          <Facts
            rows={[
              ['Username', <Copyable key="username" value={ready.username} label="username" />],
              ['Password', <Copyable key="password" value={ready.password} label="password" />],
            ]}
          />
          <Text size="sm" c="dimmed">
            This demo user was made just now; the password is shown only here. Copy it and go on.
          </Text>
          <Group>
            <Button
              rightSection={<Icon name="chevronRight" />}
              onClick={() => void depart({ ...ids, ...ready }, ready.username)}
            >
              To the sign-in page
            </Button>
          </Group>
        </Stack>
      ) : (
        <Group>
          <SegmentedControl
            value={who}
            onChange={setWho}
            aria-label="Who signs in"
            data={[
              { value: 'demo', label: 'A new demo user' },
              { value: 'own', label: 'Somebody of mine' },
            ]}
          />
          <Button onClick={() => void begin()} loading={busy}>
            Try signing in
          </Button>
        </Group>
      )}
    </Card>
  )
}
