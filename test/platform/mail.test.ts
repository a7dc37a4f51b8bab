/** Mail goes out through a real SMTP server: after the transaction, at least once, never after its time. */
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { SMTPServer } from 'smtp-server'
import { transaction } from '../../src/platform/database.js'
import { systemContext } from '../../src/platform/jobs.js'
import { queueMail } from '../../src/platform/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'

interface Received {
  from: string
  to: string[]
  raw: string
}

let server: SMTPServer
let app: TestApp
const received: Received[] = []
/** How many of the next messages the server turns away for now. */
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
const queue = (to: string, life?: number) =>
  transaction(systemContext(app.gatehouse), (inside) => queueMail(inside, mail(to), life))
const waiting = () => app.gatehouse.tools.prisma.job.count({ where: { task: 'mail' } })

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (let wait = 0; wait < 400; wait++) {
    if (await what()) return
    await new Promise((go) => setTimeout(go, 25))
  }
  throw new Error('it does not come about')
}

/** One message was tried once and waits for its next turn; while it is being tried, it is not due for a minute. */
const turnedAway = () =>
  until(async () => {
    const soon = BigInt(app.clock.now() + 30_000)
    return (await app.gatehouse.tools.prisma.job.count({ where: { attempts: 1, runAt: { lt: soon } } })) === 1
  })

test('a message is handed over as text and HTML, from MAIL_FROM, and leaves the outbox', async () => {
  await queue('ada@example.com')
  await until(async () => (await waiting()) === 0)
  expect(received).toHaveLength(1)
  const [{ from, to, raw }] = received as [Received]
  expect({ from, to }).toEqual({ from: 'no-reply@id.example.com', to: ['ada@example.com'] })
  expect(raw).toMatch(/^Content-Type: multipart\/alternative/m)
  expect(raw).toMatch(/^Message-ID: <mail_[0-9a-z]{26}@127\.0\.0\.1>/im)
  expect(raw).toContain('=?UTF-8?')
})

test('a transaction that fails sends nothing', async () => {
  const failed = transaction(systemContext(app.gatehouse), async (inside) => {
    await queueMail(inside, mail('nobody@example.com'))
    throw new Error('undone')
  })
  await expect(failed).rejects.toThrow('undone')
  await queue('after@example.com')
  await until(() => received.length === 1)
  expect(received[0]!.to).toEqual(['after@example.com'])
})

test('what the server turns away is tried again, later and later, and not after its time', async () => {
  refusals = 1
  await queue('again@example.com')
  await turnedAway()
  app.clock.advance(6000)
  await queue('other@example.com')
  await until(async () => (await waiting()) === 0)
  expect(received.map(({ to }) => to[0]).sort()).toEqual(['again@example.com', 'other@example.com'])

  received.length = 0
  refusals = 1
  await queue('late@example.com', 10_000)
  await turnedAway()
  app.clock.advance(11_000)
  await queue('kick@example.com')
  await until(async () => (await waiting()) === 0)
  expect(received.map(({ to }) => to[0])).toEqual(['kick@example.com'])
})

test('a message whose process died is sent by another one', async () => {
  const { prisma } = app.gatehouse.tools
  const now = app.clock.now()
  const sealed = app.gatehouse.sealer.seal(JSON.stringify(mail('orphan@example.com')))
  const payload = { id: 'mail_orphan', sealed, expiresAt: now + 3_600_000 }
  const row = { id: 'job_orphan', task: 'mail', payload, attempts: 1, runAt: now + 60_000, createdAt: now }
  await prisma.job.create({ data: row })
  app.clock.advance(61_000)
  await queue('kick@example.com')
  await until(async () => (await waiting()) === 0)
  expect(received.map(({ to }) => to[0]).sort()).toEqual(['kick@example.com', 'orphan@example.com'])
})

test('to nobody nothing goes out, for the same work', async () => {
  await queue('')
  await queue('somebody@example.com')
  await until(async () => (await waiting()) === 0)
  expect(received.map(({ to }) => to[0])).toEqual(['somebody@example.com'])
})

test('the outbox holds no message in the clear', async () => {
  refusals = 1
  await queue('secret@example.com')
  await turnedAway()
  const [row] = await app.gatehouse.tools.prisma.job.findMany()
  expect(JSON.stringify(row!.payload)).not.toMatch(/123456|secret@/)
})
