/** Reads the request information of the context (`RequestInfo`) from an HTTP request. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { RequestInfo } from '../../kernel/context.js'
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Gatehouse } from '../context.js'

/**
 * Returns the IP address of the client: the address of the connection, or with TRUST_PROXY the entry of X-Forwarded-For
 * that the outermost trusted proxy added. If the header has fewer entries, uses the first one; if it is absent or the
 * entry is not an IP address, uses the address of the connection.
 * @param trustProxy the number of trusted proxies
 * @returns null if the connection has no address any more
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

/**
 * Returns the address without the port that some proxies add, and an IPv4 address without the prefix of its IPv6 form.
 * Returns undefined for an invalid address.
 */
function parseForwardedAddress(hop: string | undefined): string | undefined {
  const address = hop?.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3').replace(/^::ffff:(?=[\d.]+$)/i, '')
  return address !== undefined && isIP(address) !== 0 && !address.includes('%') ? address : undefined
}

/** Replaces control characters and truncates the text, for logs and events. */
const sanitizeText = (text: string, maxLength: number): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression replaces control characters
  text.replace(/[\u0000-\u001f\u007f]/g, ' ').slice(0, maxLength)

/** Returns the request information for the context, with a new request ID. */
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
