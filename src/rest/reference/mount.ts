/** `/docs`: the reference of `/v1` for people. Made once and compressed once, for it is the same for everybody. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Middleware } from 'koa'
import type { Gatehouse } from '../../platform/context.js'
import { openApiDocument } from '../openapi.js'
import { referencePage } from './page.js'
import { script } from './script.js'
import { style } from './style.js'

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Nothing comes from anywhere; what is inline is named by its hash. */
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function mountReference({ config, prices }: Gatehouse): Middleware {
  let made: { page: Buffer; gzip: Buffer; etag: string } | undefined
  const make = () => {
    const page = Buffer.from(referencePage(openApiDocument(config.baseUrl, prices), { script, style }))
    return { page, gzip: gzipSync(page), etag: `W/"${createHash('sha256').update(page).digest('base64url')}"` }
  }
  return (ctx, next) => {
    if (ctx.path !== '/docs' && ctx.path !== '/docs/') return next()
    ctx.state['route'] = '/docs'
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD')
      ctx.status = 405
      return undefined
    }
    made ??= make()
    ctx.set({
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
      Vary: 'Accept-Encoding',
      ETag: made.etag,
    })
    ctx.status = 200
    if (ctx.fresh) {
      ctx.status = 304
      return undefined
    }
    const compressed = ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    if (compressed) ctx.set('Content-Encoding', 'gzip')
    ctx.type = 'html'
    ctx.body = compressed ? made.gzip : made.page
    return undefined
  }
}
