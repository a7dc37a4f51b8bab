/**
 * Checks the sources against the rules of docs/architecture.md ("Imports"). The rules include imports of types.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The modules of src/ (folders, and files directly in src/), with the modules that each may import. */
const allowedImports: Record<string, string[]> = {
  cli: ['commands'],
  main: ['app', 'setup', 'platform', 'config', 'kernel'],
  app: ['schedule', 'server', 'idp', 'resources', 'platform', 'config', 'kernel'],
  commands: [
    'main',
    'app',
    'schedule',
    'server',
    'setup',
    'rest',
    'graphql',
    'resources',
    'platform',
    'config',
    'kernel',
  ],
  schedule: ['console-host', 'resources', 'platform', 'kernel'],
  server: ['setup', 'console-host', 'rest', 'graphql', 'access', 'resources', 'platform', 'config', 'kernel'],
  setup: ['console-host', 'idp', 'access', 'resources', 'platform', 'kernel'],
  'console-host': ['access', 'resources', 'platform', 'config', 'kernel'],
  rest: ['graphql', 'access', 'platform', 'config', 'kernel'],
  graphql: ['access', 'resources', 'platform', 'config', 'kernel'],
  idp: ['access', 'resources', 'platform', 'config', 'kernel'],
  access: ['resources', 'platform', 'config', 'kernel'],
  resources: ['platform', 'config', 'kernel'],
  platform: ['config', 'kernel'],
  config: ['kernel'],
  kernel: [],
  // The console runs in the browser. From the server code, it imports only kernel/json-records.
  console: ['kernel'],
}

/** The levels of src/resources. A folder may import from its own level and from earlier levels. */
const containerOrder = [
  // Files directly in src/resources.
  [''],
  ['events', 'keys', 'messages'],
  ['payments', 'webhooks', 'domains', 'notes', 'sessions', 'credentials'],
  ['claims', 'clients', 'users', 'agents'],
  ['organizations'],
  ['issuers'],
  ['registration'],
  ['accounts'],
  ['health'],
]

