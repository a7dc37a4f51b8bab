import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { version } from '../../src/platform/package-info.js'
import { createTestDatabase, testSecretKey as SECRET_KEY } from '../setup/database.js'
import { type GatehouseProcess, runCli, startProcess, stopProcess } from '../setup/process.js'
import { waitUntil } from '../setup/wait-until.js'

let folder: string
let database: { url: string; drop(): Promise<void> }
const started: GatehouseProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse operation '))
  database = await createTestDatabase()
})
afterAll(async () => {
  for (const process of started) await stopProcess(process, 'SIGKILL')
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function start(env: Record<string, string> = {}, args?: string[]): Promise<GatehouseProcess> {
  const process = await startProcess({ DATABASE_URL: database.url, SECRET_KEY, DATA_DIR: folder, ...env }, args)
  started.push(process)
  return process
}

test('with invalid settings, a start fails with exit code 1 and one message that lists all problems', async () => {
  const { code, output } = await runCli(['start'], {
    PORT: 'eighty',
    DATABASE_URL: 'mysql://localhost',
    BOOTSTRAP_ADMIN_EMAIL: 'root@example.com',
    RATE_LIMITS: '{"nothing": {"quota": 1}}',
    METRICS_TOKEN_FILE: join(folder, 'absent'),
  })
  expect(code).toBe(1)
  for (const text of [
    'PORT is "eighty"',
    'DATABASE_URL: it must begin',
    'SECRET_KEY is required',
    'BOOTSTRAP_ADMIN_PASSWORD is set; set both or neither',
    '"nothing" is not a rate limit',
    'METRICS_TOKEN_FILE is',
  ]) {
    expect(output).toContain(text)
  }
})

test('without a reachable database, a start fails with exit code 1 and a message without a stack trace', async () => {
  const { code, output } = await runCli(['start'], {
    DATABASE_URL: 'postgres://unknown@127.0.0.1:1/none',
    SECRET_KEY,
    DATA_DIR: folder,
  })
  expect(code).toBe(1)
  expect(output).toMatch(/database|ECONNREFUSED|connect/i)
  expect(output).not.toMatch(/\n\s+at /)
})

test('the setup link creates the first administrator and is refused after that, also for concurrent requests', async () => {
  const process = await start()
  const link = /http:\S+\/setup\?token=\S+/.exec(process.output())?.[0]
  expect(link).toBeDefined()
  const page = await fetch(link!)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  const token = new URL(link!).searchParams.get('token')!
  const send = (password: string, as = token) =>
    fetch(`${process.baseUrl}/setup`, {
      method: 'POST',
      body: new URLSearchParams({ token: as, username: 'root@example.com', new_password: password }),
    })
  const weak = await send('password')
  expect(weak.status).toBe(400)
  expect(await weak.text()).toContain('Choose another password')
  const responses = await Promise.all([1, 2, 3, 4, 5].map(() => send('a long enough first password')))
  expect(responses.map((response) => response.status).sort()).toEqual([200, 410, 410, 410, 410])
  expect((await fetch(link!)).status).toBe(410)
  const accounts = await process.operator.get('/v1/accounts')
  expect(accounts.body.data[0].owner_user_id).toMatch(/^usr_/)
  await stopProcess(process)
})

test('after the first start, BOOTSTRAP_API_KEY creates no key and no setup link is printed', async () => {
  const restarted = await start({ BOOTSTRAP_API_KEY: `ak_0${'1'.repeat(25)}:${'x'.repeat(40)}` })
  expect(restarted.output()).not.toContain('/setup?token=')
  expect((await restarted.operator.get('/v1/accounts')).status).toBe(401)
  await stopProcess(restarted)
})

test('with a port in use, a start fails with exit code 1 and a message that names the setting', async () => {
  const first = await start()
  const { code, output } = await runCli(['start'], { ...first.env, IDP_PORT: first.env['PORT']!, PORT: '0' })
  expect(code).toBe(1)
  expect(output).toMatch(/Port \d+ on 127\.0\.0\.1 is already in use; .* IDP_PORT/)
  await stopProcess(first)
})

test('both servers have /healthz, /readyz, and /metrics, which requires METRICS_TOKEN', async () => {
  const process = await start({ METRICS_TOKEN: 'let-me-see' })
  for (const base of [process.baseUrl, process.idpUrl]) {
    expect(await (await fetch(`${base}/healthz`)).json()).toEqual({ status: 'ok', version })
    const ready = await fetch(`${base}/readyz`)
    expect(await ready.json()).toEqual({ status: 'ready', checks: { database: true, migrations: true, keys: true } })
    expect((await fetch(`${base}/metrics`)).status).toBe(401)
    const metrics = await fetch(`${base}/metrics`, { headers: { authorization: 'Bearer let-me-see' } })
    expect(await metrics.text()).toContain('gatehouse_http_request_duration_seconds')
  }
  await stopProcess(process)
})

test('a separate worker serves only probes and metrics on WORKER_PORT; after SIGTERM /readyz is 503 and the exit code is 0', async () => {
  const worker = await start({ METRICS_TOKEN: 'let-me-see' }, ['start', '--only', 'worker'])
  const workerUrl = `http://127.0.0.1:${worker.env['WORKER_PORT']}`
  const status = async (path: string, headers = {}) => (await fetch(`${workerUrl}${path}`, { headers })).status
  const token = { authorization: 'Bearer let-me-see' }
  expect(await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => status(path)))).toEqual([200, 200, 401])
  expect(await (await fetch(`${workerUrl}/metrics`, { headers: token })).text()).toContain(
    'gatehouse_periodic_job_runs_total',
  )
  expect(await Promise.all(['/', '/v1/accounts', '/graphql', '/console'].map((path) => status(path)))).toEqual([
    404, 404, 404, 404,
  ])
  for (const url of [worker.baseUrl, worker.idpUrl]) await expect(fetch(url)).rejects.toThrow()
  const { code, output } = await runCli(['start', '--only', 'worker'], worker.env)
  expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('set WORKER_PORT to a free port') })
  worker.child.kill('SIGTERM')
  await waitUntil('/readyz responds with 503', async () => (await status('/readyz')) === 503, { interval: 10 })
  expect(await worker.exited).toBe(0)
})

