/** Code snippets with the id and URLs of a client, or with an example redirect URI if the client has none. */
import { Alert, SegmentedControl } from '@mantine/core'
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
          <SegmentedControl
            size="xs"
            value={snippet.label}
            onChange={setSelectedLabel}
            data={snippets.map(({ label }) => label)}
            aria-label="Language"
          />
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
