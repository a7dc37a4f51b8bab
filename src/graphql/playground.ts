/**
 * `/playground`: GraphiQL for people, built into dist/playground from the folder beside this file. Only the files that
 * the build made are served, each under its exact name, so that no path leads anywhere else.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import type { Middleware } from 'koa'
import { packageRoot } from '../platform/package-root.js'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.md': 'text/plain; charset=utf-8',
}

/** Everything comes from this host. The editor sets styles on its elements and has two pictures inside its own style. */
const policy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Gatehouse playground</title></head><body><h1>The playground is not built</h1>
<p>Run <code>npm run build</code> and start Gatehouse again. GraphQL itself works: <code>POST /graphql</code>.</p></body></html>`

interface Served {
  path: string
  type: string
  size: number
  /** Bytes of the compressed twin, if there is one. */
  gzip: number | undefined
  cache: string
  etag: string | undefined
}

/**
 * Serves the playground: `/playground` and the files below it.
 * @param folder where the bundle lies
 */
export function mountPlayground(folder = join(packageRoot, 'dist/playground')): Middleware {
  const builtAt = () => statSync(join(folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs
  let builtThen = builtAt()
  let files = served(folder)
  return (ctx) => {
    ctx.state['route'] = '/playground'
    ctx.set({
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    })
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD')
      ctx.status = 405
      return
    }
    const name = ctx.path.slice('/playground'.length)
    const isPage = name === '' || name === '/'
    // A build while we run makes a page that names new files.
    if (isPage && builtAt() !== builtThen) {
      builtThen = builtAt()
      files = served(folder)
    }
    const file = files.get(isPage ? '/index.html' : name)
    if (!file) {
      ctx.set('Cache-Control', 'no-store')
      if (!isPage) return
      ctx.status = 503
      ctx.type = 'html'
      ctx.body = notBuilt
      return
    }
    ctx.status = 200
    ctx.set({ 'Cache-Control': file.cache, Vary: 'Accept-Encoding' })
    if (file.etag) ctx.set('ETag', file.etag)
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    const compressed = file.gzip !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    if (compressed) ctx.set('Content-Encoding', 'gzip')
    const length = compressed ? file.gzip! : file.size
    // Koa would open the file for HEAD as well, and guess a type for the stream.
    if (ctx.method === 'GET') ctx.body = createReadStream(compressed ? `${file.path}.gz` : file.path)
    ctx.set({ 'Content-Type': file.type, 'Content-Length': String(length) })
  }
}

/** The bundle's files by their address below `/playground`. Empty before the first build. */
function served(folder: string): Map<string, Served> {
  const files = new Map<string, Served>()
  if (!existsSync(join(folder, 'index.html'))) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || !type) continue
    const path = join(entry.parentPath, entry.name)
    const name = `/${relative(folder, path).split(sep).join('/')}`
    // The build puts a hash of the content into the names below assets/; the page that names them must be asked for.
    const hashed = name.startsWith('/assets/')
    files.set(name, {
      path,
      type,
      size: statSync(path).size,
      gzip: existsSync(`${path}.gz`) ? statSync(`${path}.gz`).size : undefined,
      cache: hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      etag: hashed ? undefined : `W/"${createHash('sha256').update(readFileSync(path)).digest('base64url')}"`,
    })
  }
  return files
}
