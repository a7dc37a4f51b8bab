/** `gatehouse issuer export` and `issuer apply`: the configuration of an issuer as a document without secrets. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { applyIssuer } from '../../src/commands/issuer.js'
import { readConfig } from '../../src/config.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { testSecretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
let folder: string

beforeAll(async () => {
  app = await startApp()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-issuer-'))
  tenant = await createTenant(app, 'Declared')
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

async function gatehouse(args: string[], env: Record<string, string> = {}) {
  const defaults = { DATABASE_URL: app.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: folder }
  return runCli(args, { ...defaults, ...env })
}

/** Writes a document to a file and returns the path. */
function document(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const GOOGLE = 'the secret that Google gave us'
/** Returns a document in YAML. @param more appended lines, such as further clients */
const issuerDocument = (more = '') => `
gatehouse: issuer/v1
issuer:
  name: Declared
  settings:
    sessions:
      idle_timeout: 1800
auth_methods:
  - name: Password
    method: password
    enabled_signup: true
  - name: Google
    method: oidc
    first_factor_only: true
    settings:
      issuer_url: https://accounts.google.com
      client_id: google-client
      client_secret: { env: GOOGLE_SECRET }
clients:
  - name: Web
    type: external
    confidential: true
    settings:
      openid:
        application_type: web
        redirect_uris: [https://app.example.com/callback]
${more}`

test('without --yes, apply prints the planned changes, writes nothing, and exits with code 3', async () => {
  const path = document('first.yaml', issuerDocument())
  const before = await app.gatehouse.database.prisma.event.count()
  const args = ['issuer', 'apply', path, '--issuer', tenant.issuerId, '--secrets', join(folder, 'secrets')]
  const { code, output } = await gatehouse(args, { GOOGLE_SECRET: GOOGLE })
  expect({ code, output }).toMatchObject({
    code: 3,
    output: expect.stringContaining('4 changes planned. Nothing was written'),
  })
  expect(output).toContain(
    '~ update issuer "Declared issuer"\n    name: "Declared issuer" → "Declared"\n    settings.sessions.idle_timeout: 1800',
  )
  expect(output).toContain('~ update authentication method "Password"\n    enabled_signup: false → true')
  expect(output).toContain('+ create client "Web"')
  expect(output).not.toContain(GOOGLE)
  expect(await app.gatehouse.database.prisma.event.count()).toBe(before)
})

test('apply writes the changes and the new client secrets, and a second apply of the document changes nothing', async () => {
  const path = document('second.yaml', issuerDocument())
  const secrets = join(folder, 'created-secrets')
  const args = ['issuer', 'apply', path, '--issuer', tenant.issuerId, '--yes', '--secrets', secrets]
  const { code, output } = await gatehouse(args, { GOOGLE_SECRET: GOOGLE })
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('4 changes applied') })
  const created = JSON.parse(readFileSync(secrets, 'utf8'))
  expect(created).toEqual({ id: expect.stringMatching(/^cli_/), name: 'Web', secret: expect.stringMatching(/^.{43}$/) })
  expect(statSync(secrets).mode & 0o777).toBe(0o600)
  expect(output).not.toContain(created.secret)
  const events = await app.gatehouse.database.prisma.event.findMany({
    where: { issuerId: tenant.issuerId, authType: 'system' },
    orderBy: { id: 'asc' },
  })
  expect(events.map(({ type }) => type)).toEqual([
    'issuer.updated',
    'issuer.auth_method.updated',
    'issuer.auth_method.created',
    'client.created',
  ])

  const again = await gatehouse(args, { GOOGLE_SECRET: GOOGLE })
  expect(again).toMatchObject({ code: 0, output: 'No changes.\n' })
  const other = await gatehouse([...args.slice(0, 5), '--json'], { GOOGLE_SECRET: 'another one' })
  expect(other.code).toBe(3)
  expect(JSON.parse(other.stdout)).toMatchObject({
    applied: false,
    steps: [{ path: 'auth_methods.1', changes: [{ field: 'settings.client_secret', new: '(secret)' }] }],
  })
})

test('an export contains no secrets, changes nothing at its own issuer, and creates a copy in another account', async () => {
  const { stdout } = await gatehouse(['issuer', 'export', '--issuer', tenant.issuerId])
  expect(stdout).toContain('client_id: google-client')
  expect(stdout).not.toMatch(new RegExp(`${GOOGLE}|secret`))
  const same = await gatehouse(['issuer', 'apply', document('same.yaml', stdout)])
  expect(same).toMatchObject({ code: 0, output: 'No changes.\n' })

  const portable = await gatehouse(['issuer', 'export', '--issuer', tenant.issuerId, '--portable', '--json'])
  const copy = JSON.parse(portable.stdout)
  copy.auth_methods[1].settings.client_secret = { file: document('google', `${GOOGLE}\n`) }
  copy.clients[0].secret = { env: 'WEB_SECRET' }
  const other = await createTenant(app, 'Other')
  const path = document('copy.json', JSON.stringify(copy))
  const args = ['issuer', 'apply', path, '--account', other.accountId, '--yes', '--json']
  const applied = await gatehouse(args, { WEB_SECRET: 'w'.repeat(40) })
  const { issuer_id, changes } = JSON.parse(applied.stdout)
  expect(changes).toBe(4)
  const clients = expectStatus(await other.owner.get(`${other.A}/issuers/${issuer_id}/clients`), 200)
  expect(clients.data[0]).toMatchObject({ name: 'Web', settings: copy.clients[0].settings })
  const again = await gatehouse(args, { WEB_SECRET: 'w'.repeat(40) })
  expect(JSON.parse(again.stdout)).toMatchObject({ issuer_id, changes: 0 })
})

