/** The development inbox is for one's own machine (decisions part 0): who reads it can sign in as anybody. */
import { get } from 'node:http'
import { networkInterfaces } from 'node:os'
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

describe('is kept where people call it their own machine', () => {
  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])('BASE_URL=%s', (BASE_URL) => {
    const { config, said } = saidWith({ BASE_URL })
    expect(hasInbox(config)).toBe(true)
    expect(said).toEqual([`info: MAIL_URL is not set: mail is kept at ${BASE_URL}/dev/mail, for this machine alone`])
  })
})

describe('is not there, and the start says why, where others come', () => {
  test.each(['https://id.example.com', 'http://127.0.0.1.example.com'])('BASE_URL=%s', async (BASE_URL) => {
    const { config, said } = saidWith({ BASE_URL })
    expect(hasInbox(config)).toBe(false)
    expect(said).toEqual([expect.stringMatching(/^warn: MAIL_URL is not set: mail is not sent; set it to smtp:/)])
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

  /** Asks at an address of this machine, under a name. */
  const ask = (at: string, name: string) =>
    new Promise<number | undefined>((done, fail) => {
      const { port } = new URL(app.baseUrl)
      get({ host: at, port, path: '/dev/mail', headers: { host: `${name}:${port}` } }, (answer) => {
        answer.resume()
        done(answer.statusCode)
      }).on('error', fail)
    })
  const ofOthers = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)

  test('a server that listens to everybody shows it to this machine alone, whatever the request calls it', async () => {
    expect(await ask('127.0.0.1', 'localhost')).toBe(200)
    expect(await ask('127.0.0.1', 'attacker.example')).toBe(404)
    for (const address of ofOthers) expect(await ask(address, 'localhost')).toBe(404)
  })
})
