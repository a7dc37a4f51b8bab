/** The log contains no personal data (docs/contract.md#secrets-in-logs-and-events). */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { errorSummary, systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { openLog } from '../../src/platform/log.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const VALUE = 'zq7kanari'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ roles: [] })
  await app.gatehouse.database.pool.query('CREATE TABLE people (name TEXT UNIQUE CHECK (length(name) < 99), age INT)')
})
afterAll(() => app.close())

/** Logs an error and returns the text of the log. */
function logged(error: unknown): string {
  const lines: string[] = []
  const stream = new PassThrough()
  stream.on('data', (line) => lines.push(String(line)))
  openLog('trace', stream).error({ err: error }, 'failed')
  return lines.join('')
}

const failureOf = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => {
      throw new Error('The work did not fail.')
    },
    (error: unknown) => error,
  )

describe('a database error is logged with its code and without row values', () => {
  const insert = 'INSERT INTO people (name) VALUES ($1)'
  const name = `${VALUE}-name`
  const driver = (text: string, values: unknown[]) => app.gatehouse.database.pool.query(text, values)
  const prisma = (text: string, values: unknown[]) => app.gatehouse.database.prisma.$queryRawUnsafe(text, ...values)
  test.each([
    ['a unique index', '23505', insert, [name]],
    ['a check', '23514', insert, [VALUE.repeat(20)]],
    ['a number', '22P02', 'SELECT $1::text::int', [VALUE]],
    ['JSON', '22P02', 'SELECT $1::text::jsonb', [`{"a": ${VALUE}`]],
    ['a time', '22007', 'SELECT $1::text::timestamptz', [VALUE]],
  ])('%s', async (_, code, text, values) => {
    await driver('INSERT INTO people (name) VALUES ($1) ON CONFLICT DO NOTHING', [name])
    for (const run of [driver, prisma]) {
      const error = await failureOf(() => run(text, values))
      expect(logged(error)).toContain(code)
      expect(logged(error)).toContain('"stack":"    at ')
      expect(logged(error)).not.toContain(VALUE)
      expect(errorSummary(error)).not.toContain(VALUE)
    }
  })

  test('an invalid Prisma query, also as the cause of another error', async () => {
    const { db } = systemContext(app.gatehouse)
    const error = await failureOf(() => db.user.create({ data: { username: VALUE, profile: { a: VALUE } } as never }))
    expect(logged(error)).not.toContain(VALUE)
    expect(logged(new Error('it failed', { cause: error }))).not.toContain(VALUE)
  })
})

test('the response of a mail server is logged without the address', () => {
  const response = `550 5.1.1 <${VALUE}@example.com>: Recipient address rejected`
  const more = { code: 'EENVELOPE', responseCode: 550, response, rejected: [`${VALUE}@example.com`] }
  const error = Object.assign(new Error(`Can't send mail - all recipients were rejected: ${response}`), more)
  expect(logged(error)).toContain('550 5.1.1 <[address]>: Recipient address rejected')
  expect(logged(error)).not.toContain(VALUE)
})
