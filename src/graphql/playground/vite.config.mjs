/** The Vite configuration of the playground, which is built into dist/playground without external resources. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../../..')
const out = join(root, 'dist/playground')

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

/** Compresses files above 1 KiB at build time instead of for each request. */
const compressOnce = {
  name: 'compress-once',
  async writeBundle() {
    const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    await Promise.all(
      files.map(async (file) => {
        const path = join(file.parentPath, file.name)
        const bytes = readFileSync(path)
        if (bytes.length > 1024) writeFileSync(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
      }),
    )
  },
}

/** @type {import('vite').UserConfig} */
export default {
  root: here,
  base: '/playground/',
  publicDir: false,
  // Suppresses warnings, such as those about directives that dependencies contain for other bundlers.
  logLevel: 'error',
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    // Small files are not inlined as data: URLs, which the content security policy allows only for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  plugins: [checkTypes, compressOnce],
}
