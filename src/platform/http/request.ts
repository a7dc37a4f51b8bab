/** Reads the body and the client address of a raw request, for both servers. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { RequestInfo } from '../../kernel/context.js'
import { ApiError } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Gatehouse } from '../context.js'
import { sendContinue } from './early-responses.js'

/**
 * Reads a body as UTF-8 text.
 * @param limit in bytes
 * @throws payload_too_large, unsupported_media_type, invalid_request for a body that is not UTF-8
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  checkBodyHeaders(request, limit)
  const body = await readAll(request, limit)
  if (!isUtf8(body)) throw new ApiError('invalid_request', 'The body is not valid UTF-8.')
  // Remove a byte order mark.
  return body.toString('utf8').replace(/^\ufeff/, '')
}

/** Uses events: the async iterator doubles the cost of reading a small body. */
function readAll(request: IncomingMessage, limit: number): Promise<Buffer> {
  sendContinue(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settleOnce = (settled: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      settled()
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) settleOnce(() => reject(tooLarge(limit)))
    }
    const onEnd = (): void => settleOnce(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onBroken = (): void =>
      settleOnce(() =>
        reject(new ApiError('invalid_request', 'The connection was closed before the body was complete.')),
      )
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    if (request.readableEnded || request.destroyed) onBroken()
  })
}

/** Returns true when the headers announce a body (RFC 9112, section 6). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * Checks Content-Encoding and Content-Length before the body is read.
 * @param limit in bytes
 * @throws payload_too_large for a Content-Length above the limit, unsupported_media_type for a Content-Encoding other
 *   than identity, with the Accept-Encoding header of RFC 9110, section 15.5.16
 */
export function checkBodyHeaders(request: IncomingMessage, limit: number): void {
  const encoding = request.headers['content-encoding'] ?? ''
  if (hasBody(request) && !/^[\s,]*(identity[\s,]*)*$/i.test(encoding)) {
    const message = 'The body must be sent without Content-Encoding.'
    throw unsupportedMediaType('Content-Encoding', message, { 'Accept-Encoding': 'identity' })
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
}

/** `sendEarlyResponse` reads and discards the rest of the body. */
const tooLarge = (limit: number): ApiError =>
  new ApiError('payload_too_large', `The body is larger than ${limit} bytes.`)

const unsupportedMediaType = (field: string, message: string, headers?: Record<string, string>): ApiError =>
  new ApiError('unsupported_media_type', message, {
    details: [{ field, code: 'unsupported', message }],
    ...(headers && { headers }),
  })

/** @throws unsupported_media_type unless the Content-Type is JSON */
export function requireJsonContentType(request: IncomingMessage): void {
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType('Content-Type', 'The body must be JSON; send Content-Type: application/json.')
  }
}

/** @throws unsupported_media_type unless the Content-Type is application/x-www-form-urlencoded */
export function requireFormContentType(request: IncomingMessage): void {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType(
      'Content-Type',
      'The body must be a form; send Content-Type: application/x-www-form-urlencoded.',
    )
  }
}

/**
 * Returns the IP address of the client: the peer address, or with TRUST_PROXY the entry of X-Forwarded-For that the
 * outermost trusted proxy added.
 * @param trustProxy the number of trusted proxies
 */
export function clientAddress(request: IncomingMessage, trustProxy: number): string | null {
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null
  if (trustProxy === 0) return peer
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  return parseForwardedAddress(forwarded.at(-trustProxy) ?? forwarded[0]) ?? peer
}

/** Removes the port that some proxies add; undefined for an invalid address. */
function parseForwardedAddress(hop: string | undefined): string | undefined {
  const address = hop?.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3')
  return address !== undefined && isIP(address) !== 0 && !address.includes('%') ? address : undefined
}

/** Replaces control characters and truncates the text, for logs and events. */
const sanitizeText = (text: string, maxLength: number): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression replaces control characters
  text.replace(/[\u0000-\u001f\u007f]/g, ' ').slice(0, maxLength)

/** Creates the request information for the context, with a new request ID. */
export function requestInfo(gatehouse: Gatehouse, request: IncomingMessage): RequestInfo {
  const userAgent = request.headers['user-agent']
  return {
    id: newId('req', gatehouse.now()),
    ip: clientAddress(request, gatehouse.config.trustProxy),
    userAgent: userAgent === undefined ? null : sanitizeText(userAgent, limits.maxLoggedHeaderLength),
    method: request.method ?? null,
    path: sanitizeText((request.url ?? '/').split('?')[0]!, limits.maxLoggedHeaderLength),
  }
}
