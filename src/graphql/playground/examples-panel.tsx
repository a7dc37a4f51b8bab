import { type GraphiQLPlugin, pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react'
import { parse } from 'graphql'
import { type Example, fillIn, type Known, readExample } from './examples.js'

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

/** Ids and versions that this page has seen, for the variables of the next example. */
export const known: Known = {}

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
    // What somebody wrote stays in its tab.
    const current = queryEditor?.getValue().trim() ?? ''
    if (!isOurs(current)) addTab()
    queryEditor?.setValue(example.query)
    // GraphiQL looks for the operation's name a moment later, and would run this document under the name before.
    setOperationFacts(factsOf(example))
    variableEditor?.setValue(fillIn(example.variables, known).trim())
    responseEditor?.setValue('')
    updateActiveTabValues({ response: null })
    // On a narrow screen the panel stands where the editors were, and focus would bring up a keyboard before them.
    if (matchMedia('(max-width: 50rem)').matches) setVisiblePlugin(null)
    else queryEditor?.focus()
  }

  return (
    <section aria-label="Examples" className="examples">
      <h2>Examples</h2>
      <p>
        Ids from earlier answers are filled in. <kbd>Ctrl Enter</kbd> runs the document, <kbd>Ctrl M</kbd> lets the Tab
        key leave an editor.
      </p>
      <ul>
        {examples.map((example) => (
          <li key={example.name}>
            <button type="button" onClick={() => open(example)}>
              <b>{example.title}</b>
              <span>{example.about}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const isOurs = (query: string): boolean =>
  query === '' || query.startsWith('# Choose an example') || examples.some((example) => example.query.trim() === query)

/** As GraphiQL keeps them of a document. */
function factsOf({ query }: Example) {
  const documentAST = parse(query)
  const operations = documentAST.definitions.filter((definition) => definition.kind === 'OperationDefinition')
  return { documentAST, operations, operationName: operations[0]?.name?.value ?? '' }
}
