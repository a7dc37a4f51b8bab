/** The development inbox is for one's own machine (decisions part 0): who reads it can sign in as anybody. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.js'
import { openLog } from '../../src/platform/log.js'
import { announceMail, hasInbox, openPostman } from '../../src/platform/mail-transport.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const mail = { to: 'ada@example.com', subject: 'A code', text: '123456', html: '<p>123456</p>' }

/** What the start says about mail. */
function saidWith(env: Record<string, string>): { config: ReturnType<typeof readConfig>; said: string[] } {
  const said: string[] = []
  const log = openLog('silent')
  for (const level of ['info', 'warn'] as const)
    log[level] = ((text: string) => void said.push(`${level}: ${text}`)) as never
  const config = readConfig(env)
  announceMail(config, log)
  return { config, said }
}

describe('is kept where neither name nor address lead to others', () => {
  test.each([
    ['127.0.0.1', 'http://localhost:3000'],
    ['127.0.0.2', 'http://127.0.0.1:3000'],
    ['localhost', 'http://[::1]:3000'],
    ['::1', 'http://localhost:3000'],
  ])('HOST=%s BASE_URL=%s', (HOST, BASE_URL) => {
    const { config, said } = saidWith({ HOST, BASE_URL })
    expect(hasInbox(config)).toBe(true)
    expect(said).toEqual([`info: MAIL_URL is not set: mail is kept at ${BASE_URL}/dev/mail`])
  })
})

describe('is not there, and the start says why, where others may come', () => {
  test.each([
    ['0.0.0.0', 'http://localhost:3000', /HOST is 0\.0\.0\.0.*no development inbox.*HOST to 127\.0\.0\.1/],
    ['::', 'http://localhost:3000', /HOST is ::,.*no development inbox/],
    ['192.168.1.2', 'http://127.0.0.1:3000', /HOST is 192\.168\.1\.2/],
    ['127.0.0.1.example.com', 'http://localhost:3000', /no development inbox/],
    ['127.0.0.1', 'https://id.example.com', /^warn: MAIL_URL is not set: mail is not sent; set it to smtp:[^ ]*$/],
  ])('HOST=%s BASE_URL=%s', async (HOST, BASE_URL, words) => {
    const { config, said } = saidWith({ HOST, BASE_URL })
    expect(hasInbox(config)).toBe(false)
    expect(said).toEqual([expect.stringMatching(words)])
    await expect(openPostman(config, Date.now).deliver(mail, 'x')).rejects.toThrow('MAIL_URL is not set')
  })

  test('with a mail server nothing is said, and nothing kept', () => {
    const { config, said } = saidWith({ MAIL_URL: 'smtp://127.0.0.1:2525' })
    expect([hasInbox(config), said]).toEqual([false, []])
  })
})

describe('over HTTP', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startApp({ roles: ['core', 'worker'], env: { HOST: '0.0.0.0', LOG_LEVEL: 'silent' } })
  })
  afterAll(async () => {
    await app?.close()
  })

  test('a server that listens to everybody has no such page, whatever the request calls it', async () => {
    const { port } = new URL(app.baseUrl)
    const answer = await fetch(`http://127.0.0.1:${port}/dev/mail`, { headers: { accept: 'application/json' } })
    expect(answer.status).toBe(404)
    expect(await answer.text()).not.toContain('inbox')
  })
})
