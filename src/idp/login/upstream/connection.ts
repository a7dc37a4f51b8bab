/** openid-client on our one way out (security rule 17), and what is known of providers, kept for a while. */
import { LRUCache } from 'lru-cache'
import {
  allowInsecureRequests,
  type ClientAuth,
  Configuration,
  type CustomFetch,
  customFetch,
  type DiscoveryRequestOptions,
  enableNonRepudiationChecks,
  fetchProtectedResource,
  type ServerMetadata,
} from 'openid-client'
import { parseJson } from '../../../kernel/gate.js'
import { isObject } from '../../../kernel/merge.js'
import { MINUTE, SECOND } from '../../../kernel/time.js'
import type { Outbound } from '../../../platform/outbound.js'
import type { IssuerFacts } from '../../runtime.js'
import { scope } from '../../scope.js'
import { failed } from './provider.js'

/** One request to a provider: how long (milliseconds), and how many bytes of the answer. */
const TIMEOUT = 8 * SECOND
const MAX_BODY = 256 * 1024

/** For how long what a provider says of itself is believed, and of how many providers per issuer. */
const BELIEVED = 10 * MINUTE
const KEPT = 50

/** The library's way out. */
export const fetchThrough =
  (outbound: Outbound): CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await outbound.send({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeout: TIMEOUT,
      maxBody: MAX_BODY,
    })
    const { 'content-encoding': _, ...kept } = answer.headers
    const empty = answer.status === 204 || answer.status === 304
    return new Response(empty ? null : answer.body, { status: answer.status, headers: kept })
  }

/** Options of the library's discovery. */
export const discoveryOptions = (): DiscoveryRequestOptions => ({
  [customFetch]: fetchThrough(scope().context.outbound),
  timeout: TIMEOUT / SECOND,
  execute: extensions(),
})

/** ID tokens are believed by their signature, not by the connection alone. */
const extensions = (): ((config: Configuration) => void)[] => [
  ...(scope().context.config.allowPrivateNetworks ? [allowInsecureRequests] : []),
  enableNonRepudiationChecks,
]

/** A provider whose addresses are known without asking it. */
export function fixedProvider(server: ServerMetadata, clientId: string, auth: ClientAuth): Configuration {
  const config = new Configuration(server, clientId, undefined, auth)
  config[customFetch] = fetchThrough(scope().context.outbound)
  config.timeout = TIMEOUT / SECOND
  for (const extend of extensions()) extend(config)
  return config
}

interface Known {
  config: Promise<Configuration>
  until: number
}

// By the facts that a runtime was made from: they change with each method, so what is kept fits its settings.
const known = new WeakMap<IssuerFacts, LRUCache<string, Known>>()

/** The configuration of a method, made at most once at a time. A failure is not kept. */
export function connected(methodId: string, connect: () => Promise<Configuration>): Promise<Configuration> {
  const { context, runtime } = scope()
  let ofIssuer = known.get(runtime.issuer)
  if (!ofIssuer) {
    ofIssuer = new LRUCache({ max: KEPT })
    known.set(runtime.issuer, ofIssuer)
  }
  const kept = ofIssuer.get(methodId)
  if (kept && kept.until > context.now()) return kept.config
  const config = connect()
  ofIssuer.set(methodId, { config, until: context.now() + BELIEVED })
  config.catch(() => ofIssuer.delete(methodId))
  return config
}

/**
 * Something of the person's that the access token opens, as JSON.
 * @returns undefined for an answer other than 200
 * @throws UpstreamFault for what is no JSON that we would take from anybody
 */
export async function readResource(
  config: Configuration,
  accessToken: string,
  url: string,
): Promise<unknown | undefined> {
  const headers = new Headers({ accept: 'application/json' })
  const response = await fetchProtectedResource(config, accessToken, new URL(url), 'GET', undefined, headers)
  if (response.status !== 200) return undefined
  try {
    return parseJson(await response.text())
  } catch {
    throw failed('bad_answer')
  }
}

/** The same, for what must be there and be an object. @throws UpstreamFault */
export async function readRecord(
  config: Configuration,
  accessToken: string,
  url: string,
): Promise<Record<string, unknown>> {
  const value = await readResource(config, accessToken, url)
  if (!isObject(value)) throw failed('bad_answer')
  return value
}
