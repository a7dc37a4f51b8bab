/** Documents that are the same for every caller: created once, served from memory, with an ETag. */
import { createHash } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { matchesIfNoneMatch } from '../../kernel/etag.js'

export interface StaticDocument {
  readonly type: string
  readonly cacheControl: string
  readonly etag: string
  readonly body: string
}

export function createStaticDocument(type: string, cacheControl: string, value: object): StaticDocument {
  const body = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return { type, cacheControl, etag, body }
}

/**
 * Answers with the document, or 304 if the caller has it (RFC 9110 section 13.1.2). Does not use Koa's `fresh`, which
 * ignores If-None-Match if the request has `Cache-Control: no-cache`, which `fetch` adds.
 */
export function serveStaticDocument(ctx: KoaContext, document: StaticDocument): void {
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Expose-Headers', 'ETag')
  ctx.set('Cache-Control', document.cacheControl)
  ctx.set('ETag', document.etag)
  if (matchesIfNoneMatch(ctx.get('If-None-Match'), document.etag)) {
    ctx.status = 304
    return
  }
  ctx.status = 200
  ctx.body = document.body
  ctx.set('Content-Type', document.type)
}
