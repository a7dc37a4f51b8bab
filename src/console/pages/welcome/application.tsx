import { Button, Group, Radio, SimpleGrid, Text } from '@mantine/core'
import { client as clientQuery, createClient } from 'documents/clients'
import { useState } from 'react'
import type { Field } from '../../form/fields'
import { FormFields } from '../../form/form-fields'
import { useForm } from '../../form/use-form'
import { useAsk, useRun } from '../../graphql/hooks'
import { Card } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { type Secret, SecretDialog } from '../../parts/secret'
import { FaultState, RowsLoading } from '../../parts/states'
import kindClasses from '../clients/create.module.css'
import { inputFor, type Kind, kinds } from '../clients/kinds'
import { Snippets } from '../clients/snippets'
import { TryCard } from './try-card'

interface Props {
  accountId: string
  issuerId: string
  clientId: string | undefined
  onMade: (clientId: string) => void
}

export function ApplicationStep(props: Props) {
  const { accountId, issuerId, clientId, onMade } = props
  const [secrets, setSecrets] = useState<Secret[]>()
  const [kind, setKind] = useState<Kind>(kinds[0]!)
  return (
    <>
      {clientId ? (
        <Connected accountId={accountId} issuerId={issuerId} clientId={clientId} />
      ) : (
        <Card>
          <Radio.Group
            label="What kind of application is it?"
            value={kind.name}
            onChange={(name) => setKind(kinds.find((one) => one.name === name) ?? kind)}
            mb="lg"
          >
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
              {kinds.map(({ name, label, text, icon }) => (
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
          <ClientForm key={kind.name} {...props} kind={kind} onSecrets={setSecrets} onMade={onMade} />
        </Card>
      )}
      {secrets && (
        <SecretDialog
          title="Your application’s secret"
          secrets={secrets}
          fileName="gatehouse-client-secret.txt"
          text="The application sends it when it asks for tokens. If it is lost, make a new one on the client’s page."
          onClose={() => setSecrets(undefined)}
        />
      )}
    </>
  )
}

interface Typed {
  name: string
  callback: string
}

interface FormProps extends Props {
  kind: Kind
  onSecrets: (secrets: Secret[]) => void
}

function ClientForm({ accountId, issuerId, kind, onSecrets, onMade }: FormProps) {
  const run = useRun()
  const callback: Field<Typed> = {
    kind: 'url',
    path: 'callback',
    label: 'Callback',
    hint: 'Where people come back to after signing in. It can be changed later.',
    required: true,
  }
  const form = useForm<Typed>(
    [{ kind: 'text', path: 'name', label: 'Name', required: true }, ...(kind.name === 'm2m' ? [] : [callback])],
    { name: 'First application', callback: kind.callback },
  )
  const create = async () => {
    const { name, callback: uri } = form.values as unknown as Typed
    const after = /^https?:/.test(uri) ? [new URL('/', uri).href] : []
    const input = inputFor(kind, name, uri ? [uri] : [], after)
    const { createClient: made } = await run(createClient, { accountId, issuerId, input })
    if (made.secret) {
      onSecrets([
        { label: 'Client id', value: made.id },
        { label: 'Client secret', value: made.secret },
      ])
    }
    onMade(made.id)
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
          Make application
        </Button>
      </Group>
    </form>
  )
}

/** The application is there: how to connect it, and what its people will see. */
function Connected({ accountId, issuerId, clientId }: { accountId: string; issuerId: string; clientId: string }) {
  const { data, fault, loading, again } = useAsk(clientQuery, { accountId, issuerId, clientId })
  if (loading) return <RowsLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  return (
    <>
      <TryCard accountId={accountId} issuerId={issuerId} />
      <Snippets client={data.client} issuerUrl={data.issuer.url} />
    </>
  )
}
