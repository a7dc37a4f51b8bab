import { type GraphiQLPlugin, pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react'
import { parse } from 'graphql'
import { type Example, fillPlaceholders, type KnownIds, readExample } from './examples.js'

const folder = '../../../graphql/examples/'
const documents = import.meta.glob<string>('../../../graphql/examples/*.graphql', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const variables = import.meta.glob<string>('../../../graphql/examples/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
})

const examples = Object.keys(documents)
  .sort()
  .map((path) => {
    const name = path.slice(folder.length, -'.graphql'.length)
    return readExample(name, documents[path]!, variables[`${folder}${name}.json`])
  })

/** IDs and versions from earlier responses, which replace the placeholders in the variables of examples. */
export const knownIds: KnownIds = {}

/** GraphiQL's side panel with the examples. */
export const examplesPlugin: GraphiQLPlugin = {
  title: 'Examples',
  icon: () => (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d="M4 4.5h6.5v6.5H4zM4 14h6.5v6.5H4zM14.5 5.5H21M14.5 9.5H19M14.5 15H21M14.5 19H19" strokeLinecap="round" />
    </svg>
  ),
  content: ExamplesPanel,
}

function ExamplesPanel() {
  const { addTab, setOperationFacts, setVisiblePlugin, updateActiveTabValues } = useGraphiQLActions()
  const { queryEditor, variableEditor, responseEditor } = useGraphiQL(
    pick('queryEditor', 'variableEditor', 'responseEditor'),
  )

  function open(example: Example): void {
    // A document that the user has edited stays in its tab; the example opens in a new one.
    const current = queryEditor?.getValue().trim() ?? ''
    if (!isUnedited(current)) addTab()
    queryEditor?.setValue(example.query)
    // GraphiQL updates the operation name later. Until then, it would run this document with the operation name of the
    // previous document.
    setOperationFacts(operationFactsOf(example))
    variableEditor?.setValue(fillPlaceholders(example.variables, knownIds).trim())
    responseEditor?.setValue('')
    updateActiveTabValues({ response: null })
    // On a narrow screen the panel covers the editors, and focus would open the on-screen keyboard.
    if (matchMedia('(max-width: 50rem)').matches) setVisiblePlugin(null)
    else queryEditor?.focus()
  }

  return (
    <section aria-label="Examples" className="examples">
      <h2>Examples</h2>
      <p>
        The variables get IDs from earlier responses, if there are any. Press <kbd>Ctrl Enter</kbd> to run the document.
        Press <kbd>Ctrl M</kbd> to make the Tab key leave the editor.
      </p>
      <ul>
        {examples.map((example) => (
          <li key={example.name}>
            <button type="button" onClick={() => open(example)}>
              <b>{example.title}</b>
              <span>{example.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const isUnedited = (query: string): boolean =>
  query === '' || query.startsWith('# Choose an example') || examples.some((example) => example.query.trim() === query)

/** Returns the operation facts that GraphiQL stores for a document. */
function operationFactsOf({ query }: Example) {
  const documentAST = parse(query)
  const operations = documentAST.definitions.filter((definition) => definition.kind === 'OperationDefinition')
  return { documentAST, operations, operationName: operations[0]?.name?.value ?? '' }
}
