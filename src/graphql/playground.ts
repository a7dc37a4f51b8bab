/** `/playground`: GraphiQL, built into dist/playground. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Middleware } from 'koa'
import { html } from '../kernel/html.js'
import { contentSecurityPolicy, htmlDocument, pageHeaders } from '../platform/http/html-page.js'
import { readBundle, sendBundleFile } from '../platform/http/static-files.js'
import { packageRoot } from '../platform/package-info.js'

/** The content security policy: only resources of this host. The editor uses inline styles and data: images. */
const policy = contentSecurityPolicy({
  'default-src': "'self'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'worker-src': "'self'",
  'object-src': "'none'",
  'form-action': "'none'",
})

const notBuilt = htmlDocument({
  title: 'Gatehouse playground',
  style: '',
  body: html`<h1>The playground is not built</h1>
<p>Run <code>npm run build</code> and reload this page. The GraphQL API is available at <code>POST /graphql</code>.</p>`,
})

/**
 * Serves `/playground` and the files below it.
 * @param folder the directory of the bundle
 */
export function mountPlayground(folder = join(packageRoot, 'dist/playground')): Middleware {
  const builtAt = () => statSync(join(folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs
  let loadedBuildTime = builtAt()
  let files = readBundle(folder, { pages: true })
  return (ctx) => {
    ctx.state['route'] = '/playground'
    ctx.set(pageHeaders(policy, { 'Cross-Origin-Opener-Policy': 'same-origin' }))
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD')
      ctx.status = 405
      return
    }
    const name = ctx.path.slice('/playground'.length)
    const isPage = name === '' || name === '/'
    // A build that ran while the server was running has created new files, so they are read again.
    if (isPage && builtAt() !== loadedBuildTime) {
      loadedBuildTime = builtAt()
      files = readBundle(folder, { pages: true })
    }
    const file = files.get(isPage ? '/index.html' : name)
    if (file) return sendBundleFile(ctx, file)
    if (!isPage) return
    ctx.status = 503
    ctx.type = 'html'
    ctx.body = notBuilt
  }
}
