// Makes graphql/console/documents.ts: every document of graphql/console as text, typed by the schema, so that a page that
// asks for what is not there, or reads what it did not ask for, does not compile. Runs as a step of build.mjs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codegen } from '@graphql-codegen/core'
import * as operationTypes from '@graphql-codegen/typescript-operations'
import { buildSchema, Kind, parse, print, visit } from 'graphql'

const folder = fileURLToPath(new URL('../graphql/console/', import.meta.url))
const schemaText = readFileSync(join(folder, '../schema.graphql'), 'utf8')

const documents = readdirSync(folder)
  .filter((name) => name.endsWith('.graphql'))
  .sort()
  .map((name) => ({ location: join(folder, name), document: parse(readFileSync(join(folder, name), 'utf8')) }))

const types = await codegen({
  filename: join(folder, 'documents.ts'),
  schema: parse(schemaText),
  schemaAst: buildSchema(schemaText),
  documents,
  pluginMap: { operationTypes },
  plugins: [
    {
      operationTypes: {
        scalars: { ID: 'string', Timestamp: 'number', JSONObject: 'Record<string, unknown>' },
        enumType: 'string-literal',
        useTypeImports: true,
        skipTypename: true,
      },
    },
  ],
  config: {},
})

const definitions = documents.flatMap(({ document }) => document.definitions)
const fragments = new Map(
  definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map((definition) => [definition.name.value, definition]),
)

/** The fragments that a definition needs, and those that they need. */
function needed(definition, found = new Set()) {
  visit(definition, {
    FragmentSpread({ name: { value } }) {
      if (found.has(value)) return
      found.add(value)
      needed(fragments.get(value), found)
    },
  })
  return found
}

const constants = definitions
  .filter(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  .map((operation) => {
    const { value: name } = operation.name
    const type = name[0].toUpperCase() + name.slice(1) + operation.operation[0].toUpperCase() + operation.operation.slice(1)
    const text = [operation, ...[...needed(operation)].map((fragment) => fragments.get(fragment))].map(print).join('\n')
    return `export const ${name} = ${JSON.stringify(text)} as unknown as Document<${type}, ${type}Variables>`
  })

writeFileSync(
  join(folder, 'documents.ts'),
  `// Made by .config/console-documents.mjs from the documents beside it; not kept in git.
import type { TypedDocumentNode } from '@urql/core'

type Document<Result, Variables> = TypedDocumentNode<Result, Variables>
${types}
${constants.join('\n')}
`,
)
