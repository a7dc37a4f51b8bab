/** A request before anything else looks at it: its one true address, and the form it carries. */
import type { IncomingMessage } from 'node:http'
import { parse } from 'node:querystring'
import type { Context as KoaContext } from 'koa'
import type { RequestFacts } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { gateFault } from '../kernel/gate.js'
import { readBody, refuseBody } from '../platform/http.js'

/** Forms are read up to this many bytes (decisions D19). */
const MAX_FORM = 64 * 1024
/** Parameters of a form or a query. Koa and the library read more than these of a query, so none is left out. */
const MAX_PARAMETERS = 200

/**
 * The host name by which the request came, for looking it up among custom domains and for nothing else (security rule
 * 18): anybody can write anything there. `X-Forwarded-Host` counts only from a trusted proxy.
 * @param own the IdP's own address
 * @param trustProxy so many proxies are believed
 * @returns null for the IdP's own host, and for what is no host name
 */
export function askedHost(req: IncomingMessage, own: URL, trustProxy: number): string | null {
  const forwarded = String((trustProxy > 0 && req.headers['x-forwarded-host']) || '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  const text = forwarded.at(-trustProxy) ?? forwarded[0] ?? req.headers.host ?? ''
  const host = /^([a-z0-9.-]{1,253}?)\.?(?::[0-9]{1,5})?$/i.exec(text)?.[1]?.toLowerCase()
  return host === undefined || host === own.hostname ? null : host
}

/**
 * Makes the request say what we say: the library builds addresses from `Host` and `X-Forwarded-*`, and those are
 * whatever the sender likes.
 * @param address the public one that the request is answered under
 */
export function canonicalise(req: IncomingMessage, { host, protocol }: URL, facts: RequestFacts): void {
  req.headers.host = host
  req.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  delete req.headers['x-forwarded-host']
  delete req.headers[':authority']
  if (facts.ip) req.headers['x-forwarded-for'] = facts.ip
}

export type Form = Record<string, string | string[] | undefined>

/**
 * Reads a form through the input gate. It is parsed once: endpoints and the library get this object (security rule 33).
 * @returns undefined for a body of another type: the endpoint itself refuses that
 * @throws payload_too_large, unsupported_media_type, invalid_request
 */
export async function readForm(ctx: KoaContext): Promise<Form | undefined> {
  refuseBody(ctx.req, MAX_FORM)
  if (!ctx.is('application/x-www-form-urlencoded')) return undefined
  const text = await readBody(ctx.req, MAX_FORM)
  refuseManyParameters('form', text)
  const form: Form = parse(text, '&', '=', { maxKeys: 0 })
  refuseBadText(form)
  return form
}

/**
 * Passes the query, as Koa has parsed it for every reader, through the input gate.
 * @throws invalid_request
 */
export function checkQuery(ctx: KoaContext): void {
  refuseManyParameters('query', ctx.querystring)
  refuseBadText(ctx.query)
}

/** @throws invalid_request for more parameters than are read: a parser that stopped early would leave some out unseen */
function refuseManyParameters(what: 'form' | 'query', text: string): void {
  if (text.split('&', MAX_PARAMETERS + 1).length <= MAX_PARAMETERS) return
  throw new ApiError('invalid_request', `The ${what} has more than ${MAX_PARAMETERS} parameters.`)
}

/** @throws invalid_request */
function refuseBadText(values: Form): void {
  const fault = gateFault(values)
  if (fault) throw new ApiError('invalid_request', fault)
}

/** One value of a form; a repeated one is none. */
export function field(form: Form, name: string): string | undefined {
  const value = form[name]
  return typeof value === 'string' ? value : undefined
}
