/** Code that works as it stands: the real ids and addresses are in it. */
import { Alert, SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { Card } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { Icon } from '../../parts/icon'
import { kindOf } from './kinds'
import { snippetsFor } from './snippet-texts'

interface Props {
  client: { id: string; confidential: boolean; settings: Record<string, unknown> }
  issuerUrl: string
}

export function Snippets({ client, issuerUrl }: Props) {
  const openid = client.settings['openid'] as { redirect_uris?: string[]; response_signature_alg?: string } | undefined
  const kind = kindOf(client)
  const registered = openid?.redirect_uris ?? []
  // A program waits on a port of its own, whatever else is registered for phones.
  const callback = registered.find((uri) => kind.name !== 'native' || uri.startsWith('http:')) ?? registered[0]
  const snippets = snippetsFor(kind.name, {
    issuer: issuerUrl,
    clientId: client.id,
    callback: callback ?? kind.callback,
    algorithm: openid?.response_signature_alg ?? 'ES256',
  })
  const [chosen, setChosen] = useState(snippets[0]!.label)
  const snippet = snippets.find(({ label }) => label === chosen) ?? snippets[0]!
  return (
    <Card
      title="Connect your application"
      text={snippet.text}
      actions={
        snippets.length > 1 && (
          <SegmentedControl
            size="xs"
            value={snippet.label}
            onChange={setChosen}
            data={snippets.map(({ label }) => label)}
            aria-label="Language"
          />
        )
      }
    >
      {kind.callback !== '' && !callback && (
        <Alert mb="md" variant="light" icon={<Icon name="external" />} title="No callback yet">
          Nobody can come back to the application. Add {kind.callback}, or its own address, under Settings.
        </Alert>
      )}
      {snippet.steps.map(({ title, code }) => (
        <CodeBlock key={title} title={title} code={code} />
      ))}
    </Card>
  )
}
