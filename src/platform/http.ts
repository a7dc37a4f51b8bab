/** What both servers need from a raw request: its body within a limit, and where it came from. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { RequestFacts } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { newId } from '../kernel/ids.js'
import type { Gatehouse } from './context.js'
import { continueBody } from './early-answers.js'

/**
 * Reads a body as UTF-8 text.
 * @param limit in bytes
 * @throws payload_too_large, unsupported_media_type, invalid_request for bytes that are no UTF-8
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  refuseBody(request, limit)
  const body = await allOf(request, limit)
  if (!isUtf8(body)) throw new ApiError('invalid_request', 'The body is not valid UTF-8.')
  // A byte order mark says nothing in UTF-8.
  return body.toString('utf8').replace(/^\ufeff/, '')
}

/** By its events and not by its iterator, which costs as much as all the rest of reading a small body. */
function allOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  continueBody(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (settled: () => void) => {
      request.off('data', take).off('end', finish).off('error', broken).off('close', broken)
      settled()
    }
    const take = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) settle(() => reject(tooLarge(limit)))
    }
    const finish = (): void => settle(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const broken = (): void =>
      settle(() => reject(new ApiError('invalid_request', 'The connection ended before the body did.')))
    request.on('data', take).on('end', finish).on('error', broken).on('close', broken)
    if (request.readableEnded || request.destroyed) broken()
  })
}

/** Does the request announce a body (RFC 9112 6)? */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * Refuses a body by its headers, before any of it is read.
 * @param limit in bytes
 * @throws payload_too_large for a Content-Length beyond the limit, unsupported_media_type for a Content-Encoding other
 * than identity, with the Accept-Encoding of RFC 9110 15.5.16
 */
export function refuseBody(request: IncomingMessage, limit: number): void {
  const encoding = request.headers['content-encoding'] ?? ''
  if (hasBody(request) && !/^[\s,]*(identity[\s,]*)*$/i.test(encoding)) {
    const message = 'The body must be sent without Content-Encoding.'
    throw unsupported('Content-Encoding', message, { 'Accept-Encoding': 'identity' })
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
}

/** What is left of the body is read and discarded by `endEarly`. */
const tooLarge = (limit: number): ApiError =>
  new ApiError('payload_too_large', `The body is larger than ${limit} bytes.`)

/** 415 about a header, by the name that is written. */
const unsupported = (field: string, message: string, headers?: Record<string, string>): ApiError =>
  new ApiError('unsupported_media_type', message, {
    details: [{ field, code: 'unsupported', message }],
    ...(headers && { headers }),
  })

/** @throws unsupported_media_type unless the request says that its body is JSON */
export function mustBeJson(request: IncomingMessage): void {
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupported('Content-Type', 'The body must be JSON; send Content-Type: application/json.')
  }
}

/** @throws unsupported_media_type unless the request says that its body is a form */
export function mustBeForm(request: IncomingMessage): void {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupported('Content-Type', 'The body must be a form; send Content-Type: application/x-www-form-urlencoded.')
  }
}

/**
 * The caller's address: the peer's, or the one that the outermost trusted proxy saw (`TRUST_PROXY` hops are believed).
 */
export function clientAddress(request: IncomingMessage, trustProxy: number): string | null {
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null
  if (trustProxy === 0) return peer
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  return addressIn(forwarded.at(-trustProxy) ?? forwarded[0]) ?? peer
}

/** The address of one hop, without the port that some proxies write; undefined for what is no address. */
function addressIn(hop: string | undefined): string | undefined {
  const address = hop?.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3')
  return address !== undefined && isIP(address) !== 0 && !address.includes('%') ? address : undefined
}

/** Text that a log line and an event may hold: without control characters, cut to a length. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const plain = (text: string, length: number): string => text.replace(/[\u0000-\u001f\u007f]/g, ' ').slice(0, length)

/** The facts of a request that its context carries. */
export function requestFacts(gatehouse: Gatehouse, request: IncomingMessage): RequestFacts {
  const agent = request.headers['user-agent']
  return {
    id: newId('req', gatehouse.now()),
    ip: clientAddress(request, gatehouse.config.trustProxy),
    userAgent: agent === undefined ? null : plain(agent, 500),
    method: request.method ?? null,
    path: plain((request.url ?? '/').split('?')[0]!, 500),
  }
}
