/**
 * Measures the speed and the memory of a user import with the command line. The embedded PostgreSQL runs on the same
 * machine, so the import and PostgreSQL share its processors. Option: `--users 100000`.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createFolder, removeFolder, startServer } from './server.js'

const cli = fileURLToPath(new URL('../src/cli.js', import.meta.url))

export async function bench(options: string[]): Promise<Record<string, unknown>[]> {
  const { values } = parseArgs({ args: options, options: { users: { type: 'string', default: '100000' } } })
  const folder = createFolder()
  const server = await startServer(folder)
  try {
    const post = async (path: string, body: object) => {
      const headers = { authorization: server.authorization, 'content-type': 'application/json' }
      const answer = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as { data: { id: string } }
    }
    const { data } = (await (
      await fetch(`${server.baseUrl}/v1/accounts`, { headers: { authorization: server.authorization } })
    ).json()) as { data: { id: string }[] }
    const issuer = await post(`/v1/accounts/${data[0]!.id}/issuers`, { name: 'Imported' })
    const file = join(folder, 'users.ndjson')
    await writeUsers(file, Number(values.users))
    const rows: Record<string, unknown>[] = []
    for (const words of [['--dry-run'], [], []]) {
      const runName: string = rows.length === 2 ? 'again (all known)' : words.length > 0 ? 'dry run' : 'import'
      rows.push({ run: runName, ...(await runImport([file, '--issuer', issuer.data.id, ...words], folder)) })
    }
    return rows.map((row) => ({ ...row, file_mb: Math.round(statSync(file).size / 1e6) }))
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

/**
 * Writes a file with lines as Auth0 exports them. The bcrypt hashes match no password; the import does not verify them.
 */
async function writeUsers(file: string, count: number): Promise<void> {
  const stream = createWriteStream(file)
  const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  for (let n = 0; n < count; n++) {
    const hash = [...randomBytes(53)].map((byte) => alphabet[byte % 64]).join('')
    const line = {
      _id: { $oid: n.toString(16).padStart(24, '0') },
      email_verified: n % 3 > 0,
      email: `person.${n}@example.com`,
      passwordHash: `$2b$10$${hash}`,
      password_set_date: { $date: '2024-05-01T12:00:00.000Z' },
      tenant: 'acme',
      connection: 'Username-Password-Authentication',
      name: `Person ${n}`,
      given_name: 'Person',
      family_name: String(n),
      user_metadata: { plan: 'free', number: n },
    }
    if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain')
  }
  await new Promise<void>((done) => void stream.end(() => done()))
}

/** Returns the CPU seconds of the embedded PostgreSQL: of its main process and of its running and ended backends. */
function databaseCpuSeconds(dataDir: string): number {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').map(Number)
        return [{ pid: Number(pid), parent: fields[1]!, fields, folder: readlinkSync(`/proc/${pid}/cwd`) }]
      } catch {
        return []
      }
    })
  // The working directory of the main process and of its backends is below the data folder. The main process is the
  // parent of the backends.
  const databaseProcesses = stats.filter(({ folder }) => folder.startsWith(dataDir))
  const server = databaseProcesses.find(({ parent }) => !databaseProcesses.some(({ pid }) => pid === parent))
  if (!server) return 0
  const own = stats.filter(({ parent }) => parent === server.pid).map(({ fields }) => fields[11]! + fields[12]!)
  return [...own, ...server.fields.slice(11, 15)].reduce((sum, ticks) => sum + ticks, 0) / 100
}

async function runImport(args: string[], dataDir: string): Promise<Record<string, unknown>> {
  const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir }
  const before = databaseCpuSeconds(dataDir)
  const began = performance.now()
  // The heap is too small for all users, so the import fails if its memory grows with the size of the file.
  const child = spawn(process.execPath, ['--max-old-space-size=96', cli, 'users', 'import', ...args, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  let memory = 0
  let cpu = 0
  const sampleProcess = async (): Promise<void> => {
    while (child.exitCode === null) {
      try {
        memory = Math.max(
          memory,
          Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
        )
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
        cpu = (Number(fields[11]) + Number(fields[12])) / 100
      } catch {
        return
      }
      await sleep(50)
    }
  }
  await Promise.all([once(child, 'close'), sampleProcess()])
  const seconds = (performance.now() - began) / 1000
  const { read, imported, known, refused } = JSON.parse(out)
  return {
    read,
    imported,
    known,
    refused,
    seconds: seconds.toFixed(1),
    node_cpu_s: cpu.toFixed(1),
    database_cpu_s: (databaseCpuSeconds(dataDir) - before).toFixed(1),
    peak_mb: Math.round(memory),
  }
}
