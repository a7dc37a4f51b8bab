/**
 * Serves the files of a browser build. Serves only the files that were found at startup, by their exact names, so that
 * a request path cannot reach other files. The build stores compressed copies (`.br`, `.gz`) next to the files.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import type { Context as KoaContext } from 'koa'

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.png': 'image/png',
  '.md': 'text/plain; charset=utf-8',
}
const encodingSuffixes = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof encodingSuffixes

export interface BundleFile {
  /** The path in the file system. */
  path: string
  /** The value of Content-Type. */
  type: string
  /** The size of the file in bytes. */
  size: number
  /** The sizes of the compressed copies in bytes, by content encoding. */
  compressed: Partial<Record<Encoding, number>>
  /** The ETag of an HTML page; undefined for other files, whose names contain a hash of the content. */
  etag: string | undefined
}

/**
 * Returns the files of a bundle by their URL path below the bundle folder, such as `/assets/index-abc.js`. Omits
 * files whose extension is not in `contentTypes`. The map is empty if the bundle has not been built.
 * @param options.pages whether to include `.html` files. False for a caller that uses them as templates.
 */
export function readBundle(folder: string, { pages = false } = {}): Map<string, BundleFile> {
  const files = new Map<string, BundleFile>()
  if (!existsSync(folder)) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = contentTypes[extname(entry.name)]
    if (!entry.isFile() || !type || (type.startsWith('text/html') && !pages)) continue
    const path = join(entry.parentPath, entry.name)
    const compressed: BundleFile['compressed'] = {}
    for (const [name, ending] of Object.entries(encodingSuffixes) as [Encoding, string][]) {
      const compressedFile = statSync(path + ending, { throwIfNoEntry: false })
      if (compressedFile) compressed[name] = compressedFile.size
    }
    const name = `/${relative(folder, path).split(sep).join('/')}`
    const etag = extname(path) === '.html' ? contentEtag(readFileSync(path)) : undefined
    files.set(name, { path, type, size: statSync(path).size, compressed, etag })
  }
  return files
}

/** Returns a weak ETag of the content. It is weak because the compressed copies have the same ETag. */
export const contentEtag = (content: Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url')}"`

/**
 * Sends a file. Browsers revalidate HTML pages with their ETag. They cache other files permanently, because the names
 * of those files contain a hash of the content.
 */
export function sendBundleFile(ctx: KoaContext, file: BundleFile): void {
  ctx.status = 200
  ctx.set({ 'Cache-Control': file.etag ? 'no-cache' : 'public, max-age=31536000, immutable', Vary: 'Accept-Encoding' })
  if (file.etag) ctx.set('ETag', file.etag)
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  const accepted = ctx.acceptsEncodings(...(Object.keys(file.compressed) as Encoding[]), 'identity')
  const encoding = accepted && accepted in encodingSuffixes ? (accepted as Encoding) : undefined
  if (encoding) ctx.set('Content-Encoding', encoding)
  // Koa would open a stream for a HEAD request too, so the body is set only for GET.
  if (ctx.method === 'GET') ctx.body = createReadStream(file.path + (encoding ? encodingSuffixes[encoding] : ''))
  const length = encoding ? file.compressed[encoding] : file.size
  ctx.set({ 'Content-Type': file.type, 'Content-Length': String(length) })
}
