/**
 * Runs an example against a local Gatehouse: creates the resources that the example needs through `/v1`, then starts
 * the example with the ids and secrets of the resources in its environment variables.
 *
 *   npm run example -- <name>
 *
 * ACCOUNT_KEY (key_id:secret) is an API key of the account to use. Without ACCOUNT_KEY, the first run creates an
 * account with `gatehouse account create` and stores an API key of the account in the data folder.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { examples } from './setup.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { BASE_URL = 'http://localhost:3000', IDP_URL = 'http://localhost:4000', DATA_DIR = '.gatehouse' } = process.env

/** Returns the API key of the account for the examples, as key_id:secret. */
function accountKey() {
  if (process.env.ACCOUNT_KEY) return process.env.ACCOUNT_KEY
  const keyFile = join(DATA_DIR, 'examples.key')
  if (existsSync(keyFile)) return readFileSync(keyFile, 'utf8')
  const command = [join(root, 'dist/src/cli.js'), 'account', 'create', '--name', 'Examples', '--json']
  const { api_key } = JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8', cwd: process.cwd() }))
  mkdirSync(DATA_DIR, { recursive: true, mode: 0o700 })
  writeFileSync(keyFile, `${api_key.id}:${api_key.secret_plain}`, { mode: 0o600 })
  return readFileSync(keyFile, 'utf8')
}

const name = process.argv[2] ?? ''
const example = examples[name]
if (!example) {
  console.error(`Usage: npm run example -- <name>\n\n  ${Object.keys(examples).join('\n  ')}`)
  process.exit(1)
}
const reachable = await fetch(`${BASE_URL}/readyz`).catch(() => undefined)
if (!reachable?.ok) {
  console.error(`Gatehouse is not reachable at ${BASE_URL}. Start it with: npm start`)
  process.exit(1)
}

const key = accountKey()

/** Calls `/v1` and returns `data` of the response; undefined for 204. */
async function api(method, path, body) {
  const response = await fetch(`${BASE_URL}/v1/${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(key)}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const json = response.status === 204 ? {} : await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${json.error_description}`)
  return json.data
}

const [{ id: account }] = await api('GET', 'accounts')
const accountPath = `accounts/${account}`
const issuers = await api('GET', `${accountPath}/issuers`)
const issuer =
  issuers.find((one) => one.name === 'Examples') ?? (await api('POST', `${accountPath}/issuers`, { name: 'Examples' }))
const environment = {
  api,
  key,
  account: accountPath,
  issuer: `${accountPath}/issuers/${issuer.id}`,
  baseUrl: BASE_URL,
  issuerUrl: `${IDP_URL}/${issuer.id}`,
}

const env = { ...process.env, ISSUER: environment.issuerUrl, ...(await example.setup(environment)) }
const [program, ...args] = example.command
const child = spawn(program === 'node' ? process.execPath : program, args, { cwd: root, env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 0))
