/** Code snippets with the id and URLs of a client, or with an example redirect URI if the client has none. */
import { Alert, SegmentedControl, Select } from '@mantine/core'
import { useState } from 'react'
import { Card } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { Icon } from '../../components/icon'
import { applicationTypeOf } from './application-types'
import { snippetsForType } from './snippet-templates'

interface Props {
  client: { id: string; confidential: boolean; settings: Record<string, unknown> }
  issuerUrl: string
}

export function Snippets({ client, issuerUrl }: Props) {
  const openid = client.settings['openid'] as { redirect_uris?: string[]; response_signature_alg?: string } | undefined
  const applicationType = applicationTypeOf(client)
  const registered = openid?.redirect_uris ?? []
  // The snippet for native apps listens on a loopback port, so an http redirect URI is preferred.
  const redirectUri =
    registered.find((uri) => applicationType.name !== 'native' || uri.startsWith('http:')) ?? registered[0]
  const snippets = snippetsForType(applicationType.name, {
    issuer: issuerUrl,
    clientId: client.id,
    redirectUri: redirectUri ?? applicationType.exampleRedirectUri,
    algorithm: openid?.response_signature_alg ?? 'ES256',
  })
  const [selectedLabel, setSelectedLabel] = useState(snippets[0]!.label)
  const snippet = snippets.find(({ label }) => label === selectedLabel) ?? snippets[0]!
  return (
    <Card
      title="Connect your application"
      text={snippet.text}
      actions={
        snippets.length > 1 && (
          <Choice labels={snippets.map(({ label }) => label)} value={snippet.label} onChange={setSelectedLabel} />
        )
      }
    >
      {applicationType.exampleRedirectUri !== '' && !redirectUri && (
        <Alert mb="md" variant="light" icon={<Icon name="external" />} title="No redirect URI yet">
          Users cannot return to the application after they sign in. Add {applicationType.exampleRedirectUri}, or its
          real redirect URI, under Settings.
        </Alert>
      )}
      {snippet.steps.map(({ title, code }) => (
        <CodeBlock key={title} title={title} code={code} />
      ))}
    </Card>
  )
}

interface ChoiceProps {
  labels: string[]
  value: string
  onChange: (label: string) => void
}

/** Selects a snippet. Two labels fit beside the title; more are in a list. */
function Choice({ labels, value, onChange }: ChoiceProps) {
  const props = { size: 'xs', value, data: labels, 'aria-label': 'Language' } as const
  return labels.length > 2 ? (
    <Select {...props} w={150} allowDeselect={false} onChange={(label) => label && onChange(label)} />
  ) : (
    <SegmentedControl {...props} onChange={onChange} />
  )
}
