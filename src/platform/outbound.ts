/**
 * The one way out (security rule 17). Whatever makes this server call somebody else's address (webhooks, metadata
 * documents, upstream providers, logout notices) goes through here: https only, public addresses only, no redirects,
 * little time, little to read. An address is judged where the connection is made, and that very address is connected
 * to, so that a name cannot answer with one address for the check and with another for the connection.
 */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Agent } from 'undici'
import { SECOND } from '../kernel/time.js'
import { onFirstUse } from './first-use.js'

export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Milliseconds for all of it: name, connection, answer, body. */
  readonly timeout: number
  /** How many bytes of the answer's body are read; with 0 it is thrown away unread. */
  readonly maxBody: number
}

/** What came back, redirects included: they are answers, never followed. The body is for the caller alone to judge. */
export interface OutboundAnswer {
  readonly status: number
  /** By lower-case name; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type OutboundFault = 'refused' | 'unreachable' | 'timeout' | 'too_large'

/** There is no answer. The message may be shown to anybody: it holds nothing that the target said. */
export class OutboundError extends Error {
  constructor(
    readonly fault: OutboundFault,
    message: string,
  ) {
    super(message)
  }
}

export interface Outbound {
  /** @throws OutboundError when there is no answer within the limits */
  send(request: OutboundRequest): Promise<OutboundAnswer>
  /** Cuts every connection. */
  close(): Promise<void>
}

interface Options {
  /** Plain http and addresses of any kind are allowed (ALLOW_PRIVATE_NETWORKS). */
  allowPrivate: boolean
  /** Both for tests: who answers for names, and which addresses count as public. */
  lookup?: LookupFunction
  isPublic?: (address: string) => boolean
}

/**
 * Connections to one target that are open at the same time, and for how long an unused one is kept (milliseconds). Many
 * tenants may have their receivers at one target: those of one that never answers must leave room for the others.
 */
const CONNECTIONS = 512
const KEEP_ALIVE = 10 * SECOND
const CONNECT_TIMEOUT = 5 * SECOND
/** How long the rest of an answer may take that nobody reads. */
const REST = SECOND
const USER_AGENT = 'Gatehouse/1'

const notPublic = (): OutboundError => new OutboundError('refused', 'The address is not a public one.')

/**
 * Is this an address of the public Internet? Everything that the registries set aside is not: loopback, private and
 * link-local networks, shared and documentation ranges, multicast, and every form of IPv6 that carries an IPv4 address
 * (mapped, NAT64, 6to4, Teredo), for that one may be any of the others.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  // Of IPv6 only 2000::/3 is given out at all (RFC 4291 2.4); ::7f00:1 is no special range any more, but no address.
  const given = parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3)
  return given && parsed.range() === 'unicast'
}

/** The client of one process, with its own connections. */
export function openOutbound({ allowPrivate, lookup = systemLookup, isPublic = isPublicAddress }: Options): Outbound {
  const allowed = (address: string): boolean => allowPrivate || isPublic(address)

  /** Names: what is not public is left out, and a name of which nothing is left leads nowhere. */
  const publicLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '')
      const list = (found as { address: string; family: number }[]).filter(({ address }) => allowed(address))
      const [first] = list
      if (!first) return callback(notPublic() as NodeJS.ErrnoException, '')
      if (options.all) callback(null, list)
      else callback(null, first.address, first.family)
    })
  }
  // Loaded and made for the first request: commands and many processes never send one.
  const makeAgent = async (): Promise<Agent> => {
    const { Agent, buildConnector } = await import('undici')
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT, lookup: publicLookup })
    return new Agent({
      connections: CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE,
      keepAliveMaxTimeout: KEEP_ALIVE,
      maxHeaderSize: 16 * 1024,
      connect: (options, callback) => {
        // No name, no lookup: node connects to literals without asking anybody.
        const host = options.hostname.replace(/^\[|\]$/g, '')
        if (isIP(host) !== 0 && !allowed(host)) return callback(notPublic(), null)
        connect(options, callback)
      },
    })
  }
  const agent = onFirstUse(makeAgent, (open) => open.destroy())

  return {
    async send({ method = 'GET', url, headers = {}, body, timeout, maxBody }) {
      const { origin, pathname, search } = targetOf(url, allowPrivate)
      const client = await agent.get()
      const signal = AbortSignal.timeout(timeout)
      try {
        const answer = await client.request({
          origin,
          path: pathname + search,
          method,
          headers: { 'user-agent': USER_AGENT, 'accept-encoding': 'identity', ...headers },
          body: body ?? null,
          signal,
        })
        return {
          status: answer.statusCode,
          headers: Object.fromEntries(
            Object.entries(answer.headers).flatMap(([name, value]) => {
              const first = Array.isArray(value) ? value[0] : value
              return first === undefined ? [] : [[name, first]]
            }),
          ),
          body: await readUpTo(answer.body, maxBody, signal),
        }
      } catch (error) {
        throw faultOf(error, signal)
      }
    },
    close: agent.close,
  }
}

/** @throws OutboundError for what is no address to call */
function targetOf(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:']
  if (!url || !protocols.includes(url.protocol)) throw new OutboundError('refused', 'Only https addresses are called.')
  if (url.username || url.password) throw new OutboundError('refused', 'The address holds credentials.')
  return url
}

type Body = AsyncIterable<Buffer> & {
  dump(options: { limit: number; signal: AbortSignal }): Promise<void>
  destroy(): void
}

async function readUpTo(body: Body, limit: number, signal: AbortSignal): Promise<string> {
  if (limit === 0) {
    // A short rest is read off, so that the connection can be used again; a long or slow one is cut. However it ends, the
    // answer is here.
    const cut = setTimeout(() => body.destroy(), REST)
    await body.dump({ limit: 16 * 1024, signal }).catch(() => {})
    clearTimeout(cut)
    return ''
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw new OutboundError('too_large', `The answer is larger than ${limit} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function faultOf(error: unknown, signal: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error
  const { code = '', cause, errors = [] } = error as { code?: unknown; cause?: unknown; errors?: unknown[] }
  const own = [cause, ...errors].find((inner) => inner instanceof OutboundError)
  if (own instanceof OutboundError) return own
  if (signal.aborted || /TIMEOUT/.test(String(code))) {
    return new OutboundError('timeout', 'There was no answer in time.')
  }
  return new OutboundError('unreachable', `There was no answer${code === '' ? '' : ` (${String(code)})`}.`)
}
