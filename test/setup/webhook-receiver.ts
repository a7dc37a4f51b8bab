/** A webhook receiver that records requests. The test sets its responses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AnyJson } from './api.js'

export interface ReceivedRequest {
  path: string
  headers: Record<string, string>
  body: string
  /** The body, parsed as JSON. */
  event: AnyJson
}

export interface WebhookReceiver {
  url: string
  requests: ReceivedRequest[]
  /** Returns the recorded requests to a path. */
  requestsTo(path: string): ReceivedRequest[]
  /** Sends the response to a request. Tests may replace the function; by default it sends 204. */
  respond: (res: ServerResponse, received: ReceivedRequest, req: IncomingMessage) => void
  close(): Promise<void>
}

const respondNoContent = (res: ServerResponse): void => void res.writeHead(204).end()

/** Starts a receiver on a free port of 127.0.0.1. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server: Server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const received = {
      path: req.url ?? '',
      headers: req.headers as Record<string, string>,
      body,
      event: JSON.parse(body) as AnyJson,
    }
    receiver.requests.push(received)
    receiver.respond(res, received, req)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    requestsTo: (path) => receiver.requests.filter((request) => request.path === path),
    respond: respondNoContent,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return receiver
}
