/** The dialog that creates a client: application type, name and redirect URIs. */
import { Radio, SimpleGrid, Text } from '@mantine/core'
import { createClient } from 'documents/clients'
import type { CreateClientInput } from 'documents/types'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Icon } from '../../components/icon'
import { type Secret, SecretDialog } from '../../components/secret'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { type ApplicationType, applicationTypes, buildClientInput } from './application-types'
import classes from './create.module.css'

const clientFields = (applicationType: ApplicationType): Field<CreateClientInput>[] => [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Shop' },
  ...(applicationType.name === 'm2m'
    ? []
    : ([
        {
          kind: 'list',
          path: 'settings.openid.redirect_uris',
          label: 'Redirect URIs',
          hint: 'Where users return after they sign in. The redirect URI of a request must equal one of these exactly. For native apps, the port of a loopback URI can differ.',
          placeholder: applicationType.exampleRedirectUri,
        },
        {
          kind: 'list',
          path: 'settings.openid.post_logout_redirect_uris',
          label: 'Post-logout redirect URIs',
          hint: 'Where users can be sent after they sign out.',
          placeholder: applicationType.exampleRedirectUri.replace('/callback', '/'),
        },
      ] satisfies Field<CreateClientInput>[])),
]

export function CreateClient({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const [applicationType, setApplicationType] = useState<ApplicationType>(applicationTypes[0]!)
  const [created, setCreated] = useState<{ id: string; secrets: Secret[] }>()
  const goTo = (id: string) => navigate(`${issuerHref(accountId, issuerId)}/clients/${id}`)

  const create = async (typed: CreateClientInput) => {
    const openid = typed.settings?.['openid'] as { redirect_uris?: string[]; post_logout_redirect_uris?: string[] }
    const input = buildClientInput(
      applicationType,
      typed.name,
      openid?.redirect_uris ?? [],
      openid?.post_logout_redirect_uris ?? [],
    )
    const { createClient: client } = await mutate(
      createClient,
      { accountId, issuerId, input },
      { successMessage: 'Client created' },
    )
    if (!client.secret) return goTo(client.id)
    setCreated({
      id: client.id,
      secrets: [
        { label: 'Client ID', value: client.id },
        { label: 'Client secret', value: client.secret },
      ],
    })
  }
  if (created) {
    return (
      <SecretDialog
        title="Client secret"
        secrets={created.secrets}
        fileName={`${created.id}.txt`}
        text="The application sends this secret with token requests. If you lose it, rotate it on the client’s page."
        onClose={() => goTo(created.id)}
      />
    )
  }
  return (
    <CreateDialog
      key={applicationType.name}
      title="Create client"
      fields={clientFields(applicationType)}
      submitLabel="Create client"
      create={create}
      onClose={onClose}
    >
      <Radio.Group
        label="Application type"
        value={applicationType.name}
        onChange={(name) => setApplicationType(applicationTypes.find((one) => one.name === name) ?? applicationType)}
        mb="lg"
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
          {applicationTypes.map(({ name, label, text, icon }) => (
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
