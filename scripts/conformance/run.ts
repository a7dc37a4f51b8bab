/**
 * `npm run conformance -- <suite.jar>` runs plans of the OpenID Foundation's conformance suite against Gatehouse
 * (docs/conformance.md).
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/platform/package-info.js'
import { launchBrowser } from '../../test/browser/monitored-page.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../../test/setup/process.js'
import { freePorts } from '../../test/setup/start-app.js'
import { unexpected } from './expected-results.js'
import { createIssuerUnderTest } from './issuer-under-test.js'
import { plans } from './plans.js'
import { conformancePage, countsTable, type PlanResult } from './report.js'
import { runPlan } from './run-plan.js'
import { SuiteApi, startSuite } from './suite.js'
import { createCertificate, startTlsProxy } from './tls.js'

const usage = 'Usage: npm run conformance -- <suite.jar> [--plan <id>]… [--module <name>]…'

/** The folder for the logs, which `.gitignore` excludes. */
const folder = join(packageRoot, 'dist/conformance')

/** Functions that stop what the runner has started, in the order of the start. */
const cleanup: (() => unknown)[] = []
let stopping: Promise<void> | undefined

/** Stops what the runner has started, once. */
function stopAll(): Promise<void> {
  stopping ??= (async () => {
    for (let stop = cleanup.pop(); stop; stop = cleanup.pop()) await stop()
  })()
  return stopping
}

const options = { plan: { type: 'string', multiple: true }, module: { type: 'string', multiple: true } } as const

/** Returns the arguments of the command line, or the text of an error. */
function readArguments() {
  let parsed: ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>
  try {
    parsed = parseArgs({ options, allowPositionals: true })
  } catch (error) {
    return `${(error as Error).message}\n${usage}`
  }
  const { values, positionals } = parsed
  const [jar] = positionals
  if (jar === undefined || positionals.length > 1) return usage
  if (!existsSync(jar)) return `${jar} does not exist. ${usage}`
  const { plan: ids = plans.map(({ id }) => id), module: modules = [] } = values
  const unknown = ids.find((id) => !plans.some((plan) => plan.id === id))
  if (unknown !== undefined) return `--plan ${unknown} is unknown. Plans: ${plans.map(({ id }) => id).join(', ')}.`
  return { jar, chosen: plans.filter(({ id }) => ids.includes(id)), modules }
}

/** Starts Gatehouse and the suite, both behind TLS. */
async function startServers(jar: string) {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'))
  cleanup.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const certificate = createCertificate(dataDir)
  const ports = await freePorts(6)
  const [port, idpPort, idpTlsPort, suitePort, suiteTlsPort, databasePort] = ports as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const [idpUrl, suiteUrl] = [`https://localhost:${idpTlsPort}`, `https://localhost:${suiteTlsPort}`]
  for (const proxy of [
    await startTlsProxy(certificate, idpTlsPort, idpPort),
    await startTlsProxy(certificate, suiteTlsPort, suitePort),
  ])
    cleanup.push(() => {
      proxy.close()
      proxy.closeAllConnections()
    })
  const suiteProcesses = startSuite({ jar, folder, certificate, url: suiteUrl, port: suitePort, databasePort })
  for (const process of suiteProcesses) cleanup.push(() => stopJava(process))
  const gatehouse = await startProcess({
    PORT: String(port),
    IDP_PORT: String(idpPort),
    IDP_URL: idpUrl,
    DATA_DIR: join(dataDir, 'data'),
    // The back-channel logout URIs of the suite are on this machine.
    ALLOW_PRIVATE_NETWORKS: 'true',
    NODE_EXTRA_CA_CERTS: certificate.pemFile,
  })
  cleanup.push(() => stopGatehouse(gatehouse))
  const suite = new SuiteApi(suitePort)
  await suite.waitUntilReady(suiteProcesses, folder)
  return { gatehouse, suite, suiteUrl, idpUrl }
}

function stopJava(process: ChildProcess): Promise<void> | void {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exited = new Promise<void>((done) => process.once('exit', () => done()))
  process.kill()
  return exited
}

async function stopGatehouse(gatehouse: GatehouseProcess): Promise<void> {
  await stopProcess(gatehouse)
  writeFileSync(join(folder, 'gatehouse.log'), gatehouse.output())
}

/** Runs the plans. Returns the exit code. */
async function main(): Promise<number> {
  const args = readArguments()
  if (typeof args === 'string') {
    console.error(args)
    return 2
  }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { gatehouse, suite, suiteUrl, idpUrl } = await startServers(args.jar)
  const browser = await launchBrowser()
  cleanup.push(() => browser.close())

  let failures = 0
  const planResults: PlanResult[] = []
  for (const plan of args.chosen) {
    console.log(`\n${plan.title}`)
    const issuer = await createIssuerUnderTest(gatehouse, plan.id, plan.requirements, { suiteUrl, idpUrl })
    const environment = { suite, suiteUrl, browser, folder }
    const results = await runPlan(plan, issuer, environment, args.modules, (result) => {
      const problem = unexpected(result)
      if (problem !== undefined) failures++
      console.log(`${result.result.padEnd(8)} ${result.module} (${result.seconds.toFixed(1)} s)`)
      if (problem !== undefined) console.log(`         UNEXPECTED: ${problem}`)
    })
    planResults.push({ plan, results })
  }
  if (planResults.every(({ results }) => results.length === 0)) {
    console.error(`The plans have no module with the name ${args.modules.join(' or ')}.`)
    return 2
  }
  console.log(`\n${countsTable(planResults)}\n\nUnexpected results: ${failures}. Logs: ${folder}`)
  if (args.chosen.length === plans.length && args.modules.length === 0) {
    const page = conformancePage(planResults, await suite.version(), new Date())
    writeFileSync(join(packageRoot, 'docs/conformance.md'), page)
  }
  return failures > 0 ? 1 : 0
}

let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    void stopAll().then(() => process.exit(1))
  })
process.exitCode = await main()
  .catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && error.syscall?.startsWith('spawn'))
      console.error(`${error.path} was not found. Install a JDK, version 17 or later, and Maven.`)
    // The requests in progress fail because the servers stop.
    else if (!interrupted) console.error(error)
    return 1
  })
  .finally(stopAll)
