import { useMonaco } from '@graphiql/react'
import type { Fetcher } from '@graphiql/toolkit'
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql'
import { parse } from 'graphql'
import { useEffect, useMemo, useState } from 'react'
import { sendRequest } from './client.js'
import type { Authentication } from './credential.js'
import { CredentialBar } from './credential-bar.js'
import { collectIds } from './examples.js'
import { examplesPlugin, knownIds } from './examples-panel.js'
import { createMemoryStorage } from './memory-storage.js'

const plugins = [examplesPlugin, HISTORY_PLUGIN]
const welcome = '# Choose an example, or write a document here. Ctrl+Enter runs it.\n\n{\n  me {\n    id\n  }\n}\n'
/** The document of a link such as `/playground#query=…`. It only fills the editor: nothing runs without the user. */
const linkedQuery = new URLSearchParams(location.hash.slice(1)).get('query')
/** JSON Schemas of custom scalars, for the variables editor. */
const scalars = { JSONObject: { type: 'object' }, Timestamp: { type: 'integer' } } as const
const isWide = matchMedia('(min-width: 50rem)').matches

/** The page: the credential bar and GraphiQL. */
export function Playground() {
  const [authentication, setAuthentication] = useState<Authentication>()
  const [storage] = useState(createMemoryStorage)
  const fetcher = useMemo(() => createFetcher(authentication), [authentication])
  useEditorOptions()
  return (
    <>
      <CredentialBar onChange={setAuthentication} />
      <main>
        <GraphiQL
          fetcher={fetcher}
          // Introspection requires a credential, so the schema is loaded only when there is a credential.
          {...(authentication === undefined && { schema: null })}
          storage={storage}
          shouldPersistHeaders={false}
          plugins={plugins}
          {...(isWide && { visiblePlugin: examplesPlugin.title })}
          {...(linkedQuery !== null && { initialQuery: linkedQuery })}
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

function createFetcher(authentication: Authentication | undefined): Fetcher {
  return async (request, options) => {
    const stream = isSubscription(request.query, request.operationName)
    const response = await sendRequest(authentication, request, { headers: options?.headers, stream })
    if ('data' in response && request.operationName !== 'IntrospectionQuery')
      Object.assign(knownIds, collectIds(response.data))
    return response
  }
}

/**
 * Returns true if the operation to run is a subscription; false for an invalid document, which the server reports. The
 * document is parsed, because the operation in the state of GraphiQL may be outdated.
 */
function isSubscription(query: string, name: string | null | undefined): boolean {
  try {
    return parse(query).definitions.some(
      (node) =>
        node.kind === 'OperationDefinition' &&
        node.operation === 'subscription' &&
        (!name || node.name?.value === name),
    )
  } catch {
    return false
  }
}

/** Options of all editors. They use system fonts, because the build does not include GraphiQL's default font. */
const editorOptions = {
  fontFamily: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 14,
  wordWrap: 'on',
} as const

function useEditorOptions(): void {
  const monaco = useMonaco((state) => state.monaco)
  useEffect(() => {
    for (const editor of monaco?.editor.getEditors() ?? []) editor.updateOptions(editorOptions)
    // The update is deferred, because a new editor applies its own options after this event.
    const subscription = monaco?.editor.onDidCreateEditor((editor) =>
      queueMicrotask(() => editor.updateOptions(editorOptions)),
    )
    // The editors do not follow a change of the system's color scheme, so their theme is set on each change.
    const isDark = matchMedia('(prefers-color-scheme: dark)')
    const updateTheme = () => {
      const isThemeChosen = /graphiql-(light|dark)/.test(document.body.className)
      if (!isThemeChosen) monaco?.editor.setTheme(isDark.matches ? 'graphiql-DARK' : 'graphiql-LIGHT')
    }
    isDark.addEventListener('change', updateTheme)
    return () => {
      subscription?.dispose()
      isDark.removeEventListener('change', updateTheme)
    }
  }, [monaco])
}
