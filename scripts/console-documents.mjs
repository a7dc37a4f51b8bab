// Generates graphql/console/generated, as a step of build.mjs: every operation of graphql/console as a string, with
// types from the schema, so that a page that uses an unknown or unselected field does not compile. There is one
// generated file for each document file, so that a page loads only its own documents.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
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
  filename: join(folder, 'generated/types.ts'),
  schema: parse(schemaText),
  schemaAst: buildSchema(schemaText),
  documents,
  pluginMap: { operationTypes },
  plugins: [
    {
      operationTypes: {
        scalars: { ID: 'string', Timestamp: 'number', MicroUsd: 'number', JSONObject: 'Record<string, unknown>' },
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
  definitions
    .filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
    .map((definition) => [definition.name.value, definition]),
)

/** Returns the fragments that a definition uses, directly or indirectly. */
function requiredFragments(definition, found = new Set()) {
  visit(definition, {
    FragmentSpread({ name: { value } }) {
      if (found.has(value)) return
      found.add(value)
      requiredFragments(fragments.get(value), found)
    },
  })
  return found
}

/**
 * Returns the source of a constant with the text of an operation, typed by the result and variables of the operation.
 * The root fields of a query are null only if they are refused. The hooks return no such data (src/console/graphql), so
 * the constant has the type without null.
 */
function documentConstant(operation) {
  const { value: name } = operation.name
  const type =
    name[0].toUpperCase() + name.slice(1) + operation.operation[0].toUpperCase() + operation.operation.slice(1)
  const text = [operation, ...[...requiredFragments(operation)].map((fragment) => fragments.get(fragment))]
    .map(print)
    .join('\n')
  const result = operation.operation === 'query' ? `Complete<types.${type}>` : `types.${type}`
  return `export const ${name} = ${JSON.stringify(text)} as unknown as Document<${result}, types.${type}Variables>\n`
}

const outputFolder = join(folder, 'generated')
rmSync(outputFolder, { recursive: true, force: true })
mkdirSync(outputFolder)
writeFileSync(join(outputFolder, 'types.ts'), `${types}\n`)
writeFileSync(
  join(outputFolder, 'complete.ts'),
  '/** The data of a query of which no root field was refused. */\nexport type Complete<Data> = { [Name in keyof Data]: NonNullable<Data[Name]> }\n',
)
for (const { location, document } of documents) {
  const constants = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).map(documentConstant)
  const complete = constants.join('').includes('Complete<') ? `import type { Complete } from './complete'\n` : ''
  const head = `import type { TypedDocumentNode as Document } from '@urql/core'\n${complete}import type * as types from './types'\n\n`
  writeFileSync(join(outputFolder, `${basename(location, '.graphql')}.ts`), head + constants.join('\n'))
}

/**
 * Returns the source of a copy of a table of names and descriptions (`name: 'Description.'`). The console cannot import
 * the module that contains the table.
 */
function tableOf(path, name) {
  const text = readFileSync(join(folder, '../..', path), 'utf8')
  const body = text.slice(text.indexOf(`export const ${name} = {`), text.indexOf('} as const', text.indexOf(name)))
  const rows = [...body.matchAll(/^ {2}'?([a-z_.]+)'?: (['"])(.*)\2,$/gm)].map(([, key, , value]) => [key, value])
  return `export const ${name}: Record<string, string> = ${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`
}
const tables = [
  tableOf('src/resources/events/event-catalog.ts', 'eventCatalog'),
  tableOf('src/kernel/scopes.ts', 'scopeResources'),
]
writeFileSync(join(outputFolder, 'tables.ts'), tables.join('\n'))
