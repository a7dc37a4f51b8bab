import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { writeMigration } from '../../scripts/new-migration.js'
import { closeShadowDatabase, handWrittenMark, packageRoot, pendingChanges } from '../setup/schema-drift.js'

test('the migrations and the Prisma models describe the same schema', async () => {
  const drift = await pendingChanges()
  if (drift)
    throw new Error(`prisma/models has changed; run: npm run migration -- <name>. Missing in the migrations:\n${drift}`)
})

let root: string
const models = () => join(root, 'prisma', 'models.prisma')
const migrations = () => readdirSync(join(root, 'prisma', 'migrations')).filter((name) => !name.endsWith('.toml'))
const sqlOf = (name: string) => readFileSync(join(root, 'prisma', 'migrations', name, 'migration.sql'), 'utf8')

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-drift-'))
  mkdirSync(join(root, 'prisma'))
  cpSync(join(packageRoot, 'prisma', 'schema.prisma'), join(root, 'prisma', 'schema.prisma'))
})
afterAll(async () => {
  rmSync(root, { recursive: true })
  await closeShadowDatabase()
})

test('a migration is generated from the models, and a rewrite keeps the handwritten part', async () => {
  const things = (extra = '') => `model Thing {
    id   String @id
    kind String
    ${extra}
    @@unique([kind], map: "things_kind", where: raw("kind IN ('a', 'b')"))
    @@map("things")
  }`
  writeFileSync(models(), things())
  await writeMigration({ name: 'init' }, root)
  const [init = ''] = migrations()
  expect(init).toMatch(/^\d{14}_init$/)
  expect(sqlOf(init)).toContain(`CREATE UNIQUE INDEX "things_kind" ON "things"("kind") WHERE (kind IN ('a', 'b'))`)
  expect(await writeMigration({ name: 'nothing' }, root)).toBeNull()

  const byHand = `${handWrittenMark}\nCREATE INDEX things_lower ON things (lower(kind));\n`
  writeFileSync(join(root, 'prisma', 'migrations', init, 'migration.sql'), sqlOf(init).replace(/-- Beyond.*\n/, byHand))
  expect(await writeMigration({ name: 'nothing' }, root)).toBeNull()

  writeFileSync(models(), things('size Int?'))
  await writeMigration({ rewrite: init }, root)
  expect(migrations()).toEqual([init])
  expect(sqlOf(init)).toContain('"size" INTEGER')
  expect(sqlOf(init).endsWith(byHand)).toBe(true)

  await expect(writeMigration({ rewrite: '20200101000000_none' }, root)).rejects.toThrow('Only the newest')
  await expect(writeMigration({ name: 'Bad Name' }, root)).rejects.toThrow('snake_case')
})
