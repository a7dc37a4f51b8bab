import { useMonaco } from '@graphiql/react'
import type { Fetcher } from '@graphiql/toolkit'
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql'
import { parse } from 'graphql'
import { useEffect, useMemo, useState } from 'react'
import { ask } from './client.js'
import type { Proof } from './credential.js'
import { CredentialBar } from './credential-bar.js'
import { learn } from './examples.js'
import { examplesPlugin, known } from './examples-panel.js'
import { memory } from './memory.js'

const plugins = [examplesPlugin, HISTORY_PLUGIN]
const welcome = '# Choose an example, or write a document here. Ctrl+Enter runs it.\n\n{\n  me {\n    id\n  }\n}\n'
/** So that the variables' editor knows what our scalars hold. */
const scalars = { JSONObject: { type: 'object' }, Timestamp: { type: 'integer' } } as const
const isWide = matchMedia('(min-width: 50rem)').matches

/** The page: who you are above, GraphiQL below. */
export function Playground() {
  const [proof, setProof] = useState<Proof>()
  const [storage] = useState(memory)
  const fetcher = useMemo(() => fetcherFor(proof), [proof])
  useEditorOptions()
  return (
    <>
      <CredentialBar onChange={setProof} />
      <main>
        <GraphiQL
          fetcher={fetcher}
          // Introspection needs a credential as well: before there is one, there is no schema to ask for.
          {...(proof === undefined && { schema: null })}
          storage={storage}
          shouldPersistHeaders={false}
          plugins={plugins}
          {...(isWide && { visiblePlugin: examplesPlugin.title })}
          defaultQuery={welcome}
          defaultEditorToolsVisibility="variables"
          customScalarSchemas={scalars}
          inputValueDeprecation
          schemaDescription
        >
          <GraphiQL.Logo> </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  )
}

function fetcherFor(proof: Proof | undefined): Fetcher {
  return async (request, options) => {
    const stream = isSubscription(request.query, request.operationName)
    const answer = await ask(proof, request, { headers: options?.headers, stream })
    if ('data' in answer && request.operationName !== 'IntrospectionQuery') Object.assign(known, learn(answer.data))
    return answer
  }
}

/** Looked at when it runs: what GraphiQL knows of a document is a moment old. What cannot be read, the server refuses. */
function isSubscription(query: string, name: string | null | undefined): boolean {
  try {
    return parse(query).definitions.some(
      (one) =>
        one.kind === 'OperationDefinition' && one.operation === 'subscription' && (!name || one.name?.value === name),
    )
  } catch {
    return false
  }
}

/** GraphiQL asks for a font that it would have to bring along; the system's own does as well. */
const editorOptions = {
  fontFamily: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 14,
  wordWrap: 'on',
} as const

function useEditorOptions(): void {
  const monaco = useMonaco((state) => state.monaco)
  useEffect(() => {
    for (const editor of monaco?.editor.getEditors() ?? []) editor.updateOptions(editorOptions)
    // Told in the middle of its making, an editor would take its own options last.
    const listening = monaco?.editor.onDidCreateEditor((editor) =>
      queueMicrotask(() => editor.updateOptions(editorOptions)),
    )
    // The page follows the system's change by itself, the editors do not.
    const isDark = matchMedia('(prefers-color-scheme: dark)')
    const follow = () => {
      const isChosen = /graphiql-(light|dark)/.test(document.body.className)
      if (!isChosen) monaco?.editor.setTheme(isDark.matches ? 'graphiql-DARK' : 'graphiql-LIGHT')
    }
    isDark.addEventListener('change', follow)
    return () => {
      listening?.dispose()
      isDark.removeEventListener('change', follow)
    }
  }, [monaco])
}
