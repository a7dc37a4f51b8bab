/**
 * The house rules of docs/architecture, read from the sources: who may import whom, where the world may be touched, how
 * large and by what name a file may be. Imports of types count as well: knowing a name is knowing.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Each room of src with the rooms that it may import. */
const rooms: Record<string, string[]> = {
  cli: ['commands', 'config', 'kernel'],
  commands: ['main', 'app', 'rest', 'graphql', 'idp', 'access', 'resources', 'platform', 'config', 'kernel'],
  main: ['app', 'rest', 'graphql', 'idp', 'access', 'resources', 'platform', 'config', 'kernel'],
  app: ['console-host', 'rest', 'graphql', 'idp', 'access', 'resources', 'platform', 'config', 'kernel'],
  rest: ['graphql', 'access', 'platform', 'config', 'kernel'],
  graphql: ['access', 'resources', 'platform', 'config', 'kernel'],
  idp: ['access', 'resources', 'platform', 'config', 'kernel'],
  access: ['resources', 'platform', 'config', 'kernel'],
  resources: ['platform', 'config', 'kernel'],
  platform: ['config', 'kernel'],
  config: ['kernel'],
  kernel: [],
  // The console's server part; the console itself knows its documents, and the kernel's reader of files (0047).
  'console-host': ['access', 'resources', 'platform', 'config', 'kernel'],
  console: ['kernel'],
}
/** Files of src itself are parts of the wiring, but for these. */
const roomOfFile: Record<string, string> = { main: 'main', cli: 'cli', config: 'config', settings: 'config' }

/** Inside resources the container knows its contents: no column imports one to its right. */
const columns = [
  // The files of src/resources itself (place, …), which all of them use.
  [''],
  ['events', 'keys', 'messages'],
  ['payments', 'webhooks', 'domains', 'notes', 'sessions', 'credentials'],
  ['clients', 'users', 'agents'],
  ['organizations'],
  ['issuers'],
  ['accounts'],
  ['health'],
]

/** Text that only some files may hold. */
const only: { what: RegExp; where: RegExp; why: string }[] = [
  {
    what: /\bprocess\.env\b/,
    // Besides, snippets for other people's programs read theirs.
    where: /^src\/(config\.ts|console\/pages\/clients\/snippet-texts\.ts)$/,
    why: 'the environment is read by src/config.ts alone',
  },
  {
    what: /\bDate\.now\(\)|\bnew Date\(\)/,
    // Besides, what runs in browsers has no context.
    where: /^src\/((kernel\/time|main|app)\.ts$|console\/)/,
    why: 'the time comes from context.now() alone',
  },
  {
    what: /['"]oidc-provider\/lib\//,
    where: /^src\/idp\/hooks(\/|\.ts$)/,
    why: "the library's insides are for src/idp/hooks alone",
  },
  {
    what: /(from |import\()'(undici|node:https)'|(?<![.\w])fetch\(/,
    // Besides it, what runs in browsers.
    where: /^src\/(platform\/outbound\.ts|graphql\/playground\/|console\/|idp\/endpoints\/check-session\.ts)/,
    why: 'other people are called by platform/outbound alone',
  },
  {
    what: /ApiError\(\s*'insufficient_scope'/,
    where: /^src\/kernel\/errors\.ts$/,
    why: 'a missing scope is named by insufficientScope, with its challenge',
  },
  {
    what: /from '(node:(fs|net|http|https|http2|tls|dns|child_process|worker_threads|cluster|dgram)\b|pg'|koa|undici|@prisma)/,
    where: /^src\/(?!kernel\/)/,
    why: 'the kernel touches nothing outside the process',
  },
]

/** Files of more than 300 lines, each with its reason. */
const long: Record<string, string> = {}

const emptyNames = ['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'base', 'service']

const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
  .filter((path) => !path.startsWith('src/platform/prisma/'))
  .sort()
const sources = files.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const lineOf = (text: string, at: number) => text.slice(0, at).split('\n').length

/** The relative imports and re-exports of a file, resolved to paths from the root. */
function importsOf({ path, text }: { path: string; text: string }): { line: number; target: string }[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s*['"](\.[^'"]+)['"]|\bimport\s*\(?\s*['"](\.[^'"]+)['"]/g
  return [...text.matchAll(pattern)].map((match) => ({
    line: lineOf(text, match.index + match[0].length),
    target: posix.join(dirname(path), match[1] ?? match[2] ?? '').replace(/\.js$/, '.ts'),
  }))
}

function roomOf(path: string): string {
  const [, name = '', inside] = path.split('/')
  return inside === undefined ? (roomOfFile[name.replace(/\.tsx?$/, '')] ?? 'app') : name
}

function columnOf(path: string): number {
  const [, , folder = '', ...rest] = path.split('/')
  return columns.findIndex((names) => names.includes(rest.length === 0 ? '' : folder))
}

/** Why this import goes the wrong way, or nothing. */
function objection(path: string, target: string): string | undefined {
  const [from, to] = [roomOf(path), roomOf(target)]
  if (!rooms[from]) return `src/${from} is no room that this test knows: give it a row`
  if (!target.startsWith('src/')) return /^src\/console\//.test(path) ? undefined : 'it lies outside src'
  if (from !== to) return rooms[from].includes(to) ? undefined : `${from} must not import ${to}`
  if (from !== 'resources') return undefined
  const [left, right] = [columnOf(path), columnOf(target)]
  if (left < 0 || right < 0) return 'one of the two is no resource that this test knows: give it a column'
  return right > left ? 'contents must not import their container' : undefined
}

test('imports go one way: commands → main → app → rest → graphql → access → resources → platform → kernel', () => {
  const wrong = sources.flatMap((source) =>
    importsOf(source).flatMap(({ line, target }) => {
      const why = objection(source.path, target)
      return why ? [`${source.path}:${line} → ${target}: ${why}`] : []
    }),
  )
  expect(wrong).toEqual([])
})

test.each(only)('$why', ({ what, where, why }) => {
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

test('a file in src has at most 300 lines, unless its reason stands here', () => {
  const lengths = sources.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
  expect(lengths.filter(({ path, lines }) => lines > 300 && !(path in long))).toEqual([])
})

test('no file or folder has a name that says nothing', () => {
  const wrong = files.filter((path) => path.split('/').some((part) => emptyNames.includes(part.split('.')[0] ?? '')))
  expect(wrong).toEqual([])
})

test('the test reads imports of every form', () => {
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
  expect(objection('src/graphql/x.ts', 'src/rest/f.ts')).toBe('graphql must not import rest')
  expect(objection('src/resources/users/users.ts', 'src/resources/issuers/issuers.ts')).toContain('container')
  expect(objection('src/resources/issuers/issuers.ts', 'src/resources/users/users.ts')).toBeUndefined()
})
