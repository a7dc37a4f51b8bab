/** Reads and checks the input of a request before it is handled: host, forwarded headers, form and query. */
import type { IncomingMessage } from 'node:http'
import type { Context as KoaContext } from 'koa'
import type { RequestInfo } from '../kernel/context.js'
import { badRequest } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { checkBodyHeaders, type Form, parseForm, readBody, requireSafeInput } from '../platform/http/body.js'

export { type Form, formField } from '../platform/http/body.js'

/**
 * Returns the requested host name. The caller controls this value, so it may only be used to find a custom domain
 * (docs/contract.md#public-address). `X-Forwarded-Host` is read only behind a trusted proxy.
 * @param idpUrl IDP_URL
 * @param trustProxy number of trusted proxies
 * @returns null for the host of IDP_URL, and for a value that is not a host name
 */
export function requestedHost(req: IncomingMessage, idpUrl: URL, trustProxy: number): string | null {
  const forwarded = String((trustProxy > 0 && req.headers['x-forwarded-host']) || '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  const text = forwarded.at(-trustProxy) ?? forwarded[0] ?? req.headers.host ?? ''
  const host = /^([a-z0-9.-]{1,253}?)\.?(?::[0-9]{1,5})?$/i.exec(text)?.[1]?.toLowerCase()
  return host === undefined || host === idpUrl.hostname ? null : host
}

/**
 * Overwrites `Host`, `X-Forwarded-Proto` and `X-Forwarded-For` with the host and protocol of a public URL and the
 * verified IP address of the caller, and deletes `X-Forwarded-Host`. The caller controls the original values, and
 * oidc-provider builds URLs from these headers.
 */
export function setCanonicalHost(req: IncomingMessage, { host, protocol }: URL, facts: RequestInfo): void {
  req.headers.host = host
  req.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  delete req.headers['x-forwarded-host']
  delete req.headers[':authority']
  if (facts.ip) req.headers['x-forwarded-for'] = facts.ip
}

/**
 * Reads and validates a form. The form is parsed once: Gatehouse's endpoints and oidc-provider read the returned object
 * (docs/contract.md#one-parser-per-input).
 * @returns undefined if there is no body or the body has another content type
 * @throws payload_too_large, unsupported_media_type, invalid_request
 */
export async function readForm(ctx: KoaContext): Promise<Form | undefined> {
  checkBodyHeaders(ctx.req, limits.maxFormBytes)
  if (!ctx.is('application/x-www-form-urlencoded')) return undefined
  const text = await readBody(ctx.req, limits.maxFormBytes)
  checkParameterCount('form', text)
  return parseForm(text)
}

/**
 * Validates the query that Koa has parsed.
 * @throws invalid_request
 */
export function checkQuery(ctx: KoaContext): void {
  checkParameterCount('query', ctx.querystring)
  requireSafeInput(ctx.query)
}

/**
 * Rejects more parameters than the limit, which is below the number after which Koa's parser would drop parameters.
 * @throws invalid_request
 */
function checkParameterCount(what: 'form' | 'query', text: string): void {
  if (text.split('&', limits.maxFormParameters + 1).length <= limits.maxFormParameters) return
  throw badRequest(`The ${what} has more than ${limits.maxFormParameters} parameters.`)
}
