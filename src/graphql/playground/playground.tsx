import { useMonaco } from '@graphiql/react'
import type { Fetcher } from '@graphiql/toolkit'
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql'
import { useEffect, useMemo, useState } from 'react'
import { ask } from './client.js'
import { CredentialBar } from './credential-bar.js'
import { learn } from './examples.js'
import { examplesPlugin, known } from './examples-panel.js'
import { memory } from './memory.js'

const plugins = [examplesPlugin, HISTORY_PLUGIN]
const welcome = '# Choose an example, or write a document here. Ctrl+Enter runs it.\n\n{\n  me {\n    id\n  }\n}\n'
const isWide = matchMedia('(min-width: 50rem)').matches

/** The page: who you are above, GraphiQL below. */
export function Playground() {
  const [authorization, setAuthorization] = useState<string>()
  const [storage] = useState(memory)
  const fetcher = useMemo(() => fetcherFor(authorization), [authorization])
  useSystemFont()
  return (
    <>
      <CredentialBar onChange={setAuthorization} />
      <main>
        <GraphiQL
          fetcher={fetcher}
          // Introspection needs a credential as well: before there is one, there is no schema to ask for.
          {...(authorization === undefined && { schema: null })}
          storage={storage}
          shouldPersistHeaders={false}
          plugins={plugins}
          {...(isWide && { visiblePlugin: examplesPlugin.title })}
          defaultQuery={welcome}
          defaultEditorToolsVisibility="variables"
          inputValueDeprecation
          schemaDescription
        >
          <GraphiQL.Logo> </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  )
}

function fetcherFor(authorization: string | undefined): Fetcher {
  return async (request, options) => {
    const operation = options?.documentAST?.definitions.find(
      (definition) =>
        definition.kind === 'OperationDefinition' &&
        (!request.operationName || definition.name?.value === request.operationName),
    )
    const stream = operation?.kind === 'OperationDefinition' && operation.operation === 'subscription'
    const answer = await ask(authorization, request, { headers: options?.headers, stream })
    if ('data' in answer && request.operationName !== 'IntrospectionQuery') Object.assign(known, learn(answer.data))
    return answer
  }
}

/** GraphiQL asks for a font that it would have to bring along; the system's own does as well. */
function useSystemFont(): void {
  const monaco = useMonaco((state) => state.monaco)
  useEffect(() => {
    const listening = monaco?.editor.onDidCreateEditor((editor) =>
      editor.updateOptions({
        fontFamily: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
        fontSize: 14,
      }),
    )
    return () => listening?.dispose()
  }, [monaco])
}
