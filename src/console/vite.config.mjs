/**
 * The Vite configuration of the console, which is built into dist/console: the shell and a chunk for each page, without
 * resources of other hosts.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../..')
const out = join(root, 'dist/console')

/** Runs the TypeScript compiler before the build, because Vite does not check types. */
const checkTypes = {
  name: 'check-types',
  buildStart() {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', here, '--pretty', 'false'], {
      encoding: 'utf8',
    })
    if (status !== 0) this.error(stdout)
  },
}

/** Compresses the files at build time instead of for each request. */
const compressOnce = {
  name: 'compress-once',
  async writeBundle() {
    const files = readdirSync(out, { recursive: true, withFileTypes: true })
    const worthwhile = files.filter((file) => file.isFile() && /\.(js|css|svg)$/.test(file.name))
    await Promise.all(
      worthwhile.map(async (file) => {
        const path = join(file.parentPath, file.name)
        const bytes = readFileSync(path)
        if (bytes.length <= 1024) return
        const params = { [constants.BROTLI_PARAM_QUALITY]: 10 }
        writeFileSync(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
        writeFileSync(`${path}.br`, await promisify(brotliCompress)(bytes, { params }))
      }),
    )
  },
}

/** @type {import('vite').UserConfig} */
export default {
  root: here,
  base: '/console/',
  publicDir: false,
  logLevel: 'error',
  resolve: { alias: { documents: join(root, 'graphql/console/generated') } },
  // Placeholder: console-host/pages.ts replaces `%NONCE%` by a new nonce in each response.
  html: { cspNonce: '%NONCE%' },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    // Small files are not inlined as data: URLs, which the content security policy allows only for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
    manifest: 'manifest.json',
  },
  plugins: [checkTypes, compressOnce],
}
