/**
 * Runs an example against the Gatehouse on this machine: makes what the example needs through `/v1`, then starts it with
 * the ids in its environment, as a deployment would.
 *
 *   npm run example -- <name>
 *
 * With ACCOUNT_KEY (key_id:secret) it works in that account; without, it makes one with the command line, once, and
 * keeps the key in the data folder.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { examples } from './setup.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { BASE_URL = 'http://localhost:3000', IDP_URL = 'http://localhost:4000', DATA_DIR = '.gatehouse' } = process.env

/** The key of the account that examples work in. */
function accountKey() {
  if (process.env.ACCOUNT_KEY) return process.env.ACCOUNT_KEY
  const kept = join(DATA_DIR, 'examples.key')
  if (existsSync(kept)) return readFileSync(kept, 'utf8')
  const command = [join(root, 'dist/src/cli.js'), 'account', 'create', '--name', 'Examples', '--json']
  const { api_key } = JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8', cwd: process.cwd() }))
  mkdirSync(DATA_DIR, { recursive: true, mode: 0o700 })
  writeFileSync(kept, `${api_key.id}:${api_key.secret_plain}`, { mode: 0o600 })
  return readFileSync(kept, 'utf8')
}

const name = process.argv[2] ?? ''
const example = examples[name]
if (!example) {
  console.error(`Usage: npm run example -- <name>\n\n  ${Object.keys(examples).join('\n  ')}`)
  process.exit(1)
}
const reachable = await fetch(`${BASE_URL}/readyz`).catch(() => undefined)
if (!reachable?.ok) {
  console.error(`No Gatehouse answers at ${BASE_URL}. Start one with: npm start`)
  process.exit(1)
}

const key = accountKey()

/** One call of `/v1`; answers what is under `data`. */
async function api(method, path, body) {
  const answer = await fetch(`${BASE_URL}/v1/${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(key)}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const json = answer.status === 204 ? {} : await answer.json()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${json.error_description}`)
  return json.data
}

const [{ id: account }] = await api('GET', 'accounts')
const at = `accounts/${account}`
const issuers = await api('GET', `${at}/issuers`)
const issuer =
  issuers.find((one) => one.name === 'Examples') ?? (await api('POST', `${at}/issuers`, { name: 'Examples' }))
const place = {
  api,
  key,
  account: at,
  issuer: `${at}/issuers/${issuer.id}`,
  baseUrl: BASE_URL,
  issuerUrl: `${IDP_URL}/${issuer.id}`,
}

const env = { ...process.env, ISSUER: place.issuerUrl, ...(await example.setup(place)) }
const [program, ...words] = example.command
const child = spawn(program === 'node' ? process.execPath : program, words, { cwd: root, env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 0))