test('after SIGTERM /readyz is 503, requests are still served, and the exit code is 0', async () => {
  const process = await start()
  process.child.kill('SIGTERM')
  const readiness = async () => (await fetch(`${process.baseUrl}/readyz`)).status
  await waitUntil('/readyz responds with 503', async () => (await readiness()) === 503, { interval: 10 })
  const served = await fetch(`${process.baseUrl}/openapi.json`)
  expect(served.status).toBe(200)
  expect(await process.exited).toBe(0)
})

test('gatehouse start --only core and --only idp run one role each', async () => {
  const core = await start({}, ['start', '--only', 'core'])
  await expect(fetch(`${core.idpUrl}/healthz`)).rejects.toThrow()
  expect((await fetch(`${core.baseUrl}/healthz`)).status).toBe(200)
  const idp = await start({ BASE_URL: core.baseUrl }, ['start', '--only', 'idp'])
  expect((await fetch(`${idp.idpUrl}/healthz`)).status).toBe(200)
  await expect(fetch(`http://127.0.0.1:${idp.env['PORT']}/healthz`)).rejects.toThrow()
  await Promise.all([stopProcess(core), stopProcess(idp)])
})

test('SECRET_KEY can be read from the file that SECRET_KEY_FILE names', async () => {
  const file = join(folder, 'secret key')
  writeFileSync(file, `${SECRET_KEY}\n`)
  const { code, output, stdout } = await runCli(['migrate', 'status', '--json'], {
    DATABASE_URL: database.url,
    SECRET_KEY_FILE: file,
    DATA_DIR: folder,
  })
  expect({ code, output }).toMatchObject({ code: 0 })
  expect(JSON.parse(stdout)[0]).toMatchObject({ name: expect.stringContaining('init'), appliedAt: expect.any(Number) })
  expect(readFileSync(file, 'utf8')).toContain(SECRET_KEY)
})

test('BOOTSTRAP_ADMIN_* create the administrator at the first start, and no setup link is printed', async () => {
  const emptyDatabase = await createTestDatabase()
  const process = await start({
    DATABASE_URL: emptyDatabase.url,
    BOOTSTRAP_ADMIN_EMAIL: 'first@example.com',
    BOOTSTRAP_ADMIN_PASSWORD: 'quite a good password',
  })
  expect(process.output()).not.toContain('/setup?token=')
  const { body } = await process.operator.get('/v1/accounts')
  expect(body.data[0].owner_user_id).toMatch(/^usr_/)
  await stopProcess(process)
  await emptyDatabase.drop()
})
