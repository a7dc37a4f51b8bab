/** Code that works as it stands: the real ids and addresses are in it. */
import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { Card } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { kindOf } from './kinds'
import { snippetsFor } from './snippet-texts'

interface Props {
  client: { id: string; confidential: boolean; settings: Record<string, unknown> }
  issuerUrl: string
}

export function Snippets({ client, issuerUrl }: Props) {
  const openid = client.settings['openid'] as { redirect_uris?: string[]; allowed_resources?: string[] } | undefined
  const kind = kindOf(client)
  const snippets = snippetsFor(kind.name, {
    issuer: issuerUrl,
    clientId: client.id,
    callback: openid?.redirect_uris?.[0] ?? kind.callback,
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
      {snippet.steps.map(({ title, code }) => (
        <CodeBlock key={title} title={title} code={code} />
      ))}
    </Card>
  )
}
