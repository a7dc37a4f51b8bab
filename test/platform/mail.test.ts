/** Mail delivery to an SMTP server: after the commit, at least once, and not after the message has expired. */
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { SMTPServer } from 'smtp-server'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { enqueueMail } from '../../src/platform/mail/mail.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

interface Received {
  from: string
  to: string[]
  raw: string
}

let server: SMTPServer
let app: TestApp
const received: Received[] = []
/** Number of the next messages that the server refuses with a temporary error. */
let refusals = 0

beforeAll(async () => {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _, done) =>
      username === 'mailer' && password === 'p@ss word' ? done(null, { user: username }) : done(new Error('no')),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (refusals-- > 0) return done(Object.assign(new Error('try later'), { responseCode: 451 }))
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('utf8'),
        })
        done()
      })
    },
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()))
  const { port } = server.server.address() as AddressInfo
  app = await startApp({
    roles: ['worker'],
    env: {
      MAIL_URL: `smtp://mailer:${encodeURIComponent('p@ss word')}@127.0.0.1:${port}`,
      MAIL_FROM: 'Gatehouse <no-reply@id.example.com>',
    },
  })
})
afterAll(async () => {
  await app?.close()
  await new Promise<void>((done) => server.close(() => done()))
})
beforeEach(() => {
  received.length = 0
  refusals = 0
})

const mail = (to: string) => ({ to, subject: 'Grüße', text: 'Der Code: 123456', html: '<p>Der Code: 123456</p>' })
/** @param lifetime milliseconds until the message expires */
const queue = (to: string, lifetime?: number) =>
  transaction(systemContext(app.gatehouse), (tx) => enqueueMail(tx, mail(to), lifetime))
const queuedJobCount = () => app.gatehouse.database.prisma.job.count({ where: { task: 'mail' } })

const waitForEmptyQueue = () => waitUntil('the mail queue is empty', async () => (await queuedJobCount()) === 0)

/** Waits until one message has failed once and is scheduled for a retry. */
const waitForRefusedMessage = () =>
  waitUntil('one message waits for its second attempt', async () => {
    const soon = BigInt(app.clock.now() + 30_000)
    return (await app.gatehouse.database.prisma.job.count({ where: { attempts: 1, runAt: { lt: soon } } })) === 1
  })

test('a message is sent as text and HTML from MAIL_FROM and removed from the queue', async () => {
  await queue('ada@example.com')
  await waitForEmptyQueue()
  expect(received).toHaveLength(1)
  const [{ from, to, raw }] = received as [Received]
  expect({ from, to }).toEqual({ from: 'no-reply@id.example.com', to: ['ada@example.com'] })
  expect(raw).toMatch(/^Content-Type: multipart\/alternative/m)
  expect(raw).toMatch(/^Message-ID: <mail_[0-9a-z]{26}@127\.0\.0\.1>/im)
  expect(raw).toContain('=?UTF-8?')
})

test('a rolled back transaction sends no mail', async () => {
  const failed = transaction(systemContext(app.gatehouse), async (tx) => {
    await enqueueMail(tx, mail('never@example.com'))
    throw new Error('undone')
  })
  await expect(failed).rejects.toThrow('undone')
  await queue('after@example.com')
  await waitUntil('a message has arrived', () => received.length === 1)
  expect(received[0]!.to).toEqual(['after@example.com'])
})

test('a refused message is sent again, but not after it has expired', async () => {
  refusals = 1
  await queue('again@example.com')
  await waitForRefusedMessage()
  app.clock.advance(6000)
  await queue('other@example.com')
  await waitForEmptyQueue()
  expect(received.map(({ to }) => to[0]).sort()).toEqual(['again@example.com', 'other@example.com'])

  received.length = 0
  refusals = 1
  await queue('late@example.com', 10_000)
  await waitForRefusedMessage()
  app.clock.advance(11_000)
  await queue('kick@example.com')
  await waitForEmptyQueue()
  expect(received.map(({ to }) => to[0])).toEqual(['kick@example.com'])
})

test('another process sends the message of a crashed process', async () => {
  const { prisma } = app.gatehouse.database
  const now = app.clock.now()
  const encrypted = app.gatehouse.encryptor.encrypt(JSON.stringify(mail('orphan@example.com')))
  const payload = { id: 'mail_orphan', encrypted, expiresAt: now + 3_600_000 }
  const row = { id: 'job_orphan', task: 'mail', payload, attempts: 1, runAt: now + 60_000, createdAt: now }
  await prisma.job.create({ data: row })
  app.clock.advance(61_000)
  await queue('kick@example.com')
  await waitForEmptyQueue()
  expect(received.map(({ to }) => to[0]).sort()).toEqual(['kick@example.com', 'orphan@example.com'])
})

test('a message with an empty recipient is not sent', async () => {
  await queue('')
  await queue('grace@example.com')
  await waitForEmptyQueue()
  expect(received.map(({ to }) => to[0])).toEqual(['grace@example.com'])
})

test('queued messages are encrypted', async () => {
  refusals = 1
  await queue('secret@example.com')
  await waitForRefusedMessage()
  const [row] = await app.gatehouse.database.prisma.job.findMany()
  expect(JSON.stringify(row!.payload)).not.toMatch(/123456|secret@/)
})
