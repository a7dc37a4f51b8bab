// The build, which `npm ci`, `npm start` and `npm test` run. Each step is skipped if its output exists and its
// inputs have not changed since it last succeeded, so that a start without changes takes a few milliseconds.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The example that is compiled with Gatehouse, because a test uses it. */
const clientExample = ['client', 'openapi', 'usage'].map((name) => `examples/typescript-client/${name}.ts`)

// The steps, in order:
// - `tool`: a file in node_modules. Without `script`, it is the program that the step runs.
// - `script`: the program that the step runs instead; it requires the package of `tool`.
// - `inputs`: files and directories. Without the first of them, the step is skipped.
// - `output`: a file that the step writes.
// - `before` runs only if the output does not exist, `after` runs after a successful step.
const steps = [
  {
    name: 'database client',
    tool: 'prisma/build/index.js',
    args: ['generate'],
    inputs: ['prisma/schema.prisma', 'prisma/models', 'prisma.config.ts'],
    output: 'src/platform/postgres/prisma/client.ts',
    // Disables the telemetry and the update messages of Prisma.
    environment: { CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1' },
  },
  {
    name: 'compile',
    tool: 'typescript/bin/tsc',
    args: ['-p', 'tsconfig.json', '--pretty', 'false'],
    inputs: ['src', 'test', 'bench', 'scripts', ...clientExample, 'tsconfig.json'],
    output: 'dist/src/platform/postgres/migrate.js',
    // The output was deleted. With its build info, the compiler would not write unchanged files again.
    before: () => rmSync(join(root, 'dist/.tsbuildinfo'), { force: true }),
    after: removeStale,
  },
  {
    name: 'console documents',
    script: 'scripts/console-documents.mjs',
    tool: '@graphql-codegen/core/package.json',
    args: [],
    inputs: [
      'graphql/console',
      'graphql/schema.graphql',
      'scripts/console-documents.mjs',
      'src/resources/events/event-catalog.ts',
      'src/kernel/scopes.ts',
    ],
    output: 'graphql/console/generated/types.ts',
  },
  {
    name: 'console',
    tool: 'vite/bin/vite.js',
    args: ['build', '--config', 'src/console/vite.config.mjs'],
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
    args: ['build', '--config', 'src/graphql/playground/vite.config.mjs'],
    inputs: ['src/graphql/playground', 'graphql/examples', 'node_modules/graphiql/package.json'],
    output: 'dist/playground/index.html',
  },
]

/** Removes the output of sources that were deleted, because the output of a deleted test would still run. */
function removeStale() {
  for (const folder of ['src', 'test', 'bench', 'scripts', 'examples']) {
    for (const file of filesIn(join('dist', folder))) {
      const source = relative('dist', file).replace(/\.(js|js\.map|d\.ts)$/, '.ts')
      if (source.endsWith('.ts') && !existsSync(join(root, source)) && !existsSync(join(root, `${source}x`))) {
        rmSync(join(root, file))
      }
    }
  }
}

/** Returns all files below a directory (or the file itself), as paths from the root. */
function filesIn(path) {
  const full = join(root, path)
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [path]
  const below = readdirSync(full, { recursive: true, withFileTypes: true })
  return below.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** Returns false for generated files, whose changes would cause a rebuild each time. */
const isSource = (path) => !path.split(sep).includes('generated')

/**
 * Returns a hash of the names, modification times and sizes of the inputs, the package.json of the tool and the
 * arguments.
 */
function fingerprint({ inputs, tool, args }) {
  const hash = createHash('sha256').update(args.join(' '))
  hash.update(readFileSync(join(root, 'node_modules', /^(@[^/]+\/)?[^/]+/.exec(tool)[0], 'package.json')))
  for (const file of inputs.flatMap(filesIn).filter(isSource).sort()) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file}\n${mtimeMs}\n${size}\n`)
  }
  return hash.digest('hex')
}

function build(step) {
  if (!existsSync(join(root, step.inputs[0]))) return
  const stampFile = join(root, 'dist', '.built', step.name.replaceAll(' ', '-'))
  const outputExists = existsSync(join(root, step.output))
  const now = fingerprint(step)
  if (outputExists && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === now) return
  const began = performance.now()
  rmSync(stampFile, { force: true })
  if (!outputExists) step.before?.()
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [step.script ? join(root, step.script) : join(root, 'node_modules', step.tool), ...step.args],
    { cwd: root, encoding: 'utf8', env: { ...process.env, ...step.environment }, windowsHide: true },
  )
  if (status !== 0) {
    console.error(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}\nbuild: ${step.name} failed`)
    process.exit(1)
  }
  step.after?.()
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, now)
  console.log(`build: ${step.name}, ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

if (steps.every(({ tool }) => existsSync(join(root, 'node_modules', tool)))) {
  for (const step of steps) build(step)
} else if (!existsSync(join(root, 'dist/src'))) {
  console.error('build: there is no build, and the build tools are not installed; run: npm ci --include=dev')
  // `npm install` (its `prepare` script) succeeds without a build; a start fails.
  process.exitCode = process.env.npm_lifecycle_event === 'prepare' ? 0 : 1
}
