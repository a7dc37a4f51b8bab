/** `gatehouse users import` and `users export`. Users of other products keep their passwords. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { auth0Array, type ExportFile, keycloakRealm, logtoLines } from '../commands/export-files.js'
import { errorMessageOf, headingOf } from '../idp/browser.js'
import { Realm, redirectParametersOf, type TestClient } from '../idp/realm.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { testSecretKey } from '../setup/database.js'
import { runCli, spawnCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { waitUntil } from '../setup/wait-until.js'

let app: TestApp
let folder: string
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-import-'))
  realm = await Realm.create(app, 'Imported')
  client = await realm.createClient()
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes a file and returns the path. */
const file = (name: string, content: string | Buffer): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Runs a command with the database of the application. */
async function gatehouse(...args: string[]): Promise<{ code: unknown; output: string; stdout: string }> {
  return runCli(args, cliEnv())
}

const cliEnv = () => ({
  DATABASE_URL: app.databaseUrl,
  SECRET_KEY: testSecretKey,
  DATA_DIR: folder,
})

async function submitSignIn(username: string, password: string) {
  const { page, browser } = await realm.openSignInPage(client)
  return { page: await browser.submit(page, { username, password }), browser }
}

const hashOf = async (username: string): Promise<string> => {
  const where = { type: 'password', user: { is: { issuerId: realm.tenant.issuerId, usernameKey: username } } }
  return (await app.gatehouse.database.prisma.verifier.findFirstOrThrow({ where })).hash!
}
const issuerOf = () => realm.tenant.issuerId

describe.each([
  ['a Keycloak realm export', keycloakRealm],
  ['an Auth0 bulk import file', auth0Array],
  ['rows of Logto', logtoLines],
])('%s', (_, createExportFile: () => Promise<ExportFile>) => {
  let from: ExportFile
  let path: string
  beforeAll(async () => {
    from = await createExportFile()
    path = file(`${from.source}.json`, from.text)
  })

  test('--dry-run prints the result and writes nothing', async () => {
    const before = await app.gatehouse.database.prisma.user.count()
    const { stdout } = await gatehouse('users', 'import', path, '--issuer', issuerOf(), '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ source: from.source, dry_run: true, known: 0 })
    expect(JSON.parse(stdout).imported).toBeGreaterThanOrEqual(from.users.length)
    expect(await app.gatehouse.database.prisma.user.count()).toBe(before)
  })

  test('each user can sign in with the old password only, which replaces the imported hash by Argon2id', async () => {
    const { output } = await gatehouse('users', 'import', path, '--issuer', issuerOf())
    expect(output).toContain(`from ${from.source}`)
    for (const { username, password, hashPattern } of from.users) {
      expect(await hashOf(username)).toMatch(hashPattern)
      expect(errorMessageOf((await submitSignIn(username, `${password}.`)).page)).toMatch(/do not match/)
      expect(await hashOf(username)).toMatch(hashPattern)
      expect(redirectParametersOf((await submitSignIn(username, password)).page)['code']).toBeDefined()
      expect(await hashOf(username)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    }
    const [{ username, password }] = from.users as [ExportFile['users'][0]]
    expect(redirectParametersOf((await submitSignIn(username, password)).page)['code']).toBeDefined()
  })

  test('a second import of the file imports no user', async () => {
    const { stdout } = await gatehouse('users', 'import', path, '--issuer', issuerOf(), '--json')
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ imported: 0 })
    expect(report.known).toBeGreaterThanOrEqual(from.users.length)
  })
})

