/**
 * A Redis server: the real one where the machine has one (redis-server or valkey-server in PATH), otherwise one that
 * speaks its protocol on a real socket and knows the one script that we send by what it is to do.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './start-app.js'

export interface TestRedis {
  url: string
  /** How many portions were taken. */
  taken(): Promise<number>
  /** It goes away, with everything it knows. */
  stop(): Promise<void>
  start(): Promise<void>
}

const program = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)

export async function startRedis(): Promise<TestRedis> {
  const [port] = await freePorts(1)
  const redis = program ? realServer(program, port!) : standIn(port!)
  await redis.start()
  return { url: `redis://127.0.0.1:${port}`, ...redis }
}

type Server = Omit<TestRedis, 'url'>

function realServer(path: string, port: number): Server {
  let child: ChildProcess | undefined
  const cli = (...words: string[]) =>
    spawnSync(path.replace('-server', '-cli'), ['-p', String(port), ...words], { encoding: 'utf8' }).stdout
  return {
    async start() {
      child = spawn(path, ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], { stdio: 'ignore' })
      while (!cli('ping').includes('PONG')) await sleep(20)
    },
    async stop() {
      const ended = new Promise((done) => child?.once('exit', done))
      child?.kill('SIGKILL')
      await ended
    },
    taken: async () => {
      const calls = [
        ...cli('info', 'commandstats').matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+).*?failed_calls=(\d+)/g),
      ]
      return calls.reduce((sum, [, count, failed]) => sum + Number(count) - Number(failed), 0)
    },
  }
}

function standIn(port: number): Server {
  const buckets = new Map<string, { tokens: number; at: number }>()
  const sockets = new Set<Socket>()
  let known = false
  let taken = 0

  const run = (key: string, [quota = 0, largest = 0, now = 0, rate = 0]: number[]): string => {
    const old = buckets.get(key) ?? { tokens: quota, at: now }
    const tokens = Math.min(quota, old.tokens + Math.max(now - old.at, 0) * rate)
    const portion = tokens >= 1 ? Math.min(largest, Math.max(1, Math.floor(tokens / 25))) : 0
    buckets.set(key, { tokens: tokens - portion, at: Math.max(now, old.at) })
    taken++
    const text = String(tokens - portion)
    return `*2\r\n$${text.length}\r\n${text}\r\n:${portion}\r\n`
  }
  const answer = ([command = '', first = '', , key = '', ...values]: string[]): string => {
    const name = command.toLowerCase()
    if (name === 'hello') return '%1\r\n+proto\r\n:3\r\n'
    if (name === 'ping') return '+PONG\r\n'
    if (name === 'eval' && first.includes("redis.call('HSET'")) known = true
    else if (name === 'evalsha') {
      if (!known) return '-NOSCRIPT No matching script.\r\n'
    } else return '-ERR unknown command\r\n'
    return run(key, values.map(Number))
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      for (let found = commandIn(text); found; found = commandIn(text)) {
        text = text.slice(found.length)
        socket.write(answer(found.words))
      }
    })
  })
  return {
    start: () => new Promise((done) => void server.listen(port, '127.0.0.1', done)),
    async stop() {
      buckets.clear()
      known = false
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
    taken: async () => taken,
  }
}

/** The first whole command of a text in RESP (an array of bulk strings). */
function commandIn(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (!head) return undefined
  const words: string[] = []
  let at = head[0].length
  while (words.length < Number(head[1])) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at))
    if (!size) return undefined
    const from = at + size[0].length
    const to = from + Number(size[1])
    if (text.length < to + 2) return undefined
    words.push(text.slice(from, to))
    at = to + 2
  }
  return { words, length: at }
}
