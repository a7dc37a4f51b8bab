import { Button, Group, Radio, SimpleGrid, Text } from '@mantine/core'
import { client as clientQuery, createClient } from 'documents/clients'
import { useState } from 'react'
import { Card } from '../../components/card'
import { Icon } from '../../components/icon'
import { type Secret, SecretDialog } from '../../components/secret'
import { ErrorState, RowsLoading } from '../../components/states'
import type { Field } from '../../form/fields'
import { FormFields } from '../../form/form-fields'
import { useForm } from '../../form/use-form'
import { useMutation, useQuery } from '../../graphql/hooks'
import { type ApplicationType, applicationTypes, buildClientInput } from '../clients/application-types'
import kindClasses from '../clients/create.module.css'
import { Snippets } from '../clients/snippets'
import { TryCard } from './try-card'

interface Props {
  accountId: string
  issuerId: string
  clientId: string | undefined
  onCreated: (clientId: string) => void
}

export function ApplicationStep(props: Props) {
  const { accountId, issuerId, clientId, onCreated } = props
  const [secrets, setSecrets] = useState<Secret[]>()
  const [applicationType, setApplicationType] = useState<ApplicationType>(applicationTypes[0]!)
  return (
    <>
      {clientId ? (
        <ConnectClient accountId={accountId} issuerId={issuerId} clientId={clientId} />
      ) : (
        <Card>
          <Radio.Group
            label="Application type"
            value={applicationType.name}
            onChange={(name) =>
              setApplicationType(applicationTypes.find((one) => one.name === name) ?? applicationType)
            }
            mb="lg"
          >
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
              {applicationTypes.map(({ name, label, text, icon }) => (
                <Radio.Card key={name} value={name} className={kindClasses.kind} aria-label={label}>
                  <span className={kindClasses.icon}>
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
          <ClientForm
            key={applicationType.name}
            {...props}
            applicationType={applicationType}
            onSecrets={setSecrets}
            onCreated={onCreated}
          />
        </Card>
      )}
      {secrets && (
        <SecretDialog
          title="Client secret"
          secrets={secrets}
          fileName="gatehouse-client-secret.txt"
          text="The application sends this secret with token requests. If you lose it, rotate it on the client’s page."
          onClose={() => setSecrets(undefined)}
        />
      )}
    </>
  )
}

interface ClientFormValues {
  name: string
  redirectUri: string
}

interface FormProps extends Props {
  applicationType: ApplicationType
  onSecrets: (secrets: Secret[]) => void
}

function ClientForm({ accountId, issuerId, applicationType, onSecrets, onCreated }: FormProps) {
  const mutate = useMutation()
  const redirectUriField: Field<ClientFormValues> = {
    kind: 'url',
    path: 'redirectUri',
    label: 'Redirect URI',
    hint: 'Where users return after they sign in. You can change this URI later.',
    required: true,
  }
  const form = useForm<ClientFormValues>(
    [
      { kind: 'text', path: 'name', label: 'Name', required: true },
      ...(applicationType.name === 'm2m' ? [] : [redirectUriField]),
    ],
    { name: 'First application', redirectUri: applicationType.exampleRedirectUri },
  )
  const create = async () => {
    const { name, redirectUri: uri } = form.values as unknown as ClientFormValues
    const postLogoutRedirectUris = /^https?:/.test(uri) ? [new URL('/', uri).href] : []
    const input = buildClientInput(applicationType, name, uri ? [uri] : [], postLogoutRedirectUris)
    const { createClient: created } = await mutate(createClient, { accountId, issuerId, input })
    if (created.secret) {
      onSecrets([
        { label: 'Client ID', value: created.id },
        { label: 'Client secret', value: created.secret },
      ])
    }
    onCreated(created.id)
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void form.submit(create)
      }}
    >
      <FormFields form={form} />
      <Group justify="flex-end" mt="lg">
        <Button type="submit" loading={form.busy}>
          Create application
        </Button>
      </Group>
    </form>
  )
}

/** The content after the client was created: a sign-in to try, and the code snippets. */
function ConnectClient({ accountId, issuerId, clientId }: { accountId: string; issuerId: string; clientId: string }) {
  const { data, error, loading, refetch } = useQuery(clientQuery, { accountId, issuerId, clientId })
  if (loading) return <RowsLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  return (
    <>
      <TryCard accountId={accountId} issuerId={issuerId} />
      <Snippets client={data.client} issuerUrl={data.issuer.url} />
    </>
  )
}
