/** Checks `limitTable` of src/kernel/limits.ts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { expect, test } from '@jest/globals'
import { type Limit, limits, limitTable } from '../../src/kernel/limits.js'
import { packageRoot } from '../../src/platform/package-info.js'

const rows = Object.values(limitTable).flatMap((section) => Object.entries<Limit>(section))

test('each limit has a positive value and a sentence that describes it', () => {
  const incomplete = rows.filter(([, { value, meaning }]) => !(value > 0) || !/^[A-Z`].{15,}\.$/.test(meaning))
  expect(incomplete).toEqual([])
})

test('names are unique in all sections', () => {
  const names = rows.map(([name]) => name)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  expect(Object.keys(limits).sort()).toEqual(names.sort())
})

test('exactly the limits whose unit is seconds have names that end with Seconds', () => {
  const wrong = rows.filter(([name, { unit }]) => name.endsWith('Seconds') !== (unit === 'seconds'))
  expect(wrong).toEqual([])
})

/** Constants with names of limits that do not belong in the table, with the reason. */
const exceptions: Record<string, string> = {
  'src/kernel/ids.ts: MAX_ID_TIMESTAMP': 'the format of ids',
  'src/kernel/json-records.ts: MAX_RECORD_BYTES': 'runs in the browser, which does not load the table',
  'src/platform/postgres/cluster.ts: maxSocketFolderLength': 'the operating system sets it',
  'src/platform/postgres/migrate.ts: minPostgresVersion': 'a version',
  'src/resources/credentials/backup-codes.ts: CODE_LENGTH': 'the format of the codes',
  'src/resources/credentials/breached-passwords.ts: PREFIX_LENGTH': 'the format of the requests',
}

const limitWords =
  'MAX|MIN|LIMIT|TIMEOUT|LIFETIME|TTL|INTERVAL|DURATION|DELAY|RETENTION|OVERLAP|THRESHOLD|ATTEMPTS|RETRIES|SIZE|LENGTH'
const constantPattern = /^(?:export )?const ([A-Z][A-Z0-9_]*)\b[^=]*=/gm
const numberPattern = /^(?:export )?const ([a-z]\w*)(?:: number)? = \d/gm
/** Returns true for names such as `MAX_LENGTH` and `lockTimeoutMs`. */
const isNamedLikeLimit = (name: string): boolean =>
  new RegExp(`(^|_)(${limitWords})(_|$)`).test(name.replace(/([a-z])(?=[A-Z])/g, '$1_').toUpperCase())

const sources = readdirSync(join(packageRoot, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(packageRoot, join(entry.parentPath, entry.name)).split(sep).join('/'))
  // The console runs in the browser.
  .filter((path) => !/^src\/(console\/|platform\/postgres\/prisma\/|kernel\/limits\.ts$)/.test(path))

test('limits are defined only in src/kernel/limits.ts', () => {
  const found = sources.flatMap((path) => {
    const text = readFileSync(join(packageRoot, path), 'utf8')
    const names = [...text.matchAll(constantPattern), ...text.matchAll(numberPattern)].map(([, name = '']) => name)
    return names.filter(isNamedLikeLimit).map((name) => `${path}: ${name}`)
  })
  expect(found.sort()).toEqual(Object.keys(exceptions).sort())
})

test('every limit is used', () => {
  const texts = [...sources, 'scripts/reference.ts'].map((path) => readFileSync(join(packageRoot, path), 'utf8'))
  const used = new Set(texts.flatMap((text) => [...text.matchAll(/\blimits\.(\w+)/g)].map(([, name]) => name)))
  // The table computes `signingKeyPublicationLead` from `signingKeyClockSkew`.
  const onlyInTable = ['signingKeyClockSkew']
  expect(rows.map(([name]) => name).filter((name) => !used.has(name) && !onlyInTable.includes(name))).toEqual([])
})
