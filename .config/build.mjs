// The one build step: Prisma's client, then the compiler.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const run = (script, ...words) => {
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules', script), ...words], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
if (existsSync(join(root, 'node_modules/prisma'))) {
  run('prisma/build/index.js', 'generate', '--config', '.config/prisma.ts')
  run('typescript/bin/tsc', '-p', 'tsconfig.json')
}
