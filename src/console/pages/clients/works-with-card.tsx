/** The card "Works with" of a client: compares its settings with those that a library needs, and applies them. */
import { Button, Select, Stack, Text } from '@mantine/core'
import type { UpdateClientInput } from 'documents/types'
import { useState } from 'react'
import { Card } from '../../components/card'
import { Icon } from '../../components/icon'
import { showError } from '../../graphql/hooks'
import { applicationTypeOf, applicationTypes } from './application-types'
import { findIntegration, type Integration, integrations } from './works-with'
import classes from './works-with.module.css'

interface Props {
  client: { confidential: boolean; settings: Record<string, unknown> }
  editable: boolean
  save: (input: UpdateClientInput) => Promise<unknown>
}

interface Check {
  fits: boolean
  text: string
}

/** Compares the settings of a client with those that the integration needs. */
function checksOf({ client }: Pick<Props, 'client'>, integration: Integration): { algorithm: Check; others: Check[] } {
  const { label, acceptedAlgorithms, algorithm, exampleRedirectUri } = integration
  const openid = client.settings['openid'] as
    | { redirect_uris?: readonly string[]; response_signature_alg?: string }
    | undefined
  const current = openid?.response_signature_alg ?? 'ES256'
  const fitsAlgorithm = (acceptedAlgorithms as readonly string[]).includes(current)
  const neededType = applicationTypes.find(({ name }) => name === integration.applicationType)!
  const fitsType = client.confidential === neededType.confidential && applicationTypeOf(client).name !== 'm2m'
  const hasRedirectUri = (openid?.redirect_uris ?? []).length > 0
  return {
    algorithm: {
      fits: fitsAlgorithm,
      text: fitsAlgorithm
        ? `The signing algorithm is ${current}.`
        : `The signing algorithm is ${current}; ${label} needs ${algorithm}.`,
    },
    others: [
      {
        fits: fitsType,
        text: fitsType
          ? `This is a ${client.confidential ? 'confidential' : 'public'} client.`
          : `${label} needs a client of the type “${neededType.label}”. Create another client for it.`,
      },
      {
        fits: hasRedirectUri,
        text: hasRedirectUri
          ? `A redirect URI is registered. The usual one of ${label} looks like ${exampleRedirectUri}`
          : `No redirect URI is registered. Add it under Settings, such as ${exampleRedirectUri}`,
      },
    ],
  }
}

export function WorksWithCard({ client, editable, save }: Props) {
  const [name, setName] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const integration = findIntegration(name ?? '')
  const checks = integration && checksOf({ client }, integration)
  const apply = async ({ algorithm }: Integration) => {
    setBusy(true)
    try {
      await save({ settings: { openid: { response_signature_alg: algorithm } } })
    } catch (error) {
      showError(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card title="Works with" text="Choose the library or product that uses this client, to check its settings.">
      <Stack gap="md">
        <Select
          aria-label="Works with"
          placeholder="Choose a library or product"
          data={integrations.map(({ name: value, label }) => ({ value, label }))}
          value={name}
          onChange={setName}
          allowDeselect={false}
          checkIconPosition="right"
          maw={420}
        />
        {integration && checks && (
          <div>
            <Text size="sm">{integration.reason}</Text>
            <ul className={classes.checks} aria-label={`Settings for ${integration.label}`}>
              {[checks.algorithm, ...checks.others].map(({ fits, text }) => (
                <li key={text} data-fits={fits}>
                  <Icon name={fits ? 'check' : 'warning'} />
                  <span>{text}</span>
                </li>
              ))}
            </ul>
            {!checks.algorithm.fits && editable && (
              <Button mt="md" loading={busy} onClick={() => void apply(integration)}>
                Use {integration.algorithm}
              </Button>
            )}
          </div>
        )}
      </Stack>
    </Card>
  )
}
