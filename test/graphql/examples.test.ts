/** What the playground offers is valid, and does what it says when run from top to bottom. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parse, validate } from 'graphql'
import { documentLimits } from '../../src/graphql/limits.js'
import { fillIn, type Known, learn, readExample } from '../../src/graphql/playground/examples.js'
import { schema } from '../../src/graphql/schema.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { makeAccount } from '../setup/actors.js'
import type { Answer, Api, Loose } from '../setup/api.js'
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

describe.each(examples)('$name', ({ name, title, about, query, variables }) => {
  test('has a title and says what it is about', () => {
    expect(title).not.toBe(name)
    expect(about).not.toBe('')
  })

  test('fits the schema and its limits', () => {
    const document = parse(query)
    expect(validate(schema(), document)).toEqual([])
    expect(validate(schema(), document, [documentLimits])).toEqual([])
  })

  test('declares the variables that come with it', () => {
    const [operation] = parse(query).definitions
    const declared = operation?.kind === 'OperationDefinition' ? (operation.variableDefinitions ?? []) : []
    const given = Object.keys(JSON.parse(variables || '{}') as object)
    expect(declared.map(({ variable }) => variable.name.value).sort()).toEqual(given.sort())
  })
})

describe('run in order, by the key of a new account', () => {
  let app: TestApp
  let owner: Api
  const known: Known = {}

  beforeAll(async () => {
    app = await startApp({ roles: ['core'] })
    ;({ owner } = await makeAccount(app))
  })
  afterAll(() => app?.close())

  async function run(name: string): Promise<Answer<Loose>> {
    const { query, variables } = examples.find((example) => example.name === name)!
    const filled = fillIn(variables, known)
    expect(filled).not.toContain('…')
    const answer = await owner.graphql(query, JSON.parse(filled || '{}'))
    Object.assign(known, learn(answer.body.data))
    return answer
  }

  const lasting = examples.filter(({ query }) => /^subscription\b/m.test(query)).map(({ name }) => name)

  test.each(examples.map(({ name }) => name).filter((name) => !lasting.includes(name)))('%s', async (name) => {
    const { status, body } = await run(name)
    expect(body.errors).toBeUndefined()
    expect(status).toBe(200)
    expect(Object.values(body.data as object)[0]).toBeTruthy()
  })

  test.each(lasting)('%s, as long as it lasts', async (name) => {
    const { query: document, variables } = examples.find((example) => example.name === name)!
    const stream = await subscribe(owner, '', { document, variables: JSON.parse(fillIn(variables, known)) })
    expect(stream.status).toBe(200)
    await run('03-create-issuer')
    expect((await stream.until(1))[0]).toMatchObject({ type: 'issuer.created', target: { type: 'issuer' } })
    stream.close()
  })

  test('the version in ifMatch counts', async () => {
    const stale = { ...known, iss: { id: known['iss']!.id, version: '1' } }
    const { query, variables } = examples.find(({ name }) => name === '07-change-issuer')!
    const { body } = await owner.graphql(query, JSON.parse(fillIn(variables, stale)))
    expect(body.errors[0].extensions.code).toBe('PRECONDITION_FAILED')
  })
})
