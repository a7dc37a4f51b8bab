/**
 * The HTTP client for all requests to external URLs (docs/contract.md#outbound-requests), such as webhooks, client ID
 * metadata documents, upstream providers and back-channel logout. Without ALLOW_PRIVATE_NETWORKS it allows only https
 * and public addresses. It follows no redirects, and limits the duration of a request and the size of a response. It
 * checks the address to which it opens the connection, so that DNS rebinding cannot bypass the check.
 */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Agent } from 'undici'
import { limits } from '../../kernel/limits.js'
import { lazy } from '../lazy.js'

export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The timeout of the whole request in milliseconds: DNS lookup, connection, response and body. */
  readonly timeout: number
  /** The maximum size of the response body in bytes. With 0 the response body is discarded. */
  readonly maxBody: number
}

/** A response with any status, including a redirect. Its content is untrusted. */
export interface OutboundResponse {
  readonly status: number
  /** The headers by lowercase name. A repeated header has its first value. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type OutboundErrorReason = 'refused' | 'unreachable' | 'timeout' | 'too_large'

/**
 * The error of a request without a complete response. Its message contains no data from the target, so it can be shown.
 */
export class OutboundError extends Error {
  constructor(
    readonly reason: OutboundErrorReason,
    message: string,
  ) {
    super(message)
  }
}

export interface Outbound {
  /**
   * Sends a request.
   * @throws OutboundError when the URL is not allowed, or when there is no complete response within the limits
   */
  send(request: OutboundRequest): Promise<OutboundResponse>
  /** Closes all connections. */
  close(): Promise<void>
}

interface OutboundOptions {
  /** Whether http and private addresses are allowed (ALLOW_PRIVATE_NETWORKS). */
  allowPrivate: boolean
  /** The DNS lookup, which tests replace. */
  lookup?: LookupFunction
  /** Returns whether an address is public. Tests replace this function. */
  isPublic?: (address: string) => boolean
}

const USER_AGENT = 'Gatehouse/1'

const notPublicError = (): OutboundError => new OutboundError('refused', 'The address is not public.')

/**
 * Returns true for an address of the public Internet. Returns false for addresses in special-purpose ranges: loopback,
 * private, link-local, shared, documentation and multicast. Also returns false for an IPv6 address that contains an
 * IPv4 address (mapped, NAT64, 6to4, Teredo), because the IPv4 address may be private.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  // IANA assigns only 2000::/3 for global unicast (RFC 4291, section 2.4). ipaddr.js reports other ranges, such as
  // ::7f00:1, as unicast.
  const isAllocated = parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3)
  return isAllocated && parsed.range() === 'unicast'
}

/** Creates an HTTP client with its own connection pool. */
export function openOutbound({
  allowPrivate,
  lookup = systemLookup,
  isPublic = isPublicAddress,
}: OutboundOptions): Outbound {
  const isAllowed = (address: string): boolean => allowPrivate || isPublic(address)

  /** Resolves a name and removes the addresses that are not allowed. Fails when no address is left. */
  const publicLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '')
      const list = (found as { address: string; family: number }[]).filter(({ address }) => isAllowed(address))
      const [first] = list
      if (!first) return callback(notPublicError() as NodeJS.ErrnoException, '')
      if (options.all) callback(null, list)
      else callback(null, first.address, first.family)
    })
  }
  // undici is imported when the first request is sent, because most commands send no requests.
  const createAgent = async (): Promise<Agent> => {
    const { Agent, buildConnector } = await import('undici')
    const connect = buildConnector({ timeout: limits.outboundConnectTimeout, lookup: publicLookup })
    return new Agent({
      connections: limits.maxOutboundConnectionsPerOrigin,
      keepAliveTimeout: limits.outboundKeepAlive,
      keepAliveMaxTimeout: limits.outboundKeepAlive,
      maxHeaderSize: limits.maxOutboundHeaderBytes,
      connect: (options, callback) => {
        // Node.js connects to IP addresses without calling `lookup`, so they are checked here.
        const host = options.hostname.replace(/^\[|\]$/g, '')
        if (isIP(host) !== 0 && !isAllowed(host)) return callback(notPublicError(), null)
        connect(options, callback)
      },
    })
  }
  const agent = lazy('HTTP client', createAgent, (open) => open.destroy())

  return {
    async send({ method = 'GET', url, headers = {}, body, timeout, maxBody }) {
      const { origin, pathname, search } = parseTarget(url, allowPrivate)
      const client = await agent.get()
      const signal = AbortSignal.timeout(timeout)
      try {
        const response = await client.request({
          origin,
          path: pathname + search,
          method,
          headers: { 'user-agent': USER_AGENT, 'accept-encoding': 'identity', ...headers },
          body: body ?? null,
          signal,
        })
        return {
          status: response.statusCode,
          headers: Object.fromEntries(
            Object.entries(response.headers).flatMap(([name, value]) => {
              const first = Array.isArray(value) ? value[0] : value
              return first === undefined ? [] : [[name, first]]
            }),
          ),
          body: await readResponseBody(response.body, maxBody, signal),
        }
      } catch (error) {
        throw toOutboundError(error, signal)
      }
    },
    close: agent.close,
  }
}

/** @throws OutboundError for an invalid or disallowed URL */
function parseTarget(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:']
  if (!url || !protocols.includes(url.protocol))
    throw new OutboundError(
      'refused',
      allowPrivate ? 'The URL must be an http or https URL.' : 'The URL must be an https URL.',
    )
  if (url.username || url.password) throw new OutboundError('refused', 'The URL must not contain credentials.')
  return url
}

type Body = AsyncIterable<Buffer> & {
  dump(options: { limit: number; signal: AbortSignal }): Promise<void>
  destroy(): void
}

async function readResponseBody(body: Body, limit: number, signal: AbortSignal): Promise<string> {
  if (limit === 0) {
    // A short body is read, so that the connection can be reused. The connection of a longer body is closed. Errors are
    // ignored, because the status and the headers have already arrived.
    const discardTimer = setTimeout(() => body.destroy(), limits.outboundDiscardTimeout)
    await body.dump({ limit: limits.maxOutboundDiscardedBytes, signal }).catch(() => {})
    clearTimeout(discardTimer)
    return ''
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw new OutboundError('too_large', `The response is larger than ${limit} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function toOutboundError(error: unknown, signal: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error
  const { code = '', cause, errors = [] } = error as { code?: unknown; cause?: unknown; errors?: unknown[] }
  const outboundError = [cause, ...errors].find((inner) => inner instanceof OutboundError)
  if (outboundError instanceof OutboundError) return outboundError
  if (signal.aborted || /TIMEOUT/.test(String(code))) {
    return new OutboundError('timeout', 'The server did not respond in time.')
  }
  return new OutboundError('unreachable', `The server could not be reached${code === '' ? '' : ` (${String(code)})`}.`)
}
