/**
 * Clients that are a document at an address (spec 4.17, decisions D23): asked for by the one way out, kept for a while,
 * never stored. What cannot be read is not remembered: the next request asks again.
 */

import { LRUCache } from 'lru-cache'
import { errors } from 'oidc-provider'
import { ApiError } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { DAY, MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type Outbound, OutboundError } from '../../platform/outbound.js'
import { documentPolicyOf, type IssuerSettings } from '../../resources/issuers/settings.js'
import { isDocumentAddress } from './address.js'
import { type DocumentClient, readDocument } from './document.js'

const TIMEOUT = 3 * SECOND
const MAX_BODY = 5 * 1024
/** Documents kept per process, and how many are asked for at the same time. */
const KEPT = 1000
const ASKED_AT_ONCE = 50
const SHORTEST = 5 * MINUTE
const LONGEST = DAY

interface Store {
  kept: LRUCache<string, { client: DocumentClient; until: number }>
  asked: Map<string, Promise<DocumentClient>>
}

const stores = new WeakMap<Outbound, Store>()

function storeOf({ outbound }: Context): Store {
  let store = stores.get(outbound)
  if (!store) {
    store = { kept: new LRUCache({ max: KEPT }), asked: new Map() }
    stores.set(outbound, store)
  }
  return store
}

/** Off unless the issuer's settings say otherwise (spec 2.3). */
export const documentsEnabled = (settings: IssuerSettings): boolean => documentPolicyOf(settings)?.enabled === true

/** What such clients may get tokens for besides themselves, and with which scopes besides those of OpenID Connect. */
export function documentAllowances(settings: IssuerSettings): {
  resources: readonly string[]
  scopes: readonly string[]
} {
  const { allowed_resources = [], allowed_scopes = [] } = documentPolicyOf(settings) ?? {}
  return { resources: allowed_resources, scopes: allowed_scopes }
}

/**
 * The client at this address; undefined for what is no address of a document.
 * @throws InvalidClient when there is no usable document, too_many_requests
 */
export async function documentClient(context: Context, address: string): Promise<DocumentClient | undefined> {
  if (!isDocumentAddress(address, context.config.allowPrivateNetworks)) return undefined
  const { kept, asked } = storeOf(context)
  const known = kept.get(address)
  if (known && known.until > context.now()) return known.client
  let answer = asked.get(address)
  if (!answer) {
    await limit(context, asked.size)
    // Whoever waited for the same limit may have asked meanwhile.
    answer = asked.get(address) ?? ask(context, address).finally(() => asked.delete(address))
    asked.set(address, answer)
  }
  return answer
}

/** Anybody can make us ask anybody: not often, and not much at a time. */
async function limit(context: Context, under: number): Promise<void> {
  const verdict = await context.rateLimiter.spend('authorize', `documents ${networkOf(context.request.ip)}`)
  if (under < ASKED_AT_ONCE && verdict?.allowed !== false) return
  const reset = String(verdict?.allowed === false ? verdict.reset : 2)
  throw new ApiError('too_many_requests', 'Too many metadata documents are being asked for; try again shortly.', {
    headers: { 'Retry-After': reset },
  })
}

async function ask(context: Context, address: string): Promise<DocumentClient> {
  const { status, headers, body } = await context.outbound
    .send({ url: address, headers: { accept: 'application/json' }, timeout: TIMEOUT, maxBody: MAX_BODY })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? unusable(error.message) : error
    })
  if (status !== 200) throw unusable(`It was answered with ${status}.`)
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(headers['content-type'] ?? '')) throw unusable('It is not JSON.')
  const client = readDocument(address, body)
  if ('fault' in client) throw unusable(`The document is refused: ${client.fault}.`)
  const until = context.now() + lifetimeOf(headers['cache-control'])
  storeOf(context).kept.set(address, { client, until })
  return client
}

function lifetimeOf(cacheControl = ''): number {
  const age = Number(/(?:^|[,\s])max-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1] ?? 0) * SECOND
  return Math.min(LONGEST, Math.max(SHORTEST, age))
}

function unusable(reason: string): errors.InvalidClient {
  const error = new errors.InvalidClient('the client metadata document cannot be used', reason)
  error.error_description = `the client metadata document cannot be used. ${reason}`
  error.allow_redirect = false
  return error
}
