/** Runs Gatehouse in a separate process, with the command line that operators use. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { newId } from '../../src/kernel/ids.js'
import { type ApiClient, createApiClient } from './api.js'
import { freePorts } from './start-app.js'
import { waitUntil } from './wait-until.js'

const cli = fileURLToPath(new URL('../../src/cli.js', import.meta.url))

/**
 * Flags of Node.js that make short-lived processes start faster. `--liftoff-only` omits the optimizing compilation of
 * WebAssembly, which Prisma uses. `--min-semi-space-size` (MiB) omits garbage collections while the modules load.
 */
const shortLivedFlags = ['--liftoff-only', '--min-semi-space-size=16']

export interface GatehouseProcess {
  child: ChildProcess
  baseUrl: string
  idpUrl: string
  /** Calls the Core API with BOOTSTRAP_API_KEY of `env`, which is valid if the deployment was created with this key. */
  operator: ApiClient
  /** The environment variables of the process, for a restart or for a second process. */
  env: Record<string, string>
  /** Returns the text written to stdout and stderr so far. */
  output(): string
  /** Resolves when the process has exited, to the exit code or to the signal that ended the process. */
  exited: Promise<number | NodeJS.Signals>
}

/** Runs a command of the CLI until it exits. `output` is the text of stdout and stderr. */
export async function runCli(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | NodeJS.Signals; output: string; stdout: string }> {
  const { output, stdout, ended } = spawnCli(args, env)
  const code = await ended
  return { code, output: output(), stdout: stdout() }
}

/** Starts a command of the CLI without waiting for its exit. */
export function spawnCli(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [...shortLivedFlags, cli, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  child.stdout.on('data', (chunk) => (out += chunk))
  const exited = new Promise<number | NodeJS.Signals>((done) =>
    child.once('close', (code, signal) => done(code ?? signal!)),
  )
  return { child, output: () => text, stdout: () => out, ended: exited }
}

/**
 * Starts Gatehouse, by default on free ports, and waits until `/readyz` responds with success.
 * @param args the arguments of the command line
 * @throws Error if the process exits, or is not ready after 60 seconds
 */
export async function startProcess(env: Record<string, string>, args: string[] = ['start']): Promise<GatehouseProcess> {
  const [port, idpPort, workerPort] = await freePorts(3)
  const key = { id: newId('ak', Date.now()), secret: randomBytes(32).toString('hex') }
  const fullEnv: Record<string, string> = {
    PORT: String(port),
    IDP_PORT: String(idpPort),
    WORKER_PORT: String(workerPort),
    BASE_URL: `http://127.0.0.1:${port}`,
    IDP_URL: `http://127.0.0.1:${idpPort}`,
    BOOTSTRAP_API_KEY: `${key.id}:${key.secret}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'info',
    ...env,
  }
  const { child, output, ended } = spawnCli(args, fullEnv)
  const [baseUrl, idpUrl] = [`http://127.0.0.1:${fullEnv['PORT']}`, `http://127.0.0.1:${fullEnv['IDP_PORT']}`]
  const workerUrl = `http://127.0.0.1:${fullEnv['WORKER_PORT']}`
  const probe = args.includes('worker') ? workerUrl : args.includes('idp') ? idpUrl : baseUrl
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`Gatehouse did not start:\n${output()}`)
    const response = await fetch(`${probe}/readyz`).catch(() => undefined)
    return response?.ok
  }
  await waitUntil('Gatehouse is ready', isReady, { limit: 60_000, interval: 50, details: output })
  const [id = '', secret = ''] = fullEnv['BOOTSTRAP_API_KEY']!.split(':')
  return {
    child,
    baseUrl,
    idpUrl,
    operator: createApiClient(baseUrl, { id, secret }),
    env: fullEnv,
    output,
    exited: ended,
  }
}

/** Sends a signal to a running process and waits until the process has exited. Returns 0 for undefined. */
export async function stopProcess(
  process: GatehouseProcess | undefined,
  signal: NodeJS.Signals = 'SIGINT',
): Promise<number | NodeJS.Signals> {
  if (!process) return 0
  if (process.child.exitCode === null && process.child.signalCode === null) process.child.kill(signal)
  return process.exited
}
