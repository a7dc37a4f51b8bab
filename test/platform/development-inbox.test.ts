/** Only the local machine can open the development inbox, because its mail allows signing in as any user. */
import { get } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.js'
import { openLog } from '../../src/platform/log.js'
import { createMailer, hasDevelopmentInbox, logMailDelivery } from '../../src/platform/mail/transport.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const mail = { to: 'ada@example.com', subject: 'A code', text: '123456', html: '<p>123456</p>' }

/** Returns the configuration and the messages logged at startup. */
function logWithConfig(env: Record<string, string>): { config: ReturnType<typeof readConfig>; messages: string[] } {
  const messages: string[] = []
  const log = openLog('silent')
  for (const level of ['info', 'warn'] as const)
    log[level] = ((text: string) => void messages.push(`${level}: ${text}`)) as never
  const config = readConfig(env)
  logMailDelivery(config, log)
  return { config, messages }
}

describe('the development inbox is enabled with a loopback BASE_URL', () => {
  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])('BASE_URL=%s', (BASE_URL) => {
    const { config, messages } = logWithConfig({ BASE_URL })
    expect(hasDevelopmentInbox(config)).toBe(true)
    expect(messages).toEqual([`info: MAIL_URL is not set: mail is shown at ${BASE_URL}/dev/mail, on this machine only`])
  })
})

describe('the development inbox is disabled', () => {
  test.each(['https://id.example.com', 'http://127.0.0.1.example.com'])(
    'with BASE_URL=%s, with a warning at startup',
    async (BASE_URL) => {
      const { config, messages } = logWithConfig({ BASE_URL })
      expect(hasDevelopmentInbox(config)).toBe(false)
      expect(messages).toEqual([expect.stringMatching(/^warn: MAIL_URL is not set: mail is not sent; set it to smtp:/)])
      await expect(createMailer(config, Date.now).send(mail, 'x')).rejects.toThrow('MAIL_URL is not set')
    },
  )

  test('with MAIL_URL, without a message at startup', () => {
    const { config, messages } = logWithConfig({ MAIL_URL: 'smtp://127.0.0.1:2525' })
    expect([hasDevelopmentInbox(config), messages]).toEqual([false, []])
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

  /** Requests the inbox at an address of this machine with a host name in Host. @returns the status */
  const requestInbox = (address: string, hostName: string) =>
    new Promise<number | undefined>((done, fail) => {
      const { port } = new URL(app.baseUrl)
      get({ host: address, port, path: '/dev/mail', headers: { host: `${hostName}:${port}` } }, (response) => {
        response.resume()
        done(response.statusCode)
      }).on('error', fail)
    })
  const externalAddresses = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)

  test('a server that listens on all addresses serves the inbox only to this machine, with a loopback Host header', async () => {
    expect(await requestInbox('127.0.0.1', 'localhost')).toBe(200)
    expect(await requestInbox('127.0.0.1', 'attacker.example')).toBe(404)
    for (const address of externalAddresses) expect(await requestInbox(address, 'localhost')).toBe(404)
  })
})