/** Code (`what`) that only the files in `where` may contain. `why` is the name of the test. */
const restrictedApis: { what: RegExp; where: RegExp; why: string }[] = [
  {
    what: /\bprocess\.env\b/,
    // The code snippets for applications contain process.env.
    where: /^src\/(config\.ts|console\/pages\/clients\/(snippet-templates|server-snippets)\.ts)$/,
    why: 'only src/config.ts reads the environment',
  },
  {
    what: /\bDate\.now\(\)|\bnew Date\(\)/,
    // Code for browsers has no context.
    where: /^src\/((kernel\/time|main|app)\.ts$|console\/)/,
    why: 'only context.now() returns the time',
  },
  {
    what: /['"]oidc-provider\/lib\//,
    where: /^src\/idp\/hooks(\/|\.ts$)/,
    why: 'only src/idp/hooks uses the internals of oidc-provider',
  },
  {
    what: /(from |import\()'(undici|node:https)'|(?<![.\w])fetch\(/,
    // Code for browsers and samples of requests use `fetch`.
    where:
      /^src\/(platform\/outbound\/outbound\.ts|graphql\/playground\/|rest\/reference\/(samples|try-it)\.ts|console\/|idp\/endpoints\/check-session\.ts)/,
    why: 'only platform/outbound sends requests to external URLs',
  },
  {
    what: /ApiError\(\s*'insufficient_scope'/,
    where: /^src\/kernel\/errors\.ts$/,
    why: 'only insufficientScope() creates the error insufficient_scope, so that WWW-Authenticate names the scope',
  },
  {
    what: /from '(node:(fs|net|http|https|http2|tls|dns|child_process|worker_threads|cluster|dgram)\b|pg'|koa|undici|@prisma)/,
    where: /^src\/(?!kernel\/)/,
    why: 'the kernel performs no I/O',
  },
]

/**
 * Files that may read the current request, because oidc-provider calls functions in these files without passing the
 * request. The value names the functions.
 */
const requestReaders: Record<string, string> = {
  'src/idp/hooks/contexts.ts': 'replaced middleware',
  'src/idp/hooks/index.ts': 'replaced methods',
  'src/idp/hooks/issuers.ts': 'getters',
  'src/idp/provider.ts': 'configuration and grants',
  'src/idp/session/sign-in-policy.ts': 'checks',
  'src/idp/store/adapter.ts': 'adapter',
  'src/idp/token/tokens.ts': 'lifetimes',
}

/** Files that may be longer, with the reason. */
const longFiles: Record<string, string> = {
  'src/kernel/limits.ts': 'one table',
  'src/commands/table.ts': 'one table',
}

const meaninglessNames = ['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'base', 'service']

const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
  .filter((path) => !path.startsWith('src/platform/postgres/prisma/'))
  .sort()
const sources = files.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const lineOf = (text: string, at: number) => text.slice(0, at).split('\n').length

/** Returns the relative imports and re-exports of a file, as paths from the root. */
function importsOf({ path, text }: { path: string; text: string }): { line: number; target: string }[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s*['"](\.[^'"]+)['"]|\bimport\s*\(?\s*['"](\.[^'"]+)['"]/g
  return [...text.matchAll(pattern)].map((match) => ({
    line: lineOf(text, match.index + match[0].length),
    target: posix.join(dirname(path), match[1] ?? match[2] ?? '').replace(/\.js$/, '.ts'),
  }))
}

const moduleOf = (path: string): string => path.split('/')[1]!.replace(/\.tsx?$/, '')

function containerLevelOf(path: string): number {
  const [, , folder = '', ...rest] = path.split('/')
  return containerOrder.findIndex((names) => names.includes(rest.length === 0 ? '' : folder))
}

/** Returns why an import is not allowed; undefined when it is. */
function importError(path: string, target: string): string | undefined {
  const [from, to] = [moduleOf(path), moduleOf(target)]
  if (!allowedImports[from]) return `src/${from} is missing in allowedImports; add a row`
  if (!target.startsWith('src/'))
    return /^src\/console\//.test(path) ? undefined : 'the imported file is outside of src/'
  if (from !== to) return allowedImports[from].includes(to) ? undefined : `${from} must not import ${to}`
  if (from !== 'resources') return undefined
  const [left, right] = [containerLevelOf(path), containerLevelOf(target)]
  if (left < 0 || right < 0) return 'a folder of src/resources is missing in containerOrder; add it to a level'
  return right > left ? 'a folder must not import from a later level of containerOrder' : undefined
}

test('imports follow the layers: commands → main → app → rest → graphql → access → resources → platform → kernel', () => {
  const wrong = sources.flatMap((source) =>
    importsOf(source).flatMap(({ line, target }) => {
      const why = importError(source.path, target)
      return why ? [`${source.path}:${line} → ${target}: ${why}`] : []
    }),
  )
  expect(wrong).toEqual([])
})

test('src/ contains five files and the folders in allowedImports', () => {
  const names = readdirSync(join(root, 'src'), { withFileTypes: true })
  const rootFiles = names.filter((entry) => entry.isFile()).map(({ name }) => name)
  expect(rootFiles.sort()).toEqual(['app.ts', 'cli.ts', 'config.ts', 'main.ts', 'schedule.ts'])
  const modules = names.map(({ name }) => name.replace(/\.ts$/, ''))
  expect(modules.sort()).toEqual(Object.keys(allowedImports).sort())
})

test('there are no import cycles', () => {
  const paths = new Set(files)
  // Import paths in the console have no file extension.
  const fileOf = (target: string) =>
    [target, `${target}.ts`, `${target}.tsx`, `${target}/index.ts`, `${target}/index.tsx`].find((path) =>
      paths.has(path),
    )
  const imports = new Map(
    sources.map((source) => [source.path, importsOf(source).flatMap(({ target }) => fileOf(target) ?? [])]),
  )
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, chain: string[]) => {
    const at = chain.indexOf(path)
    if (at >= 0) cycles.push([...chain.slice(at), path].join(' → '))
    if (at >= 0 || done.has(path)) return
    for (const target of imports.get(path) ?? []) visit(target, [...chain, path])
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  expect(cycles).toEqual([])
})

test.each(restrictedApis)('$why', ({ what, where, why }) => {
  const wrong = sources
    .filter(({ path }) => !where.test(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, at) => {
        const isComment = /^\s*(\/\/|\/?\*)/.test(line)
        return !isComment && what.test(line) ? [`${path}:${at + 1} ${line.trim()} (${why})`] : []
      }),
    )
  expect(wrong).toEqual([])
})

test('only the files in requestReaders read the current request; other functions have it as a parameter', () => {
  const readsRequest = /\{[^}]*\b(requestContext|withRequest)\b[^}]*\}\s*from '[^']*\/request-context\.js'/
  const readers = sources.filter(({ text }) => readsRequest.test(text)).map(({ path }) => path)
  expect(readers).toEqual(Object.keys(requestReaders))
})

const MAX_LINES = 330
test(`a file in src/ has at most ${MAX_LINES} lines, unless it is in longFiles`, () => {
  const lengths = sources.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
  expect(lengths.filter(({ path, lines }) => lines > MAX_LINES && !(path in longFiles))).toEqual([])
})

test('no file or folder in src/ has a meaningless name', () => {
  const wrong = files.filter((path) =>
    path.split('/').some((part) => meaninglessNames.includes(part.split('.')[0] ?? '')),
  )
  expect(wrong).toEqual([])
})

test('importsOf finds all forms of imports, and importError refuses wrong ones', () => {
  const text = `
    import a, {
      b,
    } from './a.js'
    import type { C } from '../access/c.js'
    export * from './d.js'
    import './e.js'
    const f = await import('../rest/f.js')
    const words = 'import nothing from here'`
  expect(importsOf({ path: 'src/graphql/x.ts', text })).toEqual([
    { line: 4, target: 'src/graphql/a.ts' },
    { line: 5, target: 'src/access/c.ts' },
    { line: 6, target: 'src/graphql/d.ts' },
    { line: 7, target: 'src/graphql/e.ts' },
    { line: 8, target: 'src/rest/f.ts' },
  ])
  expect(importError('src/graphql/x.ts', 'src/rest/f.ts')).toBe('graphql must not import rest')
  expect(importError('src/resources/users/users.ts', 'src/resources/issuers/issuers.ts')).toContain('later level')
  expect(importError('src/resources/issuers/issuers.ts', 'src/resources/users/users.ts')).toBeUndefined()
})
