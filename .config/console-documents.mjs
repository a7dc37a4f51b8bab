// Makes graphql/console/made: every document of graphql/console as text, typed by the schema, so that a page that asks
// for what is not there, or reads what it did not ask for, does not compile. One file for each, so that a page loads its
// own only. Runs as a step of build.mjs.
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
  filename: join(folder, 'made/types.ts'),
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

/** One operation as a constant whose type says what goes in and what comes out. */
function constant(operation) {
  const { value: name } = operation.name
  const type =
    name[0].toUpperCase() + name.slice(1) + operation.operation[0].toUpperCase() + operation.operation.slice(1)
  const text = [operation, ...[...needed(operation)].map((fragment) => fragments.get(fragment))].map(print).join('\n')
  return `export const ${name} = ${JSON.stringify(text)} as unknown as Document<types.${type}, types.${type}Variables>\n`
}

const made = join(folder, 'made')
rmSync(made, { recursive: true, force: true })
mkdirSync(made)
writeFileSync(join(made, 'types.ts'), `${types}\n`)
for (const { location, document } of documents) {
  const constants = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).map(constant)
  const head = `import type { TypedDocumentNode as Document } from '@urql/core'\nimport type * as types from './types'\n\n`
  writeFileSync(join(made, `${basename(location, '.graphql')}.ts`), head + constants.join('\n'))
}

/** A table of names and texts of another room, whose code the console does not know: `name: 'What it is.'`. */
function tableOf(path, name) {
  const text = readFileSync(join(folder, '../..', path), 'utf8')
  const body = text.slice(text.indexOf(`export const ${name} = {`), text.indexOf('} as const', text.indexOf(name)))
  const rows = [...body.matchAll(/^ {2}'?([a-z_.]+)'?: (['"])(.*)\2,$/gm)].map(([, key, , value]) => [key, value])
  return `export const ${name}: Record<string, string> = ${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`
}
const tables = [tableOf('src/resources/events/catalogue.ts', 'catalogue'), tableOf('src/kernel/scopes.ts', 'stems')]
writeFileSync(join(made, 'tables.ts'), tables.join('\n'))
