/** Replaces SECRET_KEY of two running processes without downtime. At the end no stored value needs the old key. */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { newId } from '../../src/kernel/ids.js'
import { createEncryptor } from '../../src/platform/crypto/secrets.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { type GatehouseProcess, runCli, spawnCli, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { startWebhookReceiver, type WebhookReceiver } from '../setup/webhook-receiver.js'

const [older, newer] = [5, 6].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer]
const [OLD, NEW] = [older.toString('base64'), newer.toString('base64')]
const [oldKeyId, newKeyId] = [older, newer].map((key) =>
  createHash('sha256').update(key).digest('hex').slice(0, 8),
) as [string, string]
const spa = { openid: { redirect_uris: ['https://app.example.com/callback'] } }
/** Number of TOTP secrets. With so many, the test can kill the re-encryption before its end. */
const MANY = 4000

let database: { url: string; drop(): Promise<void> }
let db: pg.Client
let receiver: WebhookReceiver
let processes: [GatehouseProcess, GatehouseProcess]
let tenant: Tenant
let machine: { id: string; secret: string }

beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  // The spare keys of the template database are encrypted with `testSecretKey`.
  await db.query('DELETE FROM spare_keys')
  receiver = await startWebhookReceiver()
  const env = { DATABASE_URL: database.url, SECRET_KEY: OLD, ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'error' }
  const first = await startProcess(env)
  const { PORT: _, IDP_PORT: __, ...shared } = first.env
  processes = [first, await startProcess(shared)]
  tenant = await createTenant(first as unknown as TestApp, 'Rotating')
})
afterAll(async () => {
  await Promise.all(processes.map((process) => stopProcess(process, 'SIGKILL')))
  await receiver.close()
  await db.end()
  await database.drop()
})

const rows = async (text: string, values: unknown[] = []): Promise<AnyJson[]> => (await db.query(text, values)).rows

const runReencrypt = (keys: string, ...options: string[]) =>
  runCli(['secrets', 'reencrypt', '--json', ...options], { DATABASE_URL: database.url, SECRET_KEY: keys })

