/** Transactions that send BEGIN with the first statement and COMMIT with the last one. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type pg from 'pg'
import { type DatabaseHandle, openDatabase } from '../../src/platform/postgres/database.js'
import { TransactionConnection } from '../../src/platform/postgres/transaction-connection.js'
import { createTestDatabase } from '../setup/database.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let handle: DatabaseHandle
let client: pg.PoolClient
/** Number of pipelines to which the server has responded. */
let pipelineCount = 0
beforeAll(async () => {
  database = await createTestDatabase()
  handle = openDatabase(database.url, { connections: 3 })
  client = await handle.pool.connect()
  await client.query('CREATE TABLE kept (id int PRIMARY KEY, word text)')
  // The server sends one ReadyForQuery message after each pipeline.
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
  connection.on('readyForQuery', () => pipelineCount++)
})
afterAll(async () => {
  client.release()
  await handle.close()
  await database.drop()
})

/** Starts a transaction on a connection that has prepared BEGIN and COMMIT. */
const begin = () => {
  const transaction = new TransactionConnection(client)
  void transaction.query({ text: 'BEGIN' })
  return transaction
}
const insert = (id: number) => ({ name: 'insert', text: 'INSERT INTO kept VALUES ($1) RETURNING id', values: [id] })
const kept = async () =>
  (await handle.pool.query<{ id: number }>('SELECT id FROM kept ORDER BY id')).rows.map(({ id }) => id)
const status = async () => {
  await client.query('SELECT 1')
  return client.getTransactionStatus()
}

beforeEach(async () => {
  await client.query('TRUNCATE kept')
  const first = begin()
  await first.query(insert(1))
  await first.commit()
  await client.query('TRUNCATE kept')
  pipelineCount = 0
})
afterEach(async () => expect(await status()).toBe('I'))

test('BEGIN is sent with the first statement, and COMMIT with the last one', async () => {
  const transaction = begin()
  expect((await transaction.query(insert(1))).rows).toEqual([{ id: 1 }])
  await transaction.query({ text: "INSERT INTO kept VALUES (2, 'without values')" })
  expect(await kept()).toEqual([])
  expect(await transaction.commit(insert(3))).toEqual([{ id: 3 }])
  expect(pipelineCount).toBe(3)
  expect(await kept()).toEqual([1, 2, 3])
  await transaction.query({ text: 'COMMIT' })
  expect(pipelineCount).toBe(3)
})

test('a transaction with one statement is one round trip, and an empty transaction sends nothing', async () => {
  expect(await begin().commit(insert(1))).toEqual([{ id: 1 }])
  expect(pipelineCount).toBe(1)
  expect(await kept()).toEqual([1])
  for (const text of ['COMMIT', 'ROLLBACK']) await begin().query({ text })
  expect(pipelineCount).toBe(1)
})

test('a new connection prepares BEGIN and COMMIT in its first transaction', async () => {
  const newConnection = await handle.pool.connect()
  for (const id of [1, 2]) {
    const transaction = new TransactionConnection(newConnection)
    await transaction.query(insert(id))
    await transaction.commit(insert(id + 10))
  }
  newConnection.release()
  expect(await kept()).toEqual([1, 2, 11, 12])
})

test('after a failed first statement the transaction rejects further statements and rolls back', async () => {
  const transaction = begin()
  await expect(transaction.query({ text: 'INSERT INTO kept VALUES ($1, $2)', values: [1, null, 3] })).rejects.toThrow()
  await expect(transaction.query(insert(2))).rejects.toThrow()
  await expect(transaction.commit(insert(3))).rejects.toThrow()
  await transaction.query({ text: 'ROLLBACK' })
  expect(await kept()).toEqual([])
})

test('statements have no effect when BEGIN or COMMIT fails', async () => {
  const own = await handle.pool.connect()
  const once = new TransactionConnection(own)
  await once.query(insert(1))
  await once.commit()

  await own.query('DEALLOCATE commit')
  const unfinished = new TransactionConnection(own)
  await expect(unfinished.commit(insert(2))).rejects.toMatchObject({ code: '26000' })
  await unfinished.query({ text: 'ROLLBACK' })
  expect(await kept()).toEqual([1])

  await own.query('DEALLOCATE begin')
  const transaction = new TransactionConnection(own)
  const concurrent = [transaction.query(insert(3)), transaction.query(insert(4))]
  for (const result of await Promise.allSettled(concurrent)) expect(result).toMatchObject({ reason: { code: '26000' } })
  await expect(transaction.query(insert(5))).rejects.toMatchObject({ code: '26000' })
  await transaction.query({ text: 'ROLLBACK' })
  own.release(true)
  expect(await kept()).toEqual([1])
})

test('a failed last statement rolls back the transaction', async () => {
  const failed = begin()
  await failed.query(insert(1))
  await expect(failed.commit(insert(1))).rejects.toMatchObject({ code: '23505' })
  await failed.query({ text: 'ROLLBACK' })
  expect(await kept()).toEqual([])
})

test('commit fails if the error of a statement was ignored', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  await transaction.query(insert(1)).catch(() => undefined)
  await expect(transaction.commit()).rejects.toThrow('was rolled back')
  expect(await kept()).toEqual([])
})

test('statements in flight during a rollback are not committed', async () => {
  for (const prepared of [true, false]) {
    const own = prepared ? client : await handle.pool.connect()
    const transaction = new TransactionConnection(own)
    const statements = [transaction.query(insert(1)), transaction.query(insert(2)), transaction.commit(insert(3))]
    const end = transaction.query({ text: 'ROLLBACK' })
    await Promise.allSettled([...statements, end])
    if (!prepared) own.release(true)
    expect(await kept()).toEqual([])
  }
})

test('a committing transaction rejects further statements, and a later rollback has no effect', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  const commit = transaction.commit(insert(2))
  await expect(transaction.query(insert(3))).rejects.toMatchObject({ code: 'unavailable' })
  await transaction.query({ text: 'ROLLBACK' })
  expect(await commit).toEqual([{ id: 2 }])
  await transaction.query({ text: 'COMMIT' })
  expect(await kept()).toEqual([1, 2])
})

test('commit fails after a rollback', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  await transaction.query({ text: 'ROLLBACK' })
  await expect(transaction.query({ text: 'COMMIT' })).rejects.toMatchObject({ code: 'unavailable' })
})

test('a rolled back transaction rejects further statements', async () => {
  for (const lateCall of [
    (ended: TransactionConnection) => ended.query(insert(2)),
    (ended: TransactionConnection) => ended.commit(insert(2)),
  ]) {
    const transaction = begin()
    await transaction.query(insert(1))
    await transaction.query({ text: 'ROLLBACK' })
    await expect(lateCall(transaction)).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect(await kept()).toEqual([])
})
