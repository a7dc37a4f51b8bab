/** `gatehouse admin create`, `key create`, `start` with invalid settings, and `doctor`. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.js'
import { errorMessageOf } from '../idp/browser.js'
import { REDIRECT_URI, Realm } from '../idp/realm.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { createApiClient } from '../setup/api.js'
import { createTestDatabase, testSecretKey as SECRET_KEY } from '../setup/database.js'
import { runCli, spawnCli } from '../setup/process.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let folder: string

beforeAll(async () => {
  app = await startApp()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-operation-'))
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const gatehouse = (args: string[], env: Record<string, string> = {}) =>
  runCli(args, { DATABASE_URL: app.databaseUrl, SECRET_KEY, DATA_DIR: folder, ...env })

test('admin create creates the first administrator, who can sign in to the console, and refuses to create a second one', async () => {
  const weak = join(folder, 'weak')
  writeFileSync(weak, 'password\n')
  const refused = await gatehouse(['admin', 'create', '--email', 'root@example.com', '--password-file', weak, '--json'])
  expect({ code: refused.code, report: JSON.parse(refused.output) }).toMatchObject({
    code: 1,
    report: { error: 'invalid_request', details: [{ code: 'password_too_common' }] },
  })

  const { code, stdout } = await gatehouse(['admin', 'create', '--email', 'root@example.com', '--json'])
  expect(code).toBe(0)
  const { user_id, password_plain } = JSON.parse(stdout)
  const account = await app.gatehouse.database.prisma.account.findFirstOrThrow({ where: { system: true } })
  expect(account.ownerUserId).toBe(user_id)
  const again = await gatehouse(['admin', 'create', '--email', 'second@example.com'])
  expect(again).toMatchObject({ code: 1, output: expect.stringContaining('There is an administrator already') })

  const { value } = await app.gatehouse.database.prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const { issuer_id, client_id } = value as { issuer_id: string; client_id: string }
  const tenant = { ...(await createTenant(app, 'Any')), issuerId: issuer_id }
  const realm = new Realm(app, tenant)
  const callback = `${app.gatehouse.config.baseUrl}/console/callback`
  expect(callback).not.toBe(REDIRECT_URI)
  const { page, browser } = await realm.openSignInPage({ id: client_id, secret: undefined }, { redirect_uri: callback })
  const wrong = await browser.submit(page, { username: 'root@example.com', password: `${password_plain}x` })
  expect(errorMessageOf(wrong)).toMatch(/do not match/)
  const right = await browser.submit(wrong, { username: 'root@example.com', password: password_plain })
  expect(right.url).toContain('code=')
  expect((await fetch(app.setupLink!)).status).toBe(410)
})

test('key create creates a key with exactly the requested scopes', async () => {
  const tenant = await createTenant(app, 'Keys')
  const args = [
    'key',
    'create',
    '--account',
    tenant.accountId,
    '--name',
    'ci',
    '--scope',
    'issuers:read',
    'events:read',
    '--expires-in',
    '30',
    '--json',
  ]
  const { stdout } = await gatehouse(args)
  const created = JSON.parse(stdout)
  const key = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
  expect((await key.get(`${tenant.A}/issuers`)).status).toBe(200)
  expect((await key.post(`${tenant.A}/issuers`, { name: 'No' })).status).toBe(403)
  expect(created.expires_at).toBeGreaterThan(Date.now() + 29 * 86_400_000)
  const none = await gatehouse(['key', 'create', '--account', 'acc_none', '--name', 'x', '--scope', 'svc:all'])
  expect(none).toMatchObject({ code: 1, output: 'There is no such account.\n' })
  expect((await gatehouse(['key', 'create', '--account', tenant.accountId, '--name', 'x'])).code).toBe(2)
})

test.each([
  ['BREACHED_PASSWORDS_URL', 'http://leaks.example.com/range', /set an https:\/\/ URL.*ALLOW_PRIVATE_NETWORKS/],
  ['BREACHED_PASSWORDS_URL', 'https://me:secret@leaks.example.com', /contains a user name or password/],
  ['X402_FACILITATOR_URL', 'http://pay.example.com', /set an https:\/\/ URL/],
])('start rejects URLs that outbound requests cannot use: %s=%s', (name, value, text) => {
  const read = () => readConfig({ [name]: value })
  expect(read).toThrow(new RegExp(`- ${name} `))
  expect(read).toThrow(text)
  expect(read).not.toThrow(/secret/)
})

// Node.js's recursive mkdir does not return for these paths, which exist on Linux only.
const onLinux = process.platform === 'linux' ? test.each : test.skip.each
onLinux(['/proc/none/below', '/dev/null/below'])(
  'start exits with an error if the data folder cannot be created: DATA_DIR=%s',
  async (DATA_DIR) => {
    const { child, output, ended } = spawnCli(['start'], { DATA_DIR })
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
    expect(await ended).toBe(1)
    clearTimeout(timer)
    expect(output()).toMatch(new RegExp(`^${DATA_DIR.slice(0, 9)}.* cannot be used: .*DATA_DIR\\.$`, 'm'))
  },
)

describe('doctor', () => {
  type Checks = { check: string; state: string; text: string; fix?: string }[]
  type Findings = Record<'code' | 'severity' | 'message' | 'fix' | 'path' | 'account_id' | 'issuer_id', string | null>[]
  async function doctor(
    env: Record<string, string>,
  ): Promise<{ code: unknown; findings: Findings; of(check: string): Checks[0] | undefined }> {
    const [port, idpPort] = await freePorts(2)
    const { code, stdout } = await gatehouse(['doctor', '--json'], {
      PORT: String(port),
      IDP_PORT: String(idpPort),
      ...env,
    })
    const { ok, checks, findings } = JSON.parse(stdout) as { ok: boolean; checks: Checks; findings: Findings }
    expect(ok).toBe(code === 0)
    return { code, findings, of: (name) => checks.find(({ check }) => check === name) }
  }

  test('a healthy deployment has no broken checks and exit code 0', async () => {
    chmodSync(folder, 0o700)
    const { code, of } = await doctor({})
    expect(code).toBe(0)
    for (const check of [
      'node',
      'data directory',
      'database',
      'migrations',
      'clock',
      'secret key',
      'administrator',
      'ports',
      'mail',
      'addresses',
    ])
      expect(of(check)).toMatchObject({ state: 'ok' })
    expect(of('breached passwords')).toBeUndefined()
    const { output } = await gatehouse(['doctor'], {
      PORT: new URL(app.baseUrl).port,
      IDP_PORT: new URL(app.idpUrl).port,
    })
    expect(output).toMatch(/^ok {6}ports {15}\d+ and \d+ on 127\.0\.0\.1: in use by a running Gatehouse$/m)
    expect(output).toMatch(/^Deployment: nothing is broken, \d+ warnings?\.$/m)
  })

  test('with broken checks, the output names the fixes and the exit code is 1', async () => {
    const taken = createServer((socket) => socket.end('no\r\n'))
    await new Promise<void>((done) => void taken.listen(0, '127.0.0.1', done))
    const { port } = taken.address() as { port: number }
    const { code, of } = await doctor({
      SECRET_KEY: Buffer.alloc(32, 8).toString('base64'),
      PORT: String(port),
      MAIL_URL: 'smtp://127.0.0.1:1',
      BASE_URL: 'http://id.example.com',
      RATE_LIMITS: 'off',
    })
    taken.close()
    expect(code).toBe(1)
    expect(of('secret key')).toMatchObject({
      state: 'broken',
      text: expect.stringContaining('signing keys'),
      fix: expect.stringContaining('SECRET_KEY'),
    })
    expect(of('ports')).toMatchObject({ state: 'broken', text: expect.stringContaining(String(port)) })
    expect(of('mail')).toMatchObject({ state: 'broken' })
    expect(of('addresses')).toMatchObject({
      state: 'broken',
      text: expect.stringContaining('http://id.example.com without TLS'),
    })
    expect(of('protection')).toMatchObject({ state: 'warn', text: expect.stringContaining('RATE_LIMITS is off') })
  })

  test('the breached password service is checked if it is configured', async () => {
    let body = `${'A'.repeat(35)}:3\r\n${'B'.repeat(35)}:0`
    const service = createHttpServer((_, res) => res.end(body))
    await new Promise<void>((done) => void service.listen(0, '127.0.0.1', done))
    const { port } = service.address() as { port: number }
    const env = { BREACHED_PASSWORDS_URL: `http://127.0.0.1:${port}`, ALLOW_PRIVATE_NETWORKS: 'true' }
    expect((await doctor(env)).of('breached passwords')).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('responds with 1 hashes'),
    })
    body = '<html>Sign in to this network</html>'
    expect((await doctor(env)).of('breached passwords')).toMatchObject({
      state: 'warn',
      text: expect.stringContaining('not a list of SHA-1 suffixes'),
      fix: expect.stringContaining('BREACHED_PASSWORDS_URL'),
    })
    const refused = await doctor({ BREACHED_PASSWORDS_URL: `https://127.0.0.1:${port}` })
    expect(refused.of('breached passwords')).toMatchObject({ state: 'warn', text: expect.stringContaining('public') })
    await new Promise((done) => service.close(done))
  })

  test('reports secrets that are still encrypted with an older key', async () => {
    const { code, of } = await doctor({ SECRET_KEY: `${Buffer.alloc(32, 9).toString('base64')},${SECRET_KEY}` })
    expect(code).toBe(0)
    expect(of('secret key')).toMatchObject({ state: 'warn', text: expect.stringContaining('with an older key') })
  })

  test('the JSON and text output contain the health findings of all accounts and issuers, and an ERROR causes exit code 1', async () => {
    const tenant = await createTenant(app, 'Faulty\n\u001b[31m')
    const { accountId: account_id, issuerId: issuer_id } = tenant
    const { owner, I } = tenant
    expectStatus(await owner.patch(I, { settings: { signup: { mode: 'open' } } }), 200)
    const before = await doctor({})
    const warning = { code: 'SIGN_UP_WITHOUT_METHOD', severity: 'WARNING', path: 'settings.signup.mode' }
    const ofIssuer = (findings: Findings) => findings.filter((finding) => finding.issuer_id === issuer_id)
    expect(ofIssuer(before.findings)).toEqual([
      { ...warning, message: expect.any(String), fix: expect.any(String), account_id, issuer_id },
    ])
    expect(before.code).toBe(0)

    const settings = { provider: 'acme', client_id: 'c', client_secret: 's', redirect_uri: 'https://app.example.com/' }
    const method = { name: 'Acme login', method: 'oauth2', first_factor_only: true, settings }
    expectStatus(await owner.post(`${I}/auth-methods`, method), 201)
    const after = await doctor({})
    expect(after.code).toBe(1)
    expect(ofIssuer(after.findings)[0]).toMatchObject({ code: 'AUTH_METHOD_NOT_READY', severity: 'ERROR', account_id })
    expect(after.findings).toContainEqual(expect.objectContaining({ code: 'SINGLE_ADMINISTRATOR', issuer_id: null }))

    const [port, idpPort] = await freePorts(2)
    const { code, stdout } = await gatehouse(['doctor'], { PORT: String(port), IDP_PORT: String(idpPort) })
    expect(code).toBe(1)
    expect(stdout).toContain(
      `\nIssuer ${issuer_id} of ${account_id}, Faulty [31m issuer\n  ERROR    AUTH_METHOD_NOT_READY`,
    )
    expect(stdout).toMatch(/^Accounts and issuers: 1 error, \d+ warnings, \d+ informational\.$/m)
  })

  test('the health findings include all accounts, also with more accounts than one batch', async () => {
    const { ownerUserId } = await app.gatehouse.database.prisma.account.findFirstOrThrow({ where: { system: true } })
    const create = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }'
    const ids: string[] = []
    for (let n = 0; n < 55; n++) {
      const created = await app.operator.graphql(create, { input: { name: `Account ${n}`, ownerUserId } })
      ids.push(created.body.data.createAccount.account.id)
    }
    const { findings } = await doctor({})
    const found = findings.filter(({ code }) => code === 'SINGLE_ADMINISTRATOR').map(({ account_id }) => account_id)
    expect(found).toEqual(expect.arrayContaining(ids))
  })

  test('reports an unreachable database, and missing migrations without applying them', async () => {
    const unreachable = await doctor({ DATABASE_URL: 'postgres://unknown@127.0.0.1:1/none' })
    expect(unreachable.code).toBe(1)
    expect(unreachable.of('database')).toMatchObject({ state: 'broken', text: expect.stringContaining('ECONNREFUSED') })
    const empty = await createTestDatabase({ empty: true })
    const { of } = await doctor({ DATABASE_URL: empty.url })
    expect(of('migrations')).toMatchObject({ state: 'warn', fix: expect.stringContaining('gatehouse migrate') })
    expect((await doctor({ DATABASE_URL: empty.url })).of('migrations')).toMatchObject({ state: 'warn' })
    const status = await gatehouse(['migrate', 'status'], { DATABASE_URL: empty.url })
    expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pending +\d+_init\n/) })
    expect((await doctor({ DATABASE_URL: empty.url })).of('migrations')).toMatchObject({ state: 'warn' })
    await empty.drop()
  })
})
