/** Outbound requests: allowed addresses and limits (docs/contract.md#outbound-requests). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isPublicAddress, type Outbound, OutboundError, openOutbound } from '../../src/platform/outbound/outbound.js'

let server: Server
let port: number
let connections = 0
const requests: IncomingMessage[] = []
let respond: (req: IncomingMessage, res: ServerResponse) => void
const clients: Outbound[] = []

/** Creates a DNS lookup function that returns these address lists in order, and then always the last one. */
function lookupReturning(...lists: string[][]): LookupFunction & { lookupCount: number } {
  const lookup = Object.assign(
    (_: string, __: object, callback: (error: null, found: { address: string; family: number }[]) => void) => {
      const list = lists[Math.min(lookup.lookupCount++, lists.length - 1)]!
      callback(
        null,
        list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
    { lookupCount: 0 },
  )
  return lookup as unknown as LookupFunction & { lookupCount: number }
}

/** Creates a client, which `afterAll` closes. */
function client(options: Parameters<typeof openOutbound>[0]): Outbound {
  const outbound = openOutbound(options)
  clients.push(outbound)
  return outbound
}

const errorOf = (work: Promise<unknown>): Promise<{ reason: string; message: string }> =>
  work.then(
    () => {
      throw new Error('the request succeeded')
    },
    (error: unknown) => {
      if (!(error instanceof OutboundError)) throw error
      return { reason: error.reason, message: error.message }
    },
  )
const limits = { timeout: 3000, maxBody: 1000 }

beforeAll(async () => {
  server = createServer((req, res) => {
    requests.push(req)
    respond(req, res)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  for (const outbound of clients) await outbound.close()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

describe('addresses', () => {
  test.each([
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.31.196.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '4000::1',
    'localhost',
    '',
  ])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each(['1.1.1.1', '8.8.8.8', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  test.each([
    'https://127.0.0.1',
    'https://0x7f.1',
    'https://2130706433',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://[64:ff9b::7f00:1]',
    'https://169.254.169.254',
    'https://localhost',
  ])('%s is refused without a connection', async (origin) => {
    const before = connections
    const { reason } = await errorOf(client({ allowPrivate: false }).send({ url: `${origin}:${port}/`, ...limits }))
    expect([reason, connections - before]).toEqual(['refused', 0])
  })

  test.each([
    'http://93.184.216.34/',
    'ftp://93.184.216.34/',
    'file:///etc/passwd',
    'https://user:secret@93.184.216.34/',
    'not a url',
    '',
  ])('%s is not an allowed URL', async (url) => {
    expect((await errorOf(client({ allowPrivate: false }).send({ url, ...limits }))).reason).toBe('refused')
  })
})

describe('a name whose addresses change (DNS rebinding)', () => {
  // 127.0.0.2 represents a public address, 127.0.0.1 a private address.
  const isPublic = (address: string) => address === '127.0.0.2'
  const reached = (from: number) => requests.slice(from).map((req) => req.socket.localAddress)

  test('when the address changes from public to private, the second connection is refused', async () => {
    respond = (_, res) => void res.setHeader('connection', 'close').end('ok')
    const lookup = lookupReturning(['127.0.0.2'], ['127.0.0.1'])
    const outbound = client({ allowPrivate: false, isPublic, lookup })
    const from = requests.length
    // The server does not support TLS, so each request fails. The test checks only the connections.
    const before = connections
    const first = await errorOf(outbound.send({ url: `https://rebinding.example:${port}/`, ...limits }))
    expect([first.reason, connections - before, lookup.lookupCount]).toEqual(['unreachable', 1, 1])
    const second = await errorOf(outbound.send({ url: `https://rebinding.example:${port}/`, ...limits }))
    expect([second.reason, connections - before, lookup.lookupCount]).toEqual(['refused', 1, 2])
    expect(reached(from)).toEqual([])
  })

  test('private addresses in a DNS response are not used', async () => {
    const before = connections
    const lookup = lookupReturning(['127.0.0.1', '::1', '127.0.0.2'])
    await errorOf(
      client({ allowPrivate: false, isPublic, lookup }).send({ url: `https://mixed.example:${port}/`, ...limits }),
    )
    expect([connections - before, lookup.lookupCount]).toEqual([1, 1])
    const none = lookupReturning(['127.0.0.1', '::1'])
    const refused = client({ allowPrivate: false, isPublic, lookup: none })
    expect((await errorOf(refused.send({ url: `https://inside.example:${port}/`, ...limits }))).reason).toBe('refused')
    expect(connections - before).toBe(1)
  })

  test('the name is resolved once for each connection', async () => {
    respond = (_, res) => void res.end('ok')
    const lookup = lookupReturning(['127.0.0.2'])
    const outbound = client({ allowPrivate: true, lookup })
    const [from, before] = [requests.length, connections]
    for (let n = 0; n < 3; n++) await outbound.send({ url: `http://kept.example:${port}/`, ...limits })
    expect(reached(from)).toEqual(['127.0.0.2', '127.0.0.2', '127.0.0.2'])
    expect(lookup.lookupCount).toBe(connections - before)
  })
})

describe('limits', () => {
  let outbound: Outbound
  let url: string
  beforeAll(() => {
    outbound = client({ allowPrivate: true })
    url = `http://127.0.0.1:${port}/path?query`
  })

  test('returns status, headers and body, and adds only the expected request headers', async () => {
    respond = (_, res) => void res.writeHead(404, { 'X-One': ['a', 'b'] }).end('nö')
    const { status, headers, body } = await outbound.send({ method: 'POST', url, body: 'x=1', ...limits })
    expect([status, headers['x-one'], body]).toEqual([404, 'a', 'nö'])
    const { method, headers: sent, url: path } = requests.at(-1)!
    expect([method, path, Object.keys(sent).sort()]).toEqual([
      'POST',
      '/path?query',
      ['accept-encoding', 'connection', 'content-length', 'host', 'user-agent'],
    ])
  })

  test('redirects are returned, not followed', async () => {
    respond = (_, res) => void res.writeHead(302, { location: `http://127.0.0.1:${port}/elsewhere` }).end()
    const from = requests.length
    expect((await outbound.send({ url, ...limits })).status).toBe(302)
    expect(requests.length - from).toBe(1)
  })

  test.each<[string, string, (res: ServerResponse) => void]>([
    ['a body over the limit', 'too_large', (res) => res.end('x'.repeat(1001))],
    ['an endless body', 'too_large', (res) => void setInterval(() => res.write('x'.repeat(100)), 1).unref()],
    ['too many headers', 'unreachable', (res) => res.writeHead(200, { x: 'x'.repeat(20_000) }).end()],
    ['no response', 'timeout', () => undefined],
    ['an incomplete body', 'timeout', (res) => res.writeHead(200, { 'content-length': 9 }).write('x')],
    ['a connection that breaks', 'unreachable', (res) => res.destroy()],
  ])('%s is the error %s, which contains no data of the response', async (_, reason, behave) => {
    respond = (__, res) => behave(res)
    const failed = await errorOf(outbound.send({ url, timeout: 500, maxBody: 1000 }))
    expect(failed.reason).toBe(reason)
    expect(failed.message).not.toContain('xx')
  })

  test('with maxBody 0 the body is discarded', async () => {
    respond = (_, res) => void res.end('secret of the target')
    for (let n = 0; n < 3; n++) {
      expect(await outbound.send({ url, timeout: 3000, maxBody: 0 })).toMatchObject({ status: 200, body: '' })
    }
  })

  test('a refused connection is an error with the system code', async () => {
    expect((await errorOf(outbound.send({ url: 'http://127.0.0.1:1/', ...limits }))).message).toBe(
      'The server could not be reached (ECONNREFUSED).',
    )
  })
})