test('imports profile, metadata, email address, status, second factor and origin; each refused record has a reason and a fix', async () => {
  const tenant = await createTenant(app, 'Second')
  const from = await keycloakRealm()
  const errors = join(folder, 'refused.ndjson')
  const ids = join(folder, 'ids.ndjson')
  const path = file('realm.json.gz', gzipSync(from.text))
  const run = await gatehouse('users', 'import', path, '--issuer', tenant.issuerId, '--errors', errors, '--ids', ids)
  expect(run.code).toBe(3)
  const refused = readFileSync(errors, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(refused).toEqual([
    expect.objectContaining({ external_id: null, reason: 'service_account', line: expect.any(Number) }),
    expect.objectContaining({
      external_id: 'kc-key',
      reason: 'unsupported_credential',
      fix: expect.stringContaining('--drop-unsupported'),
    }),
  ])
  expect(from.text.split('\n')[refused[1].line - 1]).toContain('{')
  expect(statSync(errors).mode & 0o777).toBe(0o600)
  const mapped = new Map(
    readFileSync(ids, 'utf8')
      .trim()
      .split('\n')
      .map((line) => Object.values(JSON.parse(line)) as [string, string]),
  )
  const { body } = await tenant.owner.get(`${tenant.I}/users/${mapped.get('kc-codes')}`)
  expect(body.data).toMatchObject({
    username_type: 'email',
    username: 'codes@kc.example.com',
    email_verified: true,
    profile: { name: 'Kim Keys', given_name: 'Kim', locale: 'de', preferred_username: 'codes' },
    metadata: { locale: 'de', department: ['R&D', 'Ops'] },
    custom_fields: { imported: { source: 'keycloak', id: 'kc-codes', created_at: 1_600_000_000_000 } },
  })
  const gone = await tenant.owner.get(`${tenant.I}/users/${mapped.get('kc-gone')}`)
  expect(gone.body.data).toMatchObject({ status: 'blocked', status_reason: 'Disabled in Keycloak.' })

  expectStatus(await tenant.owner.post(`${tenant.I}/auth-methods`, { name: 'App', method: 'totp' }), 201)
  const other = new Realm(app, tenant)
  const { page, browser } = await other.openSignInPage(await other.createClient())
  const second = await browser.submit(page, { username: 'codes@kc.example.com', password: from.users[0]!.password })
  expect(headingOf(second)).not.toBe('Sign in')
  const base32 = [...Buffer.from(from.totpSecret)]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .match(/.{1,5}/g)!
  const secret = base32
    .map((bits) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(bits.padEnd(5, '0'), 2)])
    .join('')
  const done = await browser.submit(second, { code: totpCode(secret, app.clock.now()) })
  expect(redirectParametersOf(done)['code']).toBeDefined()

  const dropped = await gatehouse('users', 'import', path, '--issuer', tenant.issuerId, '--drop-unsupported', '--json')
  expect(JSON.parse(dropped.stdout)).toMatchObject({ imported: 1, refused: 1, without_password: 1 })
})

test('the audit log contains user.created for each user, and webhooks get only one user.import.finished', async () => {
  const tenant = await createTenant(app, 'Audited')
  expectStatus(
    await tenant.owner.post(`${tenant.A}/webhooks`, { url: 'https://hooks.example.com/', auth: 'none' }),
    201,
  )
  const lines = ['ada', 'bo'].map((name) => JSON.stringify({ user_id: `auth0|${name}`, email: `${name}@example.com` }))
  await gatehouse('users', 'import', file('two.ndjson', lines.join('\n')), '--issuer', tenant.issuerId)
  const where = { issuerId: tenant.issuerId, type: { startsWith: 'user.' } }
  const events = await app.gatehouse.database.prisma.event.findMany({ where, orderBy: { id: 'asc' } })
  expect(events.map(({ type, authType }) => [type, authType])).toEqual([
    ['user.created', 'system'],
    ['user.created', 'system'],
    ['user.import.finished', 'system'],
  ])
  expect(events[0]!.data).toEqual({ status: 'active', imported_from: 'auth0', verifiers: [] })
  expect(events[2]!.data).toEqual({ source: 'auth0', read: 2, imported: 2, known: 0, refused: 0 })
  const deliveries = await app.gatehouse.database.prisma.webhookDelivery.findMany({
    where: { accountId: tenant.accountId },
  })
  expect(deliveries.map(({ eventType }) => eventType).filter((type) => type.startsWith('user.'))).toEqual([
    'user.import.finished',
  ])
})

