// The one build step, behind `npm ci`, `npm start` and `npm test`: a tiny make. Each row is skipped while neither its
// inputs nor its output changed since it last succeeded, so that a start with nothing to do costs a few milliseconds.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

// name, the tool (a program of node_modules, or what a script of ours needs from there), its words, what it reads (no step
// when the first is absent), a file that it makes, and what to do around it.
const steps = [
  {
    name: 'database client',
    tool: 'prisma/build/index.js',
    words: ['generate', '--config', '.config/prisma.ts'],
    inputs: ['prisma/schema.prisma', 'prisma/models', '.config/prisma.ts'],
    output: 'src/platform/prisma/client.ts',
    // Prisma tells its makers of each run unless asked not to, and warns of newer versions.
    environment: { CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1' },
  },
  {
    name: 'compile',
    tool: 'typescript/bin/tsc',
    words: ['-p', 'tsconfig.json', '--pretty', 'false'],
    inputs: ['src', 'test', 'bench', 'tsconfig.json'],
    output: 'dist/src/platform/migrate.js',
    // The compiler believes its notes and would not write again what somebody removed.
    before: () => rmSync(join(root, 'dist/.tsbuildinfo'), { force: true }),
    after: removeStale,
  },
  {
    name: 'console documents',
    script: '.config/console-documents.mjs',
    tool: '@graphql-codegen/core/package.json',
    words: [],
    inputs: [
      'graphql/console',
      'graphql/schema.graphql',
      '.config/console-documents.mjs',
      'src/resources/events/catalogue.ts',
      'src/kernel/scopes.ts',
    ],
    output: 'graphql/console/made/types.ts',
  },
  {
    name: 'console',
    tool: 'vite/bin/vite.js',
    words: ['build', '--config', 'src/console/vite.config.mjs'],
    inputs: [
      'src/console',
      'src/kernel/json-records.ts',
      'graphql/console',
      'graphql/schema.graphql',
      'node_modules/@mantine/core/package.json',
    ],
    output: 'dist/console/index.html',
  },
  {
    name: 'playground',
    tool: 'vite/bin/vite.js',
    words: ['build', '--config', 'src/graphql/playground/vite.config.mjs'],
    inputs: ['src/graphql/playground', 'graphql/examples', 'node_modules/graphiql/package.json'],
    output: 'dist/playground/index.html',
  },
]

/** Results of sources that are gone; tests among them would still run. */
function removeStale() {
  for (const folder of ['src', 'test', 'bench']) {
    for (const file of filesIn(join('dist', folder))) {
      const source = relative('dist', file).replace(/\.(js|js\.map|d\.ts)$/, '.ts')
      if (source.endsWith('.ts') && !existsSync(join(root, source)) && !existsSync(join(root, `${source}x`))) {
        rmSync(join(root, file))
      }
    }
  }
}

/** Every file below a folder (or the file itself), as paths from the root. */
function filesIn(path) {
  const full = join(root, path)
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [path]
  const below = readdirSync(full, { recursive: true, withFileTypes: true })
  return below.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** What a step makes beside its inputs would make it run for ever. */
const isSource = (path) => !path.split(sep).includes('made')

/** Changes with the name, time or size of any input, with the tool's version and with the step itself. */
function fingerprint({ inputs, tool, words }) {
  const hash = createHash('sha256').update(words.join(' '))
  hash.update(readFileSync(join(root, 'node_modules', /^(@[^/]+\/)?[^/]+/.exec(tool)[0], 'package.json')))
  for (const file of inputs.flatMap(filesIn).filter(isSource).sort()) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file}\n${mtimeMs}\n${size}\n`)
  }
  return hash.digest('hex')
}

function build(step) {
  if (!existsSync(join(root, step.inputs[0]))) return
  const note = join(root, 'dist', '.built', step.name.replaceAll(' ', '-'))
  const made = existsSync(join(root, step.output))
  const now = fingerprint(step)
  if (made && existsSync(note) && readFileSync(note, 'utf8') === now) return
  const began = performance.now()
  rmSync(note, { force: true })
  if (!made) step.before?.()
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [step.script ? join(root, step.script) : join(root, 'node_modules', step.tool), ...step.words],
    { cwd: root, encoding: 'utf8', env: { ...process.env, ...step.environment }, windowsHide: true },
  )
  if (status !== 0) {
    console.error(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}\nbuild: ${step.name} failed`)
    process.exit(1)
  }
  step.after?.()
  mkdirSync(dirname(note), { recursive: true })
  writeFileSync(note, now)
  console.log(`build: ${step.name}, ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

if (steps.every(({ tool }) => existsSync(join(root, 'node_modules', tool)))) {
  for (const step of steps) build(step)
} else if (!existsSync(join(root, 'dist/src'))) {
  console.error('build: nothing is built yet and the build tools are not installed: npm ci --include=dev')
  // Installing alone is no mistake; starting then is.
  process.exitCode = process.env.npm_lifecycle_event === 'prepare' ? 0 : 1
}
