/** A DNS server on a loopback address that has only TXT records (RFC 1035 section 4). */
import { createSocket, type RemoteInfo } from 'node:dgram'

export interface TestDns {
  /** Value for DNS_RESOLVER. */
  address: string
  /** Names of all queries so far, in lowercase. */
  queriedNames: string[]
  /** Sets the TXT records of a name. A record may be an array of strings of at most 255 bytes each. */
  set(name: string, ...records: (string | string[])[]): void
  /**
   * How the server responds: `answers` with the records, or with NXDOMAIN for unknown names; `fails` with SERVFAIL for
   * each name; `silent` never.
   */
  behavior: 'answers' | 'fails' | 'silent'
  close(): Promise<void>
}

export async function startDns(): Promise<TestDns> {
  const zone = new Map<string, string[][]>()
  const socket = createSocket('udp4')
  const dns: TestDns = {
    address: '',
    queriedNames: [],
    behavior: 'answers',
    set: (name, ...records) => {
      zone.set(
        name,
        records.map((record) => [record].flat()),
      )
    },
    close: () => new Promise((done) => socket.close(() => done())),
  }
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const labels: string[] = []
    let offset = 12
    for (let length = query[offset]!; length > 0; length = query[offset]!) {
      labels.push(query.toString('latin1', offset + 1, offset + 1 + length))
      offset += 1 + length
    }
    const question = query.subarray(12, offset + 5)
    const name = labels.join('.').toLowerCase()
    dns.queriedNames.push(name)
    if (dns.behavior === 'silent') return
    const records = zone.get(name) ?? []
    const isText = query.readUInt16BE(offset + 1) === 16
    const answers = isText ? records.map(textRecord) : []
    const code = dns.behavior === 'fails' ? 2 : records.length === 0 ? 3 : 0
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8580 | code, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(answers.length, 6)
    socket.send(Buffer.concat([header, question, ...answers]), from.port, from.address)
  })
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done))
  dns.address = `127.0.0.1:${socket.address().port}`
  return dns
}

/**
 * Encodes a TXT record: the name as a pointer to the question, type TXT, class IN, a TTL of one second, and each part
 * after its length.
 */
function textRecord(parts: string[]): Buffer {
  const data = Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), Buffer.from(part, 'latin1')]))
  const head = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 1, 0, 0])
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
