/** A customer's server that is told of events: it notes what comes and answers as a test wants. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Loose } from './api.js'

export interface Notice {
  path: string
  headers: Record<string, string>
  body: string
  /** The body read as JSON. */
  told: Loose
}

export interface Receiver {
  url: string
  notices: Notice[]
  /** Those that came to one path. */
  at(path: string): Notice[]
  /** What it answers; 204 until told otherwise. */
  answer: (res: ServerResponse, notice: Notice, req: IncomingMessage) => void
  close(): Promise<void>
}

const accept = (res: ServerResponse): void => void res.writeHead(204).end()

/** Listens on a free port of this machine. */
export async function startReceiver(): Promise<Receiver> {
  const server: Server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const notice = {
      path: req.url ?? '',
      headers: req.headers as Record<string, string>,
      body,
      told: JSON.parse(body) as Loose,
    }
    self.notices.push(notice)
    self.answer(res, notice, req)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const self: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    notices: [],
    at: (path) => self.notices.filter((notice) => notice.path === path),
    answer: accept,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return self
}
