/** The examples of the playground are valid GraphQL documents and succeed when they run in order. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parse, validate } from 'graphql'
import { documentLimitsRule } from '../../src/graphql/document-limits.js'
import { collectIds, fillPlaceholders, type KnownIds, readExample } from '../../src/graphql/playground/examples.js'
import { schema } from '../../src/graphql/schema.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { createAccount } from '../setup/actors.js'
import type { AnyJson, ApiClient, ApiResponse } from '../setup/api.js'
import { subscribe } from '../setup/event-stream.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const folder = join(packageRoot, 'graphql/examples')
const files = readdirSync(folder).sort()
const examples = files
  .filter((file) => file.endsWith('.graphql'))
  .map((file) => {
    const name = file.slice(0, -'.graphql'.length)
    const variables = files.includes(`${name}.json`) ? readFileSync(join(folder, `${name}.json`), 'utf8') : ''
    return readExample(name, readFileSync(join(folder, file), 'utf8'), variables)
  })

describe.each(examples)('$name', ({ name, title, description, query, variables }) => {
  test('has a title and a description', () => {
    expect(title).not.toBe(name)
    expect(description).not.toBe('')
  })

  test('is valid for the schema and the document limits', () => {
    const document = parse(query)
    expect(validate(schema(), document)).toEqual([])
    expect(validate(schema(), document, [documentLimitsRule({})])).toEqual([])
  })

  test('declares exactly the variables in its JSON file', () => {
    const [operation] = parse(query).definitions
    const declared = operation?.kind === 'OperationDefinition' ? (operation.variableDefinitions ?? []) : []
    const given = Object.keys(JSON.parse(variables || '{}') as object)
    expect(declared.map(({ variable }) => variable.name.value).sort()).toEqual(given.sort())
  })
})

describe('run in order with the key of a new account', () => {
  let app: TestApp
  let owner: ApiClient
  const known: KnownIds = {}

  beforeAll(async () => {
    app = await startApp({ roles: ['core'] })
    ;({ owner } = await createAccount(app))
  })
  afterAll(() => app?.close())

  async function run(name: string): Promise<ApiResponse<AnyJson>> {
    const { query, variables } = examples.find((example) => example.name === name)!
    const filled = fillPlaceholders(variables, known)
    expect(filled).not.toContain('…')
    const response = await owner.graphql(query, JSON.parse(filled || '{}'))
    Object.assign(known, collectIds(response.body.data))
    return response
  }

  const subscriptions = examples.filter(({ query }) => /^subscription\b/m.test(query)).map(({ name }) => name)

  test.each(examples.map(({ name }) => name).filter((name) => !subscriptions.includes(name)))('%s', async (name) => {
    const { status, body } = await run(name)
    expect(body.errors).toBeUndefined()
    expect(status).toBe(200)
    expect(Object.values(body.data as object)[0]).toBeTruthy()
  })

  test.each(subscriptions)('%s, while the stream is open', async (name) => {
    const { query: document, variables } = examples.find((example) => example.name === name)!
    const stream = await subscribe(owner, '', { document, variables: JSON.parse(fillPlaceholders(variables, known)) })
    expect(stream.status).toBe(200)
    await run('03-create-issuer')
    expect((await stream.waitForEvents(1))[0]).toMatchObject({ type: 'issuer.created', target: { type: 'issuer' } })
    stream.close()
  })

  test('a change with an old version in ifMatch is PRECONDITION_FAILED', async () => {
    const stale = { ...known, iss: { id: known['iss']!.id, version: '1' } }
    const { query, variables } = examples.find(({ name }) => name === '07-change-issuer')!
    const { body } = await owner.graphql(query, JSON.parse(fillPlaceholders(variables, stale)))
    expect(body.errors[0].extensions.code).toBe('PRECONDITION_FAILED')
  })
})