test('after a killed import, two parallel imports continue and import each user once', async () => {
  const tenant = await createTenant(app, 'Killed')
  const { issuerId } = tenant
  const lines = Array.from({ length: 4500 }, (_, n) =>
    JSON.stringify({ user_id: `auth0|${n}`, email: `p${n}@example.com`, identities: [] }),
  )
  const path = file('many.ndjson', lines.join('\n'))
  const count = () => app.gatehouse.database.prisma.user.count({ where: { issuerId } })
  const first = spawnCli(['users', 'import', path, '--issuer', issuerId], cliEnv())
  await waitUntil('users are imported', async () => (await count()) > 0 || first.child.exitCode !== null, {
    interval: 5,
  })
  first.child.kill('SIGKILL')
  expect(await first.ended).toBe('SIGKILL')
  const written = await count()
  expect(written % 1000).toBe(0)
  const again = await Promise.all([1, 2].map(() => gatehouse('users', 'import', path, '--issuer', issuerId, '--json')))
  const totals = again.map(({ stdout }) => JSON.parse(stdout))
  expect(totals[0].imported + totals[1].imported).toBe(4500 - written)
  for (const { imported, known, refused } of totals) expect([imported + known, refused]).toEqual([4500, 0])
  expect(await count()).toBe(4500)
  expect(await app.gatehouse.database.prisma.event.count({ where: { issuerId, type: 'user.created' } })).toBe(4500)
})

test('SIGINT prints one message and exits with 130; the next import continues and writes the old and new id of all users', async () => {
  const { issuerId } = await createTenant(app, 'Interrupted')
  const lines = Array.from({ length: 4500 }, (_, n) =>
    JSON.stringify({ user_id: `auth0|${n}`, email: `p${n}@example.com`, identities: [] }),
  )
  const [path, ids] = [file('interrupted.ndjson', lines.join('\n')), join(folder, 'interrupted-ids')]
  const count = () => app.gatehouse.database.prisma.user.count({ where: { issuerId } })
  const args = ['users', 'import', path, '--issuer', issuerId, '--ids', ids]
  const first = spawnCli(args, cliEnv())
  await waitUntil('users are imported', async () => (await count()) > 0 || first.child.exitCode !== null, {
    interval: 5,
  })
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(130)
  expect(first.output()).toMatch(/^\s*Interrupted\. Completed changes are kept; run the command again to continue\.$/m)
  expect(first.output()).not.toMatch(/\n\s+at |Error/)
  expect((await gatehouse(...args)).code).toBe(0)
  expect(await count()).toBe(4500)
  const idRows = readFileSync(ids, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const users = await app.gatehouse.database.prisma.user.findMany({ where: { issuerId }, select: { id: true } })
  expect(new Set(idRows.map(({ user_id }) => user_id))).toEqual(new Set(users.map(({ id }) => id)))
  expect(new Set(idRows.map(({ external_id }) => external_id)).size).toBe(4500)

  // A closed standard output, as with `| head -1`, is not an error.
  const exported = spawnCli(['users', 'export', '--issuer', issuerId], cliEnv())
  exported.child.stdout.once('data', () => exported.child.stdout.destroy())
  expect(await exported.ended).toBe(0)
  expect(exported.output()).not.toContain('EPIPE')
})

test('in a malicious file, records with expensive hashes or other errors are refused with a reason, and valid records are imported', async () => {
  const tenant = await createTenant(app, 'Hostile')
  const user = (id: string, more: object) => JSON.stringify({ user_id: id, email: `${id}@example.com`, ...more })
  const hash = (value: string) => ({ password_hash: value })
  const rows: [string, string][] = [
    ['unsupported_credential', user('a', hash('$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi'))],
    ['unsupported_credential', user('b', hash('$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA'))],
    ['unsupported_credential', user('c', hash('$pbkdf2-sha256$i=900000000$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA'))],
    ['unsupported_credential', user('d', hash('$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA'))],
    [
      'unsupported_credential',
      user('e', { custom_password_hash: { algorithm: 'md4', hash: { value: '00', encoding: 'hex' } } }),
    ],
    ['unsupported_credential', user('f', hash('a password in the clear'))],
    ['unsupported_credential', user('g', { mfa_factors: [{ phone: { value: '+4915112345678' } }] })],
    ['invalid_username', JSON.stringify({ user_id: 'h', email: 'not an address' })],
    ['no_username', JSON.stringify({ user_id: 'i', email: null, identities: [] })],
    ['invalid_json', `{"user_id": "j", "email": "j@example.com", "user_metadata": {"__proto__": {"admin": true}}}`],
    ['invalid_record', user('k', { user_metadata: { big: 'x'.repeat(20_000) } })],
    ['too_large', user('l', { user_metadata: { big: 'x'.repeat(1_200_000) } })],
    ['duplicate_id', user('good', {})],
    ['username_taken', JSON.stringify({ user_id: 'm', email: 'GOOD@example.com' })],
  ]
  const text = [user('good', {}), ...rows.map(([, row]) => row), user('last', {})].join('\n')
  const errors = join(folder, 'hostile-refused.ndjson')
  const args = [
    'users',
    'import',
    file('hostile.ndjson', text),
    '--issuer',
    tenant.issuerId,
    '--errors',
    errors,
    '--json',
  ]
  const { stdout, code } = await gatehouse(...args)
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 3, read: rows.length + 2, imported: 2 })
  const refusals = readFileSync(errors, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const byLine = refusals.sort((a, b) => a.line - b.line).map(({ line, reason }) => [reason, line])
  expect(byLine).toEqual(rows.map(([reason], n) => [reason, n + 2]))
  expect(readFileSync(errors, 'utf8')).not.toContain('a password in the clear')
})

