/** Documents that are the same for every caller. They are created once and served from memory with an ETag. */
import { createHash } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { matchesIfNoneMatch } from '../../kernel/etag.js'

export interface StaticDocument {
  readonly type: string
  readonly cacheControl: string
  readonly etag: string
  readonly body: string
}

/**
 * Creates a document with its ETag.
 * @param type the media type
 * @param value the JSON content
 */
export function createStaticDocument(type: string, cacheControl: string, value: object): StaticDocument {
  const body = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return { type, cacheControl, etag, body }
}

/**
 * Responds with the document, or with 304 if the caller has it (RFC 9110 section 13.1.2). Koa's `fresh` is not used: it
 * ignores `If-None-Match` if the request has `Cache-Control: no-cache`, which `fetch` adds to such requests.
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
