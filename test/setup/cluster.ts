/** Two servers and a worker with one database, each in its own process, which a test kills in turn and restarts. */
import type { ApiClient } from './api.js'
import { createApiClient } from './api.js'
import { testSecretKey } from './database.js'
import { type GatehouseProcess, startProcess, stopProcess } from './process.js'
import type { TestApp } from './start-app.js'

const coreArgs = ['start', '--only', 'core']
const workerArgs = ['start', '--only', 'worker']
export const WORKER_INDEX = 2

export interface TestCluster {
  /** The current processes of the two servers and the worker. */
  readonly processes: readonly GatehouseProcess[]
  /** Number of kills of each process, in the order of `processes`. */
  readonly killCounts: number[]
  /** Index in `processes` of the process that `killNext` kills. The order is: worker, first server, second server. */
  readonly nextToKill: number
  /** The first server, with which tests create fixtures. It has only `baseUrl`, `idpUrl` and `operator`. */
  readonly app: TestApp
  /** Returns a client with the API key of `caller` that sends requests to the server with this index. */
  clientAt(server: number, caller: ApiClient): ApiClient
  /** Sends SIGKILL to one process and begins to restart it. Each second call waits until all restarts are complete. */
  killNext(): Promise<void>
  /** Waits until all killed processes are ready again. */
  waitUntilRestarted(): Promise<void>
  close(): Promise<void>
}

export async function startCluster(databaseUrl: string, env: Record<string, string> = {}): Promise<TestCluster> {
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: testSecretKey,
    ALLOW_PRIVATE_NETWORKS: 'true',
    LOG_LEVEL: 'fatal',
    ...env,
  }
  const first = await startProcess(settings, coreArgs)
  const { PORT: _, IDP_PORT: __, WORKER_PORT: ___, ...shared } = first.env
  const processes = [first, ...(await Promise.all([startProcess(shared, coreArgs), startProcess(shared, workerArgs)]))]
  const starting: Promise<void>[] = []
  const killCounts = [0, 0, 0]
  let killsSoFar = 0
  const restart = async (index: number) => {
    processes[index] = await startProcess(processes[index]!.env, index === WORKER_INDEX ? workerArgs : coreArgs)
  }
  const waitUntilRestarted = async () => void (await Promise.all(starting))
  const cluster: TestCluster = {
    processes,
    killCounts,
    get nextToKill() {
      return (killsSoFar + WORKER_INDEX) % 3
    },
    app: first as unknown as TestApp,
    clientAt(server, { authorization }) {
      const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
      return createApiClient(`http://127.0.0.1:${processes[server]!.env['PORT']}`, { id, secret: rest.join(':') })
    },
    async killNext() {
      const index = cluster.nextToKill
      const target = processes[index]!
      target.child.kill('SIGKILL')
      killCounts[index]! += 1
      await target.exited
      starting.push(restart(index))
      if (killsSoFar % 2 === 1) await waitUntilRestarted()
      killsSoFar += 1
    },
    waitUntilRestarted,
    async close() {
      await Promise.allSettled(starting)
      await Promise.all(processes.map((process) => stopProcess(process, 'SIGKILL')))
    },
  }
  return cluster
}