test('an export with --with-credentials can be imported with the passwords; without the option it contains no hashes', async () => {
  const plain = await gatehouse('users', 'export', '--issuer', issuerOf())
  expect(plain.stdout).toContain('bcrypt@auth0.example.com')
  expect(plain.stdout).not.toMatch(/\$argon2|\$2b\$|verifiers/)
  const out = join(folder, 'users.ndjson')
  const run = await gatehouse('users', 'export', '--issuer', issuerOf(), '--with-credentials', '--out', out)
  expect(run.output).toContain('protect this file like the database')
  expect(statSync(out).mode & 0o777).toBe(0o600)
  const tenant = await createTenant(app, 'Copy')
  const taken = await gatehouse('users', 'import', out, '--issuer', tenant.issuerId, '--json')
  expect(JSON.parse(taken.stdout)).toMatchObject({ source: 'gatehouse', refused: 0, totp: 1 })
  const copy = new Realm(app, tenant)
  const { page, browser } = await copy.openSignInPage(await copy.createClient())
  const done = await browser.submit(page, { username: 'salted@logto.example.com', password: 'password123' })
  expect(redirectParametersOf(done)['code']).toBeDefined()
})

test('invalid arguments and files cause an error message and an exit code', async () => {
  const missing = await gatehouse('users', 'import', join(folder, 'absent.json'), '--issuer', issuerOf())
  expect(missing).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^.*absent\.json does not exist or is a folder\.\n$/),
  })
  const strange = await gatehouse('users', 'import', file('strange.json', '[{"a": 1}]'), '--issuer', issuerOf())
  expect(strange).toMatchObject({ code: 1, output: expect.stringContaining('--from') })
  const torn = await gatehouse(
    'users',
    'import',
    file('torn.json', '[{"user_id": "x", "email": "x@example.com"}, {"us'),
    '--issuer',
    issuerOf(),
    '--json',
  )
  expect({ code: torn.code, report: JSON.parse(torn.output) }).toMatchObject({
    code: 1,
    report: { error: 'failed', error_description: expect.stringContaining('ends inside the record') },
  })
  const nowhere = await gatehouse(
    'users',
    'import',
    file('one.json', '{"user_id": "x", "email": "x@example.com"}'),
    '--issuer',
    'iss_none',
  )
  expect(nowhere).toMatchObject({ code: 1, output: 'There is no issuer iss_none.\n' })
  expect((await gatehouse('users', 'import', 'x')).code).toBe(2)
})
