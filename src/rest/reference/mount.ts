/** `/docs`: the REST reference as HTML. The page is generated and compressed on the first request. */
import { gzipSync } from 'node:zlib'
import type { Middleware } from 'koa'
import type { Gatehouse } from '../../platform/context.js'
import { contentSecurityPolicy, hashSource, pageHeaders } from '../../platform/http/html-page.js'
import { contentEtag } from '../../platform/http/static-files.js'
import { openApiDocument } from '../openapi.js'
import type { ApiDocument } from './document.js'
import { referencePage } from './page.js'
import { pageScript } from './script.js'
import { style } from './style.js'
import { tryItScript } from './try-it.js'

const script = `(() => {${pageScript}${tryItScript}})()`

/**
 * The content security policy: no external resources; the inline script and style are allowed by hash. Scripts can send
 * requests only to this origin, for "Try it".
 */
const policy = contentSecurityPolicy({
  'script-src': hashSource(script),
  'style-src': hashSource(style),
  'img-src': 'data:',
  'connect-src': "'self'",
  'form-action': "'none'",
})

export function mountReference({ config, prices }: Gatehouse): Middleware {
  let cachedPage: { page: Buffer; gzip: Buffer; etag: string } | undefined
  const createPage = () => {
    const document = openApiDocument(config.baseUrl, prices) as unknown as ApiDocument
    const page = Buffer.from(referencePage(document, { script, style }))
    return { page, gzip: gzipSync(page, { level: 9 }), etag: contentEtag(page) }
  }
  return (ctx, next) => {
    if (ctx.path !== '/docs' && ctx.path !== '/docs/') return next()
    ctx.state['route'] = '/docs'
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD')
      ctx.status = 405
      return undefined
    }
    cachedPage ??= createPage()
    ctx.set(
      pageHeaders(policy, {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cache-Control': 'no-cache',
        Vary: 'Accept-Encoding',
        ETag: cachedPage.etag,
      }),
    )
    ctx.status = 200
    if (ctx.fresh) {
      ctx.status = 304
      return undefined
    }
    const compressed = ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    if (compressed) ctx.set('Content-Encoding', 'gzip')
    ctx.type = 'html'
    ctx.body = compressed ? cachedPage.gzip : cachedPage.page
    return undefined
  }
}