async function requestToken(process: GatehouseProcess): Promise<AnyJson> {
  const response = await fetch(`${process.idpUrl}/${tenant.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${machine.id}:${encodeURIComponent(machine.secret)}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'https://api.example.com' }),
  })
  const text = await response.text()
  return expectStatus({ status: response.status, text, body: JSON.parse(text) }, 200)
}

/** Restarts one process after the other with this SECRET_KEY, and expects that the running process issues tokens. */
async function replaceSecretKey(keys: string): Promise<void> {
  for (const index of [0, 1] as const) {
    await stopProcess(processes[index])
    await requestToken(processes[1 - index]!)
    processes[index] = await startProcess({ ...processes[index].env, SECRET_KEY: keys })
    await requestToken(processes[index])
  }
}

/** Returns the number of rows with a value that is encrypted with this key, by table. */
async function rowsEncryptedWith(key: string): Promise<Record<string, number>> {
  const tables = await rows(
    "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND NOT relispartition",
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [{ count }] = await rows(`SELECT count(*)::int AS count FROM ${name} t WHERE t::text ~ $1`, [
      `${key}\\.[A-Za-z0-9_-]{38}`,
    ])
    if (count > 0) counts[name] = count
  }
  return counts
}

test('all tables with encrypted values have rows with the old key', async () => {
  const { owner, A, I, issuerId, accountId } = tenant
  const client = expectStatus(
    await owner.post(`${I}/clients`, {
      name: 'Machine',
      type: 'internal',
      confidential: true,
      settings: {
        openid: {
          application_type: 'm2m',
          grant_types: ['client_credentials'],
          allowed_resources: ['https://api.example.com'],
        },
      },
    }),
    201,
  ).data
  machine = { id: client.id, secret: client.secret }
  expectStatus(await owner.post(`${A}/webhooks`, { url: `${receiver.url}/hook`, event_types: ['client.created'] }), 201)
  const github = { client_id: 'us', client_secret: 'the-secret-of-the-upstream' }
  const method = { name: 'GitHub', method: 'github', first_factor_only: true, settings: github }
  expectStatus(await owner.post(`${I}/auth-methods`, method), 201)
  const { data: user } = expectStatus(
    await owner.post(`${I}/users`, { username: 'ada@example.com', username_type: 'email' }),
    201,
  )
  expectStatus(await owner.post(`${I}/users/${user.id}/verifiers`, { type: 'backup_codes', name: null }), 201)
  expectStatus(
    await owner.post(`${I}/users/${user.id}/verifiers`, { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }),
    201,
  )
  expectStatus(
    await owner.post(
      `${I}/users/${user.id}/verifiers`,
      { type: 'totp_enrollment', name: null, issuer_name: 'Kept' },
      { 'idempotency-key': 'kept' },
    ),
    201,
  )
  const { encrypt } = createEncryptor([older])
  const now = Date.now()
  const later = now + 3_600_000
  const encryptedSecrets = Array.from({ length: MANY }, (_, at) => encrypt(`secret ${at}`))
  await rows(
    `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, status, created_at, updated_at)
     SELECT id, $2, $3, 'unique', id, id, id, 'active', $4, $4 FROM unnest($1::text[]) AS id`,
    [encryptedSecrets.map(() => newId('usr', now)), accountId, issuerId, now],
  )
  await rows(
    `INSERT INTO verifiers (id, account_id, issuer_id, user_id, type, encrypted_secret, created_at, updated_at)
     SELECT given.id, $3, $4, u.id, 'totp', given.encrypted_secret, $5, $5
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given(id, encrypted_secret, at)
     JOIN (SELECT id, row_number() OVER (ORDER BY id) AS at FROM users WHERE username NOT LIKE '%@%' AND issuer_id = $4) u
       USING (at)`,
    [encryptedSecrets.map(() => newId('vrf', now)), encryptedSecrets, accountId, issuerId, now],
  )
  await rows(
    `INSERT INTO console_sessions (id, user_id, sid, tokens, access_expires_at, created_at, expires_at)
     VALUES ('console', $1, 'ses_x', $2, $3, $3, $3)`,
    [user.id, encrypt('{}'), later],
  )
  await rows(`INSERT INTO jobs (id, task, payload, run_at, created_at) VALUES ('job_x', 'mail', $1, $2, $3)`, [
    JSON.stringify({ id: 'mail_x', encrypted: encrypt('{}'), expiresAt: later }),
    later,
    now,
  ])
  const state = {
    upstream: { encryptedBindings: encrypt('a'), encryptedResponse: encrypt('b') },
    enrolling: { id: '', encryptedSecret: encrypt('c') },
  }
  await rows(
    `INSERT INTO login_states (issuer_id, uid, account_id, state, expires_at) VALUES ($1, 'uid', $2, $3, $4)`,
    [issuerId, accountId, JSON.stringify(state), later],
  )
  await rows(
    `INSERT INTO topup_attempts (id, account_id, method_id, amount_micro_usd, network, payment_key, request, state,
       settlement_lease_expires_at, created_at, updated_at) VALUES ('top_x', $1, 'pm_x', 1, 'eip155:1', 'x', $2, 'settling', $3, $4, $4)`,
    [accountId, encrypt('{}'), later, now],
  )
  expect(Object.keys(await rowsEncryptedWith(oldKeyId)).sort()).toEqual([
    'auth_methods',
    'console_sessions',
    'enrollments',
    'idempotent_requests',
    'issuers',
    'jobs',
    'login_states',
    'signing_keys',
    'spare_keys',
    'topup_attempts',
    'verifiers',
    'webhooks',
  ])
})

test('re-encryption is refused while a process lacks the new key', async () => {
  const { code, output } = await runReencrypt(`${NEW},${OLD}`)
  expect({ code, report: JSON.parse(output) }).toMatchObject({
    code: 1,
    report: { error_description: expect.stringContaining('Add this key to their SECRET_KEY') },
  })
  expect(await rowsEncryptedWith(newKeyId)).toEqual({})
})

test('when both processes have the new key, a dry run lists the values by key and the processes that encrypt with the old key', async () => {
  await replaceSecretKey(`${OLD},${NEW}`)
  const { code, stdout } = await runReencrypt(`${NEW},${OLD}`, '--dry-run')
  const report = JSON.parse(stdout)
  expect({ code, report }).toMatchObject({
    code: 3,
    report: { key: newKeyId, dry_run: true, reencrypted: 0, removable: [] },
  })
  expect(report.behind).toHaveLength(1)
  expect(report.left).toContainEqual({ what: 'second factors', key: oldKeyId, count: MANY + 1 })
  expect(await rowsEncryptedWith(newKeyId)).toEqual({})
})

test('after a killed run, two concurrent runs re-encrypt each remaining value once while processes serve requests', async () => {
  await replaceSecretKey(`${NEW},${OLD}`)
  const keys = await rows('SELECT id, public_jwk FROM signing_keys ORDER BY id')
  const run = spawnCli(['secrets', 'reencrypt'], { DATABASE_URL: database.url, SECRET_KEY: `${NEW},${OLD}` })
  const secretsEncryptedWith = async (key: string) =>
    (await rows("SELECT count(*)::int AS count FROM verifiers WHERE encrypted_secret LIKE $1 || '.%'", [key]))[0].count
  while ((await secretsEncryptedWith(newKeyId)) === 0) await requestToken(processes[0])
  run.child.kill('SIGKILL')
  await run.ended
  const done = await secretsEncryptedWith(newKeyId)
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThan(MANY)

  const firstRun = runReencrypt(`${NEW},${OLD}`)
  const secondRun = runReencrypt(`${NEW},${OLD}`)
  for (let number = 0; number < 20; number++) {
    const name = `Client ${number} ${randomBytes(4).toString('hex')}`
    expectStatus(
      await tenant.owner.post(`${tenant.I}/clients`, { name, type: 'external', confidential: false, settings: spa }),
      201,
    )
    await requestToken(processes[number % 2]!)
  }
  const results = await Promise.all([firstRun, secondRun])
  expect(results.map(({ code }) => code)).toEqual([0, 0])
  const [first, second] = results.map(({ stdout }) => JSON.parse(stdout))
  expect(first).toMatchObject({ key: newKeyId, removable: [oldKeyId], left: [], lost: [], behind: [] })
  // Neither run re-encrypted a value that the other run had re-encrypted. `rowsEncryptedWith` counts rows, and the row
  // of login_states has three values, which explains `+ 2`.
  const rowCount = Object.values(await rowsEncryptedWith(newKeyId)).reduce((sum, count) => sum + count, 0)
  expect(first.reencrypted + second.reencrypted).toBeLessThanOrEqual(rowCount + 2)
  expect(await rowsEncryptedWith(oldKeyId)).toEqual({})
  expect(await rows('SELECT id, public_jwk FROM signing_keys ORDER BY id')).toEqual(keys)

  const { code, stdout } = await runReencrypt(`${NEW},${OLD}`)
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 0,
    report: { reencrypted: 0, removable: [oldKeyId] },
  })
})

test('tokens, webhooks and second factors work without the old key', async () => {
  const before = await requestToken(processes[0])
  await replaceSecretKey(NEW)
  const kidOf = ({ access_token }: AnyJson) =>
    JSON.parse(Buffer.from(access_token.split('.')[0], 'base64url').toString()).kid
  expect(kidOf(await requestToken(processes[1]))).toBe(kidOf(before))
  const requestCount = receiver.requests.length
  expectStatus(
    await tenant.owner.post(`${tenant.I}/clients`, {
      name: 'After',
      type: 'external',
      confidential: false,
      settings: spa,
    }),
    201,
  )
  while (receiver.requests.length === requestCount) await requestToken(processes[0])
  expect(receiver.requests.at(-1)!.headers['webhook-signature']).toMatch(/^v1,/)
  const { decrypt } = createEncryptor([newer])
  const [{ encrypted_secret }] = await rows(
    "SELECT encrypted_secret FROM verifiers WHERE type = 'totp' ORDER BY random() LIMIT 1",
  )
  expect(decrypt(encrypted_secret)).toMatch(/^secret \d+$/)
})

test('values that no configured key can decrypt are reported, and the exit code is 3', async () => {
  const unknownKey = createEncryptor([Buffer.alloc(32, 9)])
  await rows("UPDATE jobs SET payload = jsonb_set(payload, '{encrypted}', to_jsonb($1::text)) WHERE id = 'job_x'", [
    unknownKey.encrypt('{}'),
  ])
  const { code, stdout } = await runReencrypt(NEW)
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 3,
    report: { reencrypted: 0, left: [], lost: [{ what: 'queued email', key: unknownKey.keyIds[0], count: 1 }] },
  })
})
