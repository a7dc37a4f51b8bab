/** The dialog that creates a client: application type, name and redirect URIs. */
import { Radio, Select, SimpleGrid, Text } from '@mantine/core'
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
import { findIntegration, integrationOptions, OTHER, otherReason } from './works-with'

const clientFields = (applicationType: ApplicationType, exampleRedirectUri: string): Field<CreateClientInput>[] => [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Shop' },
  ...(applicationType.name === 'm2m'
    ? []
    : ([
        {
          kind: 'list',
          path: 'settings.openid.redirect_uris',
          label: 'Redirect URIs',
          hint: 'Where users return after they sign in. The redirect URI of a request must equal one of these exactly. For native apps, the port of a loopback URI can differ.',
          placeholder: exampleRedirectUri,
        },
        {
          kind: 'list',
          path: 'settings.openid.post_logout_redirect_uris',
          label: 'Post-logout redirect URIs',
          hint: 'Where users can be sent after they sign out.',
          placeholder: new URL('/', exampleRedirectUri).href,
        },
      ] satisfies Field<CreateClientInput>[])),
]

export function CreateClient({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const [applicationType, setApplicationType] = useState<ApplicationType>(applicationTypes[0]!)
  const [worksWith, setWorksWith] = useState(OTHER)
  const [created, setCreated] = useState<{ id: string; secrets: Secret[] }>()
  const integration = findIntegration(worksWith)
  const chooseIntegration = (name: string) => {
    setWorksWith(name)
    const type = findIntegration(name)?.applicationType
    setApplicationType(applicationTypes.find((one) => one.name === type) ?? applicationType)
  }
  const chooseApplicationType = (name: string) => {
    setApplicationType(applicationTypes.find((one) => one.name === name) ?? applicationType)
    // The choice would contradict the type.
    if (integration && integration.applicationType !== name) setWorksWith(OTHER)
  }
  const goTo = (id: string) => navigate(`${issuerHref(accountId, issuerId)}/clients/${id}`)

  const create = async (typed: CreateClientInput) => {
    const openid = typed.settings?.['openid'] as { redirect_uris?: string[]; post_logout_redirect_uris?: string[] }
    const input = buildClientInput(
      applicationType,
      typed.name,
      openid?.redirect_uris ?? [],
      openid?.post_logout_redirect_uris ?? [],
      // Machine-to-machine clients have no ID tokens.
      applicationType.name === 'm2m' ? undefined : (integration?.algorithm ?? 'RS256'),
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
      key={applicationType.name === 'm2m' ? 'machine' : 'users'}
      title="Create client"
      fields={clientFields(applicationType, integration?.exampleRedirectUri ?? applicationType.exampleRedirectUri)}
      submitLabel="Create client"
      create={create}
      onClose={onClose}
    >
      <Select
        label="Works with"
        description={applicationType.name === 'm2m' ? undefined : (integration?.reason ?? otherReason)}
        data={integrationOptions}
        value={worksWith}
        onChange={(name) => chooseIntegration(name ?? OTHER)}
        allowDeselect={false}
        checkIconPosition="right"
        mb="lg"
      />
      <Radio.Group label="Application type" value={applicationType.name} onChange={chooseApplicationType} mb="lg">
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
