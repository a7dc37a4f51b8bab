/** Two servers and a worker on one database, each a process of its own, killed in turn and started again. */
import type { Api } from './api.js'
import { apiAs } from './api.js'
import { secretKey } from './database.js'
import { endProcess, type Process, startProcess } from './process.js'
import type { TestApp } from './start-app.js'

const core = ['start', '--only', 'core']
const worker = ['start', '--only', 'worker']
export const WORKER = 2

export interface Fleet {
  /** The two servers and the worker, as they are now. */
  readonly processes: readonly Process[]
  /** How often each was killed. */
  readonly kills: number[]
  /** Who is killed next; each has its turn in every three. */
  readonly next: number
  /** The first server, for setting up what is needed. */
  readonly app: TestApp
  /** The same caller at one of the servers, wherever that runs now. */
  at(server: number, caller: Api): Api
  /** SIGKILL. Who was killed starts again meanwhile; before everybody could be away it is waited for. */
  strike(): Promise<void>
  /** Everybody who was killed has started again. */
  whole(): Promise<void>
  close(): Promise<void>
}

export async function startFleet(databaseUrl: string, env: Record<string, string> = {}): Promise<Fleet> {
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    ALLOW_PRIVATE_NETWORKS: 'true',
    LOG_LEVEL: 'fatal',
    ...env,
  }
  const first = await startProcess(settings, core)
  const { PORT: _, IDP_PORT: __, WORKER_PORT: ___, ...shared } = first.env
  const processes = [first, ...(await Promise.all([startProcess(shared, core), startProcess(shared, worker)]))]
  const starting: Promise<void>[] = []
  const kills = [0, 0, 0]
  let turn = 0
  const restart = async (which: number) => {
    processes[which] = await startProcess(processes[which]!.env, which === WORKER ? worker : core)
  }
  const whole = async () => void (await Promise.all(starting))
  const fleet: Fleet = {
    processes,
    kills,
    get next() {
      return (turn + WORKER) % 3
    },
    app: first as unknown as TestApp,
    at(server, { authorization }) {
      const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
      return apiAs(`http://127.0.0.1:${processes[server]!.env['PORT']}`, { id, secret: rest.join(':') })
    },
    async strike() {
      const which = fleet.next
      const victim = processes[which]!
      victim.child.kill('SIGKILL')
      kills[which]! += 1
      await victim.ended
      starting.push(restart(which))
      if (turn % 2 === 1) await whole()
      turn += 1
    },
    whole,
    async close() {
      await Promise.allSettled(starting)
      await Promise.all(processes.map((process) => endProcess(process, 'SIGKILL')))
    },
  }
  return fleet
}
