import type { IncomingMessage } from 'node:http'
import type { LimitName } from '../config.js'
import { type Actor, unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { networkOf } from '../kernel/network.js'
import { type Context, contextFor, type Gatehouse } from '../platform/context.js'
import { requestFacts } from '../platform/http.js'
import { rateLimitHeaders } from '../platform/rate-limit.js'
import { authenticate } from './authenticate.js'

/** A context for a request whose caller is not known yet. */
export const contextOfStranger = (gatehouse: Gatehouse, request: IncomingMessage): Context =>
  contextFor(gatehouse, unauthenticated, requestFacts(gatehouse, request))

export interface Admission {
  context: Context
  /** The rate-limit headers that the answer must carry. */
  headers: Record<string, string>
}

/**
 * Finds out who is asking and whether they ask too often (decisions D19): per credential once known, per address for
 * strangers and wrong credentials.
 * @throws unauthorized, too_many_requests
 */
export async function admit(
  stranger: Context,
  authorization: string | undefined,
  limit: LimitName,
): Promise<Admission> {
  let actor: Actor
  try {
    actor = await authenticate(stranger, authorization)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'too_many_requests') throw error
    const headers = await spend(stranger, 'unauthenticated', networkOf(stranger.request.ip))
    throw error instanceof ApiError ? withHeaders(error, headers) : error
  }
  const known = actor.type !== 'unauthenticated'
  const headers = known
    ? await spend(stranger, limit, actor.id ?? '')
    : await spend(stranger, 'unauthenticated', networkOf(stranger.request.ip))
  return { context: { ...stranger, actor }, headers }
}

/**
 * Spends one token of a limit.
 * @returns headers for the answer
 * @throws too_many_requests with Retry-After
 */
export async function spend(context: Context, limit: LimitName, subject: string): Promise<Record<string, string>> {
  const verdict = await context.rateLimiter.spend(limit, subject)
  if (!verdict) return {}
  const headers = rateLimitHeaders(verdict)
  if (verdict.allowed) return headers
  context.metrics.refusals.inc({ limit })
  throw new ApiError('too_many_requests', `Too many requests; try again in ${verdict.reset} seconds.`, { headers })
}

const withHeaders = (error: ApiError, headers: Record<string, string>): ApiError =>
  new ApiError(error.code, error.message, { ...error.more, headers: { ...headers, ...error.more.headers } })
