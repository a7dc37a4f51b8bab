/** BEGIN and COMMIT travel with statements; what that changes for who writes, and what it must not. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type pg from 'pg'
import { openDatabase, type Tools } from '../../src/platform/database.js'
import { TransactionConnection } from '../../src/platform/transaction-connection.js'
import { createTestDatabase } from '../setup/database.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let tools: Tools
let client: pg.PoolClient
let answers = 0
beforeAll(async () => {
  database = await createTestDatabase()
  tools = openDatabase(database.url, { connections: 3 })
  client = await tools.pool.connect()
  await client.query('CREATE TABLE kept (id int PRIMARY KEY, word text)')
  // Whatever a flight holds, the server ends it with one of these.
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
  connection.on('readyForQuery', () => answers++)
})
afterAll(async () => {
  client.release()
  await tools.close()
  await database.drop()
})

/** A transaction from its beginning, on a connection that has prepared BEGIN and COMMIT. */
const begin = () => {
  const transaction = new TransactionConnection(client)
  void transaction.query({ text: 'BEGIN' })
  return transaction
}
const insert = (id: number) => ({ name: 'insert', text: 'INSERT INTO kept VALUES ($1) RETURNING id', values: [id] })
const kept = async () =>
  (await tools.pool.query<{ id: number }>('SELECT id FROM kept ORDER BY id')).rows.map(({ id }) => id)
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
  answers = 0
})
afterEach(async () => expect(await status()).toBe('I'))

test('BEGIN goes out with the first statement, COMMIT with the last one', async () => {
  const transaction = begin()
  expect((await transaction.query(insert(1))).rows).toEqual([{ id: 1 }])
  await transaction.query({ text: "INSERT INTO kept VALUES (2, 'without values')" })
  expect(await kept()).toEqual([])
  expect(await transaction.commit(insert(3))).toEqual([{ id: 3 }])
  expect(answers).toBe(3)
  expect(await kept()).toEqual([1, 2, 3])
  await transaction.query({ text: 'COMMIT' })
  expect(answers).toBe(3)
})

test('all of a transaction may be one flight, and nothing is sent for one that does nothing', async () => {
  expect(await begin().commit(insert(1))).toEqual([{ id: 1 }])
  expect(answers).toBe(1)
  expect(await kept()).toEqual([1])
  for (const text of ['COMMIT', 'ROLLBACK']) await begin().query({ text })
  expect(answers).toBe(1)
})

test('a connection that is new learns BEGIN and COMMIT with its first transaction', async () => {
  const fresh = await tools.pool.connect()
  for (const id of [1, 2]) {
    const transaction = new TransactionConnection(fresh)
    await transaction.query(insert(id))
    await transaction.commit(insert(id + 10))
  }
  fresh.release()
  expect(await kept()).toEqual([1, 2, 11, 12])
})

test('a first statement that fails is rolled back, and nothing may follow it', async () => {
  const transaction = begin()
  await expect(transaction.query({ text: 'INSERT INTO kept VALUES ($1, $2)', values: [1, null, 3] })).rejects.toThrow()
  await expect(transaction.query(insert(2))).rejects.toThrow()
  await expect(transaction.commit(insert(3))).rejects.toThrow()
  await transaction.query({ text: 'ROLLBACK' })
  expect(await kept()).toEqual([])
})

test('a statement whose BEGIN fails does nothing, nor do those that follow or were sent at once; so before a COMMIT that fails', async () => {
  const own = await tools.pool.connect()
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
  const atOnce = [transaction.query(insert(3)), transaction.query(insert(4))]
  for (const one of await Promise.allSettled(atOnce)) expect(one).toMatchObject({ reason: { code: '26000' } })
  await expect(transaction.query(insert(5))).rejects.toMatchObject({ code: '26000' })
  await transaction.query({ text: 'ROLLBACK' })
  own.release(true)
  expect(await kept()).toEqual([1])
})

test('a last statement that fails commits nothing', async () => {
  const failed = begin()
  await failed.query(insert(1))
  await expect(failed.commit(insert(1))).rejects.toMatchObject({ code: '23505' })
  await failed.query({ text: 'ROLLBACK' })
  expect(await kept()).toEqual([])
})

test('who swallows the error of a statement is not told that it has been committed', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  await transaction.query(insert(1)).catch(() => undefined)
  await expect(transaction.commit()).rejects.toThrow('nothing was committed')
  expect(await kept()).toEqual([])
})

test('nor does what was on its way when it was ended', async () => {
  for (const prepared of [true, false]) {
    const own = prepared ? client : await tools.pool.connect()
    const transaction = new TransactionConnection(own)
    const statements = [transaction.query(insert(1)), transaction.query(insert(2)), transaction.commit(insert(3))]
    const end = transaction.query({ text: 'ROLLBACK' })
    await Promise.allSettled([...statements, end])
    if (!prepared) own.release(true)
    expect(await kept()).toEqual([])
  }
})

test('a transaction that commits takes nothing more, and it stands however it is ended then', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  const commit = transaction.commit(insert(2))
  await expect(transaction.query(insert(3))).rejects.toMatchObject({ code: 'unavailable' })
  await transaction.query({ text: 'ROLLBACK' })
  expect(await commit).toEqual([{ id: 2 }])
  await transaction.query({ text: 'COMMIT' })
  expect(await kept()).toEqual([1, 2])
})

test('a transaction that was ended is not told that it has been committed', async () => {
  const transaction = begin()
  await transaction.query(insert(1))
  await transaction.query({ text: 'ROLLBACK' })
  await expect(transaction.query({ text: 'COMMIT' })).rejects.toMatchObject({ code: 'unavailable' })
})

test('a transaction that was ended under the hands of who works in it writes nothing more', async () => {
  for (const late of [
    (it: TransactionConnection) => it.query(insert(2)),
    (it: TransactionConnection) => it.commit(insert(2)),
  ]) {
    const transaction = begin()
    await transaction.query(insert(1))
    await transaction.query({ text: 'ROLLBACK' })
    await expect(late(transaction)).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect(await kept()).toEqual([])
})
