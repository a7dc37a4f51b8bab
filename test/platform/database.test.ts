/** What the database's side of a process does when the server falls silent (security rule 24). */
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openDatabase, type Tools } from '../../src/platform/database.js'
import { createTestDatabase } from '../setup/database.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let tools: Tools
/** Server's answers get through; without it connections stay open and nothing comes, as of a frozen machine. */
let speaks = true
const sockets = new Set<Socket>()
const way = createServer((near) => {
  const { hostname, port, searchParams } = new URL(database.url)
  const folder = searchParams.get('host')
  const far = folder ? connect(`${folder}/.s.PGSQL.${port || 5432}`) : connect(Number(port || 5432), hostname)
  for (const socket of [near, far]) {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      near.destroy()
      far.destroy()
    })
  }
  near.pipe(far)
  far.on('data', (chunk) => speaks && near.write(chunk))
})

beforeAll(async () => {
  database = await createTestDatabase()
  await new Promise<void>((done) => way.listen(0, '127.0.0.1', done))
  const { username, password, pathname } = new URL(database.url)
  const { port } = way.address() as { port: number }
  tools = openDatabase(`postgres://${username}:${password}@127.0.0.1:${port}${pathname}`, {
    connections: 1,
    silence: 300,
  })
})
afterAll(async () => {
  await tools.close()
  for (const socket of sockets) socket.destroy()
  way.close()
  await database.drop()
})

const pid = async () => (await tools.query<{ pid: number }>('pid', 'SELECT pg_backend_pid() AS pid', []))[0]!.pid

test('a server that says nothing any more is 503, not a wait without end; its connection is not used again', async () => {
  const before = await pid()
  speaks = false
  await expect(pid()).rejects.toMatchObject({ code: 'unavailable' })
  speaks = true
  expect(await pid()).not.toBe(before)
})

test('so in the middle of a transaction, which leaves nothing behind on the connection of the next one', async () => {
  const { prisma } = tools
  const half = prisma.$transaction(async (db) => {
    await db.$executeRawUnsafe('CREATE TABLE half_done ()')
    speaks = false
    await db.$executeRawUnsafe('SELECT 1')
  })
  await expect(half).rejects.toThrow()
  speaks = true
  expect(await tools.query('there', "SELECT to_regclass('half_done') AS found", [])).toEqual([{ found: null }])
})

test('a connection that only waits for work stays', async () => {
  const before = await pid()
  await new Promise((go) => setTimeout(go, 700))
  expect(await pid()).toBe(before)
})
