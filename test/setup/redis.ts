/**
 * A Redis server for rate limits: redis-server or valkey-server if one is in PATH, otherwise a fake server that
 * supports the Redis protocol (RESP) and the one script that Gatehouse runs.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import { freePorts } from './start-app.js'
import { waitUntil } from './wait-until.js'

export interface TestRedis {
  url: string
  /** Returns how often the script that takes a batch of rate-limit tokens has run. */
  batchCount(): Promise<number>
  /** Stops the server and discards its data. */
  stop(): Promise<void>
  start(): Promise<void>
}

const serverProgram = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)

export async function startRedis(): Promise<TestRedis> {
  const [port] = await freePorts(1)
  const redis = serverProgram ? runRealServer(serverProgram, port!) : createFakeServer(port!)
  await redis.start()
  return { url: `redis://127.0.0.1:${port}`, ...redis }
}

type Server = Omit<TestRedis, 'url'>

function runRealServer(path: string, port: number): Server {
  let child: ChildProcess | undefined
  const cli = (...args: string[]) =>
    spawnSync(path.replace('-server', '-cli'), ['-p', String(port), ...args], { encoding: 'utf8' }).stdout
  return {
    async start() {
      child = spawn(path, ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], { stdio: 'ignore' })
      await waitUntil('the Redis server responds', () => cli('ping').includes('PONG'))
    },
    async stop() {
      const ended = new Promise((done) => child?.once('exit', done))
      child?.kill('SIGKILL')
      await ended
    },
    batchCount: async () => {
      const calls = [
        ...cli('info', 'commandstats').matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+).*?failed_calls=(\d+)/g),
      ]
      return calls.reduce((sum, [, count, failed]) => sum + Number(count) - Number(failed), 0)
    },
  }
}

function createFakeServer(port: number): Server {
  const buckets = new Map<string, { tokens: number; at: number }>()
  const sockets = new Set<Socket>()
  let isScriptLoaded = false
  let batchCount = 0

  const takeBatch = (key: string, [quota = 0, maxBatch = 0, now = 0, rate = 0]: number[]): string => {
    const old = buckets.get(key) ?? { tokens: quota, at: now }
    const tokens = Math.min(quota, old.tokens + Math.max(now - old.at, 0) * rate)
    const batch = tokens >= 1 ? Math.min(maxBatch, Math.max(1, Math.floor(tokens / 25))) : 0
    buckets.set(key, { tokens: tokens - batch, at: Math.max(now, old.at) })
    batchCount++
    const text = String(tokens - batch)
    return `*2\r\n$${text.length}\r\n${text}\r\n:${batch}\r\n`
  }
  const respond = ([command = '', first = '', , key = '', ...values]: string[]): string => {
    const name = command.toLowerCase()
    if (name === 'hello') return '%1\r\n+proto\r\n:3\r\n'
    if (name === 'ping') return '+PONG\r\n'
    if (name === 'eval' && first.includes("redis.call('HSET'")) isScriptLoaded = true
    else if (name === 'evalsha') {
      if (!isScriptLoaded) return '-NOSCRIPT No matching script.\r\n'
    } else return '-ERR unknown command\r\n'
    return takeBatch(key, values.map(Number))
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      for (let found = parseCommand(text); found; found = parseCommand(text)) {
        text = text.slice(found.length)
        socket.write(respond(found.args))
      }
    })
  })
  return {
    start: () => new Promise((done) => void server.listen(port, '127.0.0.1', done)),
    async stop() {
      buckets.clear()
      isScriptLoaded = false
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
    batchCount: async () => batchCount,
  }
}

/**
 * Parses the first command of a RESP text, an array of bulk strings. Undefined if the command is not complete yet.
 * `length` is the number of characters of the command.
 */
function parseCommand(text: string): { args: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (!head) return undefined
  const args: string[] = []
  let at = head[0].length
  while (args.length < Number(head[1])) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at))
    if (!size) return undefined
    const from = at + size[0].length
    const to = from + Number(size[1])
    if (text.length < to + 2) return undefined
    args.push(text.slice(from, to))
    at = to + 2
  }
  return { args, length: at }
}
