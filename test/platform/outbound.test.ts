/** Security rule 17: one way out, and where it does not lead. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isPublicAddress, type Outbound, OutboundError, openOutbound } from '../../src/platform/outbound.js'

let server: Server
let port: number
let connections = 0
const requests: IncomingMessage[] = []
let answer: (req: IncomingMessage, res: ServerResponse) => void
const open: Outbound[] = []

/** Names answer with these addresses, one list per question; the last one stays. */
function answering(...lists: string[][]): LookupFunction & { asked: number } {
  const lookup = Object.assign(
    (_: string, __: object, callback: (error: null, found: { address: string; family: number }[]) => void) => {
      const list = lists[Math.min(lookup.asked++, lists.length - 1)]!
      callback(
        null,
        list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
    { asked: 0 },
  )
  return lookup as unknown as LookupFunction & { asked: number }
}

function client(options: Parameters<typeof openOutbound>[0]): Outbound {
  const outbound = openOutbound(options)
  open.push(outbound)
  return outbound
}

const faultOf = (work: Promise<unknown>): Promise<{ fault: string; message: string }> =>
  work.then(
    () => {
      throw new Error('it was answered')
    },
    (error: unknown) => {
      if (!(error instanceof OutboundError)) throw error
      return { fault: error.fault, message: error.message }
    },
  )
const limits = { timeout: 3000, maxBody: 1000 }

beforeAll(async () => {
  server = createServer((req, res) => {
    requests.push(req)
    answer(req, res)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  for (const outbound of open) await outbound.close()
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
  ])('%s is refused before anything is sent, literals too', async (origin) => {
    const before = connections
    const { fault } = await faultOf(client({ allowPrivate: false }).send({ url: `${origin}:${port}/`, ...limits }))
    expect([fault, connections - before]).toEqual(['refused', 0])
  })

  test.each([
    'http://93.184.216.34/',
    'ftp://93.184.216.34/',
    'file:///etc/passwd',
    'https://user:secret@93.184.216.34/',
    'not a url',
    '',
  ])('%s is no address to call', async (url) => {
    expect((await faultOf(client({ allowPrivate: false }).send({ url, ...limits }))).fault).toBe('refused')
  })
})

describe('a name whose answers change (DNS rebinding)', () => {
  // 127.0.0.2 stands for the public Internet here; 127.0.0.1 for what lies behind the wall.
  const isPublic = (address: string) => address === '127.0.0.2'
  const reached = (from: number) => requests.slice(from).map((req) => req.socket.localAddress)

  test('first public, then private: the second connection is refused, and nothing ever reaches the private address', async () => {
    answer = (_, res) => void res.setHeader('connection', 'close').end('ok')
    const lookup = answering(['127.0.0.2'], ['127.0.0.1'])
    const outbound = client({ allowPrivate: false, isPublic, lookup })
    const from = requests.length
    // https is not spoken by the server: that the connection is made, and to whom, is the point.
    const before = connections
    const first = await faultOf(outbound.send({ url: `https://rebinding.example:${port}/`, ...limits }))
    expect([first.fault, connections - before, lookup.asked]).toEqual(['unreachable', 1, 1])
    const second = await faultOf(outbound.send({ url: `https://rebinding.example:${port}/`, ...limits }))
    expect([second.fault, connections - before, lookup.asked]).toEqual(['refused', 1, 2])
    expect(reached(from)).toEqual([])
  })

  test('what is private among several answers is left out', async () => {
    const before = connections
    const lookup = answering(['127.0.0.1', '::1', '127.0.0.2'])
    await faultOf(
      client({ allowPrivate: false, isPublic, lookup }).send({ url: `https://mixed.example:${port}/`, ...limits }),
    )
    expect([connections - before, lookup.asked]).toEqual([1, 1])
    const none = answering(['127.0.0.1', '::1'])
    const refused = client({ allowPrivate: false, isPublic, lookup: none })
    expect((await faultOf(refused.send({ url: `https://inside.example:${port}/`, ...limits }))).fault).toBe('refused')
    expect(connections - before).toBe(1)
  })

  test('the name is asked once for each connection, never besides', async () => {
    answer = (_, res) => void res.end('ok')
    const lookup = answering(['127.0.0.2'])
    const outbound = client({ allowPrivate: true, lookup })
    const [from, before] = [requests.length, connections]
    for (let n = 0; n < 3; n++) await outbound.send({ url: `http://kept.example:${port}/`, ...limits })
    expect(reached(from)).toEqual(['127.0.0.2', '127.0.0.2', '127.0.0.2'])
    expect(lookup.asked).toBe(connections - before)
  })
})

describe('limits', () => {
  let outbound: Outbound
  let url: string
  beforeAll(() => {
    outbound = client({ allowPrivate: true })
    url = `http://127.0.0.1:${port}/path?query`
  })

  test('an answer: status, headers, body; the request says who calls, and nothing else that was not asked for', async () => {
    answer = (_, res) => void res.writeHead(404, { 'X-One': ['a', 'b'] }).end('nö')
    const { status, headers, body } = await outbound.send({ method: 'POST', url, body: 'x=1', ...limits })
    expect([status, headers['x-one'], body]).toEqual([404, 'a', 'nö'])
    const { method, headers: sent, url: path } = requests.at(-1)!
    expect([method, path, Object.keys(sent).sort()]).toEqual([
      'POST',
      '/path?query',
      ['accept-encoding', 'connection', 'content-length', 'host', 'user-agent'],
    ])
  })

  test('redirects are answers, not followed', async () => {
    answer = (_, res) => void res.writeHead(302, { location: `http://127.0.0.1:${port}/elsewhere` }).end()
    const from = requests.length
    expect((await outbound.send({ url, ...limits })).status).toBe(302)
    expect(requests.length - from).toBe(1)
  })

  test.each<[string, string, (res: ServerResponse) => void]>([
    ['a body over the limit', 'too_large', (res) => res.end('x'.repeat(1001))],
    ['a body without end', 'too_large', (res) => void setInterval(() => res.write('x'.repeat(100)), 1).unref()],
    ['headers without end', 'unreachable', (res) => res.writeHead(200, { x: 'x'.repeat(20_000) }).end()],
    ['silence', 'timeout', () => undefined],
    ['a body that stops half-way', 'timeout', (res) => res.writeHead(200, { 'content-length': 9 }).write('x')],
    ['a connection that breaks', 'unreachable', (res) => res.destroy()],
  ])('%s: %s, and no word of it in the error', async (_, fault, behave) => {
    answer = (__, res) => behave(res)
    const failed = await faultOf(outbound.send({ url, timeout: 500, maxBody: 1000 }))
    expect(failed.fault).toBe(fault)
    expect(failed.message).not.toContain('xx')
  })

  test('with no body to read none is handed on', async () => {
    answer = (_, res) => void res.end('secret of the target')
    for (let n = 0; n < 3; n++) {
      expect(await outbound.send({ url, timeout: 3000, maxBody: 0 })).toMatchObject({ status: 200, body: '' })
    }
  })

  test('nobody there', async () => {
    expect((await faultOf(outbound.send({ url: 'http://127.0.0.1:1/', ...limits }))).message).toBe(
      'There was no answer (ECONNREFUSED).',
    )
  })
})
