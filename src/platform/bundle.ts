/**
 * Serves what the build has made for browsers: each file under its exact name and no other, so that no path leads
 * anywhere else; compressed once, by the build, as `.br` and `.gz` beside it.
 */
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import type { Context as KoaContext } from 'koa'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.md': 'text/plain; charset=utf-8',
}
const encodings = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof encodings

export interface BundleFile {
  path: string
  type: string
  /** Bytes: as it is, and of its compressed twins. */
  size: number
  compressed: Partial<Record<Encoding, number>>
}

/** The files by their address below the bundle's own, such as `/assets/index-abc.js`. Empty before the first build. */
export function bundleIn(folder: string): Map<string, BundleFile> {
  const files = new Map<string, BundleFile>()
  if (!existsSync(folder)) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || !type) continue
    const path = join(entry.parentPath, entry.name)
    const compressed: BundleFile['compressed'] = {}
    for (const [name, ending] of Object.entries(encodings) as [Encoding, string][]) {
      const twin = statSync(path + ending, { throwIfNoEntry: false })
      if (twin) compressed[name] = twin.size
    }
    const name = `/${relative(folder, path).split(sep).join('/')}`
    files.set(name, { path, type, size: statSync(path).size, compressed })
  }
  return files
}

/** Answers with a file whose name holds a hash of its content: it may be kept for good. */
export function sendBundleFile(ctx: KoaContext, file: BundleFile): void {
  const best = ctx.acceptsEncodings(...(Object.keys(file.compressed) as Encoding[]), 'identity')
  const encoding = best && best in encodings ? (best as Encoding) : undefined
  ctx.status = 200
  ctx.set({ 'Cache-Control': 'public, max-age=31536000, immutable', Vary: 'Accept-Encoding' })
  if (encoding) ctx.set('Content-Encoding', encoding)
  // Koa would open the file for HEAD as well, and guess a type for the stream.
  if (ctx.method === 'GET') ctx.body = createReadStream(file.path + (encoding ? encodings[encoding] : ''))
  const length = encoding ? file.compressed[encoding] : file.size
  ctx.set({ 'Content-Type': file.type, 'Content-Length': String(length) })
}
