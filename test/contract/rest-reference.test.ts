/** The page /docs: its links, its examples, and its samples, which are run. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openApiDocument } from '../../src/rest/openapi.js'
import { type ApiDocument, entriesOf } from '../../src/rest/reference/document.js'
import { responseExample } from '../../src/rest/reference/examples.js'
import { referencePage } from '../../src/rest/reference/page.js'
import { type Sample, samplesOf } from '../../src/rest/reference/samples.js'
import { createTenant, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const run = promisify(execFile)
let app: TestApp
let tenant: Tenant
let page: string
let folder: string

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  page = await (await fetch(`${app.baseUrl}/docs`)).text()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-samples-'))
})
afterAll(async () => {
  await app?.close()
  rmSync(folder, { recursive: true, force: true })
})

const createDocument = () => openApiDocument(app.baseUrl, {}) as unknown as ApiDocument
const entryOf = (document: ApiDocument, id: string) => entriesOf(document).find((entry) => entry.operationId === id)!
const renderPage = (document: ApiDocument) => referencePage(document, { script: '', style: '' })

describe('the page', () => {
  test('it has every operation once, and each link leads to an element of the page', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    expect(ids).toEqual(expect.arrayContaining(entriesOf(createDocument()).map(({ operationId }) => operationId)))
    const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id!)
    expect(links.length).toBeGreaterThan(100)
    expect(links.filter((id) => !ids.includes(id))).toEqual([])
  })

  test('scripts can send requests only to the same origin', async () => {
    const { headers } = await fetch(`${app.baseUrl}/docs`)
    const policy = headers.get('content-security-policy')!.split('; ')
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "connect-src 'self'", "form-action 'none'"]))
    expect(policy.find((directive) => directive.startsWith('script-src'))).toMatch(/^script-src 'sha256-[^' ]+'$/)
  })

  test('it is compressed to less than 120 kB', async () => {
    const response = await fetch(`${app.baseUrl}/docs`, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(Number(response.headers.get('content-length'))).toBeLessThan(120_000)
  })

  test('inputs with alternatives, nested objects, limits and defaults are described', () => {
    const document = createDocument()
    entryOf(document, 'createIssuer').requestBody!.content['application/json'].schema = {
      $ref: '#/components/schemas/Sample',
    }
    document.components.schemas['Sample'] = {
      oneOf: [
        {
          type: 'object',
          required: ['type', 'code'],
          properties: { type: { const: 'totp' }, code: { type: 'string', minLength: 6, maxLength: 8 } },
        },
        {
          type: 'object',
          properties: {
            type: { const: 'address' },
            address: {
              anyOf: [
                { type: 'object', properties: { city: { type: 'string', description: 'A `city`.' } } },
                { type: 'null' },
              ],
            },
            retries: { type: 'integer', minimum: 1, maximum: 5, default: 3 },
          },
        },
      ],
    }
    const html = renderPage(document)
    expect(html).toContain('Alternative 1: <code>type: totp</code>')
    expect(html).toContain('Alternative 2: <code>type: address</code>')
    expect(html).toContain('<p class="soft">6 to 8 characters.</p>')
    expect(html).toContain('<th scope="row"><code>address</code></th><td>object or null</td>')
    expect(html).toContain(
      '<tr class="d1"><th scope="row"><code>city</code></th><td>string</td><td><p>A <code>city</code>.</p>',
    )
    expect(html).toContain('<p class="soft">1 to 5. Default <code>3</code>.</p>')
  })

  test('recorded examples are shown instead of built ones', () => {
    const document = createDocument()
    const entry = entryOf(document, 'createClient')
    expect(responseExample(document, entry)).toMatchObject({ data: { name: 'Web shop', secret: expect.anything() } })
    entry.requestBody!.content['application/json'].example = { name: 'Recorded <client>' }
    entry.responses['201']!.content!['application/json'].example = { data: { id: 'cli_recorded' } }
    const html = renderPage(document)
    expect(html.match(/Recorded &lt;client&gt;/g)!.length).toBeGreaterThanOrEqual(4)
    expect(html).toContain('cli_recorded')
    expect(html).not.toContain('Recorded <client>')
  })
})

describe('the samples', () => {
  /** Runs a sample and returns its output. Python is not run, because `requests` may not be installed. */
  async function runSample({ language, text }: Sample, variables: Record<string, string>): Promise<string> {
    const env = { ...process.env, NODE_OPTIONS: '', ...variables }
    if (language === 'curl') return (await run('sh', ['-c', text], { env })).stdout
    const file = join(folder, 'sample.mjs')
    writeFileSync(file, text)
    return (await run(process.execPath, [file], { env })).stdout
  }

  const samples = (id: string, body?: unknown) => {
    const document = createDocument()
    return samplesOf(document, entryOf(document, id), body)
  }
  const sampleIn = (language: string, id: string, body?: unknown) =>
    samples(id, body).find((sample) => sample.language === language)!

  test.each(['curl', 'JavaScript'])('in %s create, list, update and delete a resource', async (language) => {
    const authorization = tenant.owner.authorization!.slice('Basic '.length)
    const base = {
      API_KEY: Buffer.from(authorization, 'base64').toString(),
      ACCOUNT_ID: tenant.accountId,
      ISSUER_ID: tenant.issuerId,
      SUBJECT_ID: 'usr_1',
    }
    const body = {
      name: 'Ada\'s $HOME `shop` \\ "ü"',
      type: 'internal',
      confidential: true,
      settings: { openid: { redirect_uris: ['https://shop.example.com/callback'] } },
    }
    const created = await runSample(sampleIn(language, 'createClient', body), base)
    const clientId = /cli_\w+/.exec(created)![0]
    const path = `${tenant.I}/clients/${clientId}`
    const read = await tenant.owner.get(path)
    expect(read.body.data.name).toBe(body.name)
    expect(await runSample(sampleIn(language, 'listClients'), base)).toContain(clientId)
    expect(await runSample(sampleIn(language, 'getNoteCount'), base)).toMatch(/count"?: ?0/)

    const variables = { ...base, CLIENT_ID: clientId, ETAG: '"1"' }
    const update = sampleIn(language, 'updateClient', { description: null, name: 'Renamed' })
    const refused = await runSample(update, variables).catch((error: Error) => error.message)
    expect(refused).toContain('precondition_failed')
    await runSample(update, { ...variables, ETAG: read.headers.get('etag')! })
    const changed = await tenant.owner.get(path)
    expect(changed.body.data.name).toBe('Renamed')
    await runSample(sampleIn(language, 'deleteClient'), { ...variables, ETAG: changed.headers.get('etag')! })
    expect((await tenant.owner.get(path)).status).toBe(404)
  })

  test('in Python have the path, query, headers and body of the operation', () => {
    expect(
      sampleIn('Python', 'createClient', { confidential: true, logo_url: null, tags: [], settings: { a: ['"'] } }).text,
    ).toBe(`import uuid
from os import environ as env

import requests

response = requests.post(
    f"${app.baseUrl}/v1/accounts/{env['ACCOUNT_ID']}/issuers/{env['ISSUER_ID']}/clients",
    auth=tuple(env["API_KEY"].split(":", 1)),
    headers={"Idempotency-Key": str(uuid.uuid4())},
    json={
        "confidential": True,
        "logo_url": None,
        "tags": [],
        "settings": {
            "a": [
                "\\"",
            ],
        },
    },
)
response.raise_for_status()
print(response.json())`)
    expect(sampleIn('Python', 'deleteClient').text).toContain('headers={"If-Match": env["ETAG"]},')
    expect(sampleIn('Python', 'getNoteCount').text).toContain(
      'params={"subject_type": "user", "subject_id": env["SUBJECT_ID"]},',
    )
    expect(sampleIn('Python', 'listAccounts').text).toContain(`requests.get(\n    "${app.baseUrl}/v1/accounts",`)
  })
})
