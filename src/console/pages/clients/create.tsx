/** Registers an application: first its kind, then the two things that differ. */
import { Radio, SimpleGrid, Text } from '@mantine/core'
import { createClient } from 'documents/clients'
import type { CreateClientInput } from 'documents/types'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { Icon } from '../../parts/icon'
import { type Secret, SecretDialog } from '../../parts/secret'
import { issuerHref, usePlace } from '../../place'
import classes from './create.module.css'
import { inputFor, type Kind, kinds } from './kinds'

const fieldsOf = (kind: Kind): Field<CreateClientInput>[] => [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Shop' },
  ...(kind.name === 'm2m'
    ? []
    : ([
        {
          kind: 'list',
          path: 'settings.openid.redirect_uris',
          label: 'Callbacks',
          hint: 'Where people come back to after signing in. Compared exactly.',
          placeholder: kind.callback,
        },
        {
          kind: 'list',
          path: 'settings.openid.post_logout_redirect_uris',
          label: 'After signing out',
          hint: 'Where people may be sent then.',
          placeholder: kind.callback.replace('/callback', '/'),
        },
      ] satisfies Field<CreateClientInput>[])),
]

export function CreateClient({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const [kind, setKind] = useState<Kind>(kinds[0]!)
  const [made, setMade] = useState<{ id: string; secrets: Secret[] }>()
  const goTo = (id: string) => navigate(`${issuerHref(accountId, issuerId)}/clients/${id}`)

  const create = async (typed: CreateClientInput) => {
    const openid = typed.settings?.['openid'] as { redirect_uris?: string[]; post_logout_redirect_uris?: string[] }
    const input = inputFor(kind, typed.name, openid?.redirect_uris ?? [], openid?.post_logout_redirect_uris ?? [])
    const { createClient: client } = await run(createClient, { accountId, issuerId, input }, { done: 'Client made' })
    if (!client.secret) return goTo(client.id)
    setMade({
      id: client.id,
      secrets: [
        { label: 'Client id', value: client.id },
        { label: 'Client secret', value: client.secret },
      ],
    })
  }
  if (made) {
    return (
      <SecretDialog
        title="Your client’s secret"
        secrets={made.secrets}
        fileName={`${made.id}.txt`}
        text="The application sends it when it asks for tokens. If it is lost, make a new one on the client’s page."
        onClose={() => goTo(made.id)}
      />
    )
  }
  return (
    <CreateDialog
      key={kind.name}
      title="New client"
      fields={fieldsOf(kind)}
      submit="Make client"
      create={create}
      onClose={onClose}
    >
      <Radio.Group
        label="What kind of application is it?"
        value={kind.name}
        onChange={(name) => setKind(kinds.find((one) => one.name === name) ?? kind)}
        mb="lg"
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
          {kinds.map(({ name, label, text, icon }) => (
            <Radio.Card key={name} value={name} className={classes.kind} aria-label={label}>
              <span className={classes.icon}>
                <Icon name={icon} size={18} />
              </span>
              <span>
                <Text size="sm" fw={580}>
                  {label}
                </Text>
                <Text size="xs" c="dimmed">
                  {text}
                </Text>
              </span>
            </Radio.Card>
          ))}
        </SimpleGrid>
      </Radio.Group>
    </CreateDialog>
  )
}
