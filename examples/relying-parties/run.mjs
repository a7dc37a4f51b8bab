/**
 * Checks relying parties against Gatehouse and prints a table. Without names, it checks all.
 *
 *   npm run relying-parties -- [name…]
 *
 * Uses the Gatehouse at BASE_URL and IDP_URL if BASE_URL is set; otherwise starts one with a temporary data folder. Relying
 * parties whose runtime is missing on this machine are skipped, with the reason. The exit code is 1 if one failed.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { connect, root } from '../environment.mjs'
import { check, launchBrowser } from './check.mjs'
import { relyingParties } from './definitions.mjs'
import { prepare, start } from './runner.mjs'

async function freePort() {
  const server = createServer()
  await new Promise((done) => server.listen(0, 'localhost', done))
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

/** Starts a Gatehouse with a temporary data folder, and sets the environment variables that `connect` reads. */
async function startGatehouse() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-relying-parties-'))
  const [port, idpPort] = [await freePort(), await freePort()]
  const env = {
    DATA_DIR: folder,
    PORT: String(port),
    IDP_PORT: String(idpPort),
    BASE_URL: `http://localhost:${port}`,
    IDP_URL: `http://localhost:${idpPort}`,
  }
  const gatehouse = spawn(process.execPath, [join(root, 'dist/src/cli.js'), 'start'], {
    env: { PATH: process.env.PATH, RATE_LIMITS: 'off', ...env },
    stdio: 'ignore',
  })
  const ended = new Promise((done) => gatehouse.once('close', done))
  const stop = async () => {
    gatehouse.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  Object.assign(process.env, { BASE_URL: env.BASE_URL, IDP_URL: env.IDP_URL, DATA_DIR: folder })
  while (!(await fetch(`${env.BASE_URL}/readyz`).catch(() => undefined))?.ok) {
    if (gatehouse.exitCode !== null) throw new Error('Gatehouse did not start. Start it with `npm start` to see why.')
    await wait(200)
  }
  return stop
}

/** Checks one relying party. Returns the result for the table. */
async function run(browser, name, environment) {
  const missing = relyingParties[name].missing?.()
  if (missing) return { result: 'skipped', detail: missing }
  try {
    const running = await start(name, environment, { folder: prepare(name), port: await freePort() })
    try {
      return { result: 'passed', detail: await check(browser, name, running) }
    } finally {
      await running.stop()
    }
  } catch (error) {
    return { result: 'failed', detail: error.message }
  }
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(relyingParties, name))
if (unknown.length > 0) {
  console.error(`Unknown relying party: ${unknown.join(', ')}. Known: ${Object.keys(relyingParties).join(', ')}`)
  process.exit(1)
}
const stopGatehouse = process.env.BASE_URL ? async () => {} : await startGatehouse()
const browser = await launchBrowser()
const rows = []
try {
  const environment = await connect()
  for (const name of names.length > 0 ? names : Object.keys(relyingParties)) {
    const { title, version, client } = relyingParties[name]
    const { result, detail } = await run(browser, name, environment)
    console.log(`${result}: ${name}: ${detail}`)
    const installed = typeof version === 'function' ? version() : version
    rows.push({
      name: title,
      version: installed ?? 'unknown',
      algorithm: client.response_signature_alg ?? 'ES256',
      result,
    })
  }
} finally {
  await browser.close()
  await stopGatehouse()
}
console.table(rows)
const count = (result) => rows.filter((row) => row.result === result).length
console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
process.exit(count('failed') > 0 ? 1 : 0)
