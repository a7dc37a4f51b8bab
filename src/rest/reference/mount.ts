/** `/docs`: the REST reference as HTML. The page is generated and compressed on the first request. */
import { gzipSync } from 'node:zlib'
import type { Middleware } from 'koa'
import type { Gatehouse } from '../../platform/context.js'
import { contentSecurityPolicy, hashSource, pageHeaders } from '../../platform/http/html-page.js'
import { contentEtag } from '../../platform/http/static-files.js'
import { openApiDocument } from '../openapi.js'
import { referencePage } from './page.js'
import { script } from './script.js'
import { style } from './style.js'

/** The content security policy: no external resources; the inline script and style are allowed by hash. */
const policy = contentSecurityPolicy({
  'script-src': hashSource(script),
  'style-src': hashSource(style),
  'img-src': 'data:',
  'form-action': "'none'",
})

export function mountReference({ config, prices }: Gatehouse): Middleware {
  let cachedPage: { page: Buffer; gzip: Buffer; etag: string } | undefined
  const createPage = () => {
    const page = Buffer.from(referencePage(openApiDocument(config.baseUrl, prices), { script, style }))
    return { page, gzip: gzipSync(page), etag: contentEtag(page) }
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
