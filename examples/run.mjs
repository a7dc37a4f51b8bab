/**
 * Runs an example against a local Gatehouse: creates the resources that the example needs through `/v1`, then starts
 * the example with the ids and secrets of the resources in its environment variables.
 *
 *   npm run example -- <name> [--check]
 *
 * The name is one of setup.mjs, or a relying party of relying-parties/definitions.mjs. With `--check`, Chromium signs in
 * to the relying party and out again, and the example ends.
 *
 * ACCOUNT_KEY (key_id:secret) is an API key of the account to use. Without ACCOUNT_KEY, the first run creates an
 * account with `gatehouse account create` and stores an API key of the account in the data folder.
 */
import { spawn } from 'node:child_process'
import { connect, root } from './environment.mjs'
import { relyingParties } from './relying-parties/definitions.mjs'
import { prepare, start } from './relying-parties/runner.mjs'
import { examples } from './setup.mjs'

/** Prints a message and ends the process. */
function fail(message) {
  console.error(message)
  process.exit(1)
}

const [name = '', ...flags] = process.argv.slice(2)
const example = Object.hasOwn(examples, name) ? examples[name] : undefined
const relyingParty = Object.hasOwn(relyingParties, name) ? relyingParties[name] : undefined
if (!example && !relyingParty) {
  const names = [...Object.keys(examples), ...Object.keys(relyingParties)]
  fail(`Usage: npm run example -- <name> [--check]\n\n  ${names.join('\n  ')}`)
}
if (flags.some((flag) => flag !== '--check')) fail(`Unknown argument: ${flags.join(' ')}`)
if (flags.length > 0 && !relyingParty) fail('--check is for the relying parties; the tests check the other examples.')

const environment = await connect().catch((error) => fail(error.message))
if (relyingParty) await runRelyingParty()
else await runExample()

async function runExample() {
  const env = { ...process.env, ISSUER: environment.issuerUrl, ...(await example.setup(environment)) }
  const [program, ...args] = example.command
  const child = spawn(program === 'node' ? process.execPath : program, args, { cwd: root, env, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 0))
}

async function runRelyingParty() {
  const missing = relyingParty.missing?.()
  if (missing) fail(missing)
  const folder = prepare(name)
  const running = await start(name, environment, { folder, port: process.env.PORT ?? '8080', stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => running.stop())
  if (flags.length > 0) {
    const { check, launchBrowser } = await import('./relying-parties/check.mjs')
    const browser = await launchBrowser()
    try {
      console.log(await check(browser, name, running))
    } catch (error) {
      console.error(error.message)
      process.exitCode = 1
    }
    await browser.close()
    running.stop()
  }
  const code = await running.exited
  process.exit(process.exitCode ?? code)
}
