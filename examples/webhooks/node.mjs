// A webhook receiver: it verifies the signature of each request and ignores duplicates.
// Usage: SIGNATURE_SECRET=whsec_… PORT=8080 node examples/webhooks/node.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const TOLERANCE = 5 * 60 // seconds

/**
 * Verifies the signature and the time of a request. `body` is the raw body, before any JSON parser. `header` is
 * `t=<unix seconds>,v1=<hex>`. For 24 hours after a change of the secret, the header has a second `v1`, which is the
 * signature with the previous secret.
 */
export function verify(secret, header, body) {
  const parts = String(header ?? '').split(',')
  const timestamp = parts.find((part) => part.startsWith('t='))?.slice(2) ?? ''
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE)) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest()
  return parts.some((part) => {
    const given = part.startsWith('v1=') ? Buffer.from(part.slice(3), 'hex') : Buffer.alloc(0)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

const seen = new Set()

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (!verify(process.env.SIGNATURE_SECRET, request.headers['x-webhook-signature'], body)) {
    return response.writeHead(401).end()
  }
  const event = JSON.parse(body)
  // An event may arrive more than once, and events may arrive in any order. Each event has one id.
  if (!seen.has(event.id)) console.log(`${event.type} ${event.id}`)
  seen.add(event.id)
  // Respond within 15 seconds. Do slow work after the response.
  response.writeHead(204).end()
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
