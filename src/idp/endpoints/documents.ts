/** Documents that are the same for everyone: made once, served from memory, revalidated by their tag. */
import { createHash } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { noneMatch } from '../../kernel/etag.js'

export interface StaticDocument {
  readonly type: string
  readonly cacheControl: string
  readonly etag: string
  readonly body: string
}

export function documentOf(type: string, cacheControl: string, value: object): StaticDocument {
  const body = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return { type, cacheControl, etag, body }
}

/**
 * Answers with the document, or 304 when the caller has it (RFC 9110 13.1.2). Compared here and not by Koa's `fresh`,
 * which lets `Cache-Control: no-cache` win, and fetch sends that with every If-None-Match.
 */
export function serveDocument(ctx: KoaContext, document: StaticDocument): void {
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Expose-Headers', 'ETag')
  ctx.set('Cache-Control', document.cacheControl)
  ctx.set('ETag', document.etag)
  if (noneMatch(ctx.get('If-None-Match'), document.etag)) {
    ctx.status = 304
    return
  }
  ctx.status = 200
  ctx.body = document.body
  ctx.set('Content-Type', document.type)
}
