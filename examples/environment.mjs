/** Connects the examples with a running Gatehouse: finds or creates the account and the issuer of the examples. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns the API key of the account for the examples, as key_id:secret. */
function accountKey(dataFolder) {
  if (process.env.ACCOUNT_KEY) return process.env.ACCOUNT_KEY
  const keyFile = join(dataFolder, 'examples.key')
  if (existsSync(keyFile)) return readFileSync(keyFile, 'utf8')
  const command = [join(root, 'dist/src/cli.js'), 'account', 'create', '--name', 'Examples', '--json']
  const { api_key } = JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8', cwd: process.cwd() }))
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  writeFileSync(keyFile, `${api_key.id}:${api_key.secret_plain}`, { mode: 0o600 })
  return readFileSync(keyFile, 'utf8')
}

/**
 * Returns what the setup of an example needs: `api`, which calls `/v1` and returns `data` of the response, the paths of
 * the account and the issuer, and the addresses.
 * @throws Error if Gatehouse is not reachable at BASE_URL
 */
export async function connect() {
  const { BASE_URL = 'http://localhost:3000', IDP_URL = 'http://localhost:4000', DATA_DIR = '.gatehouse' } = process.env
  const reachable = await fetch(`${BASE_URL}/readyz`).catch(() => undefined)
  if (!reachable?.ok) throw new Error(`Gatehouse is not reachable at ${BASE_URL}. Start it with: npm start`)
  const key = accountKey(DATA_DIR)

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
    issuers.find((one) => one.name === 'Examples') ??
    (await api('POST', `${accountPath}/issuers`, { name: 'Examples' }))
  return {
    api,
    key,
    account: accountPath,
    issuer: `${accountPath}/issuers/${issuer.id}`,
    baseUrl: BASE_URL,
    issuerUrl: `${IDP_URL}/${issuer.id}`,
  }
}