test('errors name the line and the path in the document, and nothing is written', async () => {
  const bad = issuerDocument(`  - name: Bad
    type: external
    confidential: false
    settings:
      openid:
        redirect_uris: ["javascript:alert(1)"]
`)
  const before = await app.gatehouse.database.prisma.event.count()
  const path = document('bad.yaml', bad.replace('1800', '-5'))
  const run = (file: string) =>
    gatehouse(['issuer', 'apply', file, '--issuer', tenant.issuerId, '--yes'], { GOOGLE_SECRET: GOOGLE })
  const first = await run(path)
  expect(first).toMatchObject({
    code: 1,
    output: expect.stringMatching(/bad\.yaml:7: issuer\.settings\.sessions\.idle_timeout must be at least 1 second/),
  })
  const second = await run(document('bad.yaml', bad))
  expect(second).toMatchObject({
    code: 1,
    output: expect.stringMatching(/bad\.yaml:\d+: clients\.1\.settings\.openid\.redirect_uris\.0 /),
  })
  const [, line] = /bad\.yaml:(\d+)/.exec(second.output)!
  expect(bad.split('\n')[Number(line) - 1]).toContain('javascript:')
  expect(await app.gatehouse.database.prisma.event.count()).toBe(before)
})

test('the redirect_uri_rules in a document apply to the clients in the document', async () => {
  const strict = issuerDocument().replace(
    'sessions:',
    'security: {redirect_uri_rules: {allowed_hosts: [login.example.com]}}\n    sessions:',
  )
  const other = strict.replace('https://app.example.com/callback', 'https://other.example.com/callback')
  const { code, output } = await gatehouse(
    ['issuer', 'apply', document('rules.yaml', other), '--issuer', tenant.issuerId, '--yes'],
    { GOOGLE_SECRET: GOOGLE },
  )
  expect({ code, output }).toMatchObject({
    code: 1,
    output: expect.stringMatching(
      /rules\.yaml:\d+: clients\.0\.settings\.openid\.redirect_uris\.0 is not allowed: .*\.allowed_hosts of the issuer refuses/,
    ),
  })
  const { data } = expectStatus(await tenant.owner.get(tenant.I), 200)
  expect(data.settings.security.redirect_uri_rules).toBeUndefined()
})

test.each([
  ['gatehouse: issuer/v2\nissuer: {}', /:1: gatehouse must be issuer\/v1/],
  ['gatehouse: issuer/v1\nissuer: {name: A\n', /broken\.yaml:\d+: /],
  ['gatehouse: issuer/v1\nissuer: {}\nusers: []', /:3: users is not a field/],
  [
    'gatehouse: issuer/v1\nissuer: {}\nclients: [{name: New, type: internal, confidential: true}]',
    /clients\.0\.secret is required/,
  ],
  [
    'gatehouse: issuer/v1\nissuer: {}\nclients: [{name: Web, secret: "in the clear"}]',
    /a document must not contain secrets/,
  ],
  [
    'gatehouse: issuer/v1\nissuer: {}\nclients: [{name: Web, confidential: false}]',
    /clients\.0\.confidential cannot be changed/,
  ],
  [
    'gatehouse: issuer/v1\nissuer: {}\nclients: [{name: Web}, {name: Web}]',
    /:3: clients\.1 is a duplicate of an earlier entry/,
  ],
  [
    'gatehouse: issuer/v1\nissuer: {}\nauth_methods: [{id: am_none, name: X}]',
    /auth_methods\.0\.id does not exist in this issuer/,
  ],
  ['gatehouse: issuer/v1\nissuer: {settings: {__proto__: {a: 1}}}', /__proto__ is not allowed/],
])('an invalid document is rejected with the reason: %j', async (text, message) => {
  const config = readConfig({ DATABASE_URL: app.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: folder })
  const apply = applyIssuer(config, { issuer: tenant.issuerId }, document('broken.yaml', text))
  const error = await apply.then(
    () => undefined,
    (thrown: Error) => thrown,
  )
  expect(error?.message).toMatch(message)
  expect(error?.message).not.toContain('in the clear')
})

test('resources that are missing in the document are kept without --prune and deleted with --prune', async () => {
  const text = 'gatehouse: issuer/v1\nissuer: {}\nauth_methods: [{name: Password, method: password}]\nclients: []\n'
  const path = document('few.yaml', text)
  expect((await gatehouse(['issuer', 'apply', path, '--issuer', tenant.issuerId])).output).toBe('No changes.\n')
  const { output } = await gatehouse(['issuer', 'apply', path, '--issuer', tenant.issuerId, '--prune', '--yes'])
  expect(output).toContain('- delete authentication method "Google"\n- delete client "Web"\n2 changes applied')
})
