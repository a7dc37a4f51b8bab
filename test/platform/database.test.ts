/** Connections to a database server that does not respond (docs/contract.md#timeouts-and-unavailability). */
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type DatabaseHandle, openDatabase } from '../../src/platform/postgres/database.js'
import { createTestDatabase } from '../setup/database.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let handle: DatabaseHandle
/** If false, the proxy forwards no responses but keeps connections open, as with a frozen server. */
let forwardsResponses = true
const sockets = new Set<Socket>()
const proxy = createServer((clientSocket) => {
  const { hostname, port, searchParams } = new URL(database.url)
  const folder = searchParams.get('host')
  const serverSocket = folder ? connect(`${folder}/.s.PGSQL.${port || 5432}`) : connect(Number(port || 5432), hostname)
  for (const socket of [clientSocket, serverSocket]) {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clientSocket.destroy()
      serverSocket.destroy()
    })
  }
  clientSocket.pipe(serverSocket)
  serverSocket.on('data', (chunk) => forwardsResponses && clientSocket.write(chunk))
})

beforeAll(async () => {
  database = await createTestDatabase()
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const { username, password, pathname } = new URL(database.url)
  const { port } = proxy.address() as { port: number }
  handle = openDatabase(`postgres://${username}:${password}@127.0.0.1:${port}${pathname}`, {
    connections: 1,
    silence: 300,
  })
})
afterAll(async () => {
  await handle.close()
  for (const socket of sockets) socket.destroy()
  proxy.close()
  await database.drop()
})

const pid = async () => (await handle.query<{ pid: number }>('pid', 'SELECT pg_backend_pid() AS pid', []))[0]!.pid

test('a query fails as unavailable when the server does not respond, and the connection is not reused', async () => {
  const before = await pid()
  forwardsResponses = false
  await expect(pid()).rejects.toMatchObject({ code: 'unavailable' })
  forwardsResponses = true
  expect(await pid()).not.toBe(before)
})

test('a transaction fails when the server does not respond, and its changes are not committed', async () => {
  const { prisma } = handle
  const transaction = prisma.$transaction(async (db) => {
    await db.$executeRawUnsafe('CREATE TABLE half_done ()')
    forwardsResponses = false
    await db.$executeRawUnsafe('SELECT 1')
  })
  await expect(transaction).rejects.toThrow()
  forwardsResponses = true
  expect(await handle.query('there', "SELECT to_regclass('half_done') AS found", [])).toEqual([{ found: null }])
})

test('an idle connection is not closed', async () => {
  const before = await pid()
  // More than twice `silence`, after which a connection with a running statement counts as broken.
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(await pid()).toBe(before)
})
