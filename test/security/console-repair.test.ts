/** A start repairs a console that cannot be used (docs/decisions/0053-administrator-recovery.md). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import type { ConsolePath } from '../../src/resources/console-path.js'
import { bootstrap } from '../../src/setup/bootstrap.js'
import { Realm } from '../idp/realm.js'
import { expectStatus } from '../setup/actors.js'
import { testSecretKey } from '../setup/database.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../setup/process.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', password: 'correct horse battery staple' }

let app: TestApp
let consolePath: ConsolePath
let prisma: TestApp['gatehouse']['database']['prisma']

beforeAll(async () => {
  app = await startApp({
    env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.username, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })
  prisma = app.gatehouse.database.prisma
  consolePath = await consoleRow()
})
afterAll(() => app.close())

const consoleRow = async () =>
  (await prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })).value as unknown as ConsolePath

const start = () => bootstrap(systemContext(app.gatehouse))

/** Opens the console, submits the password if the page asks for it, and returns the resulting page. */
async function signInUser(at = app.baseUrl): Promise<{ status: number; url: string }> {
  const { account_id: accountId, issuer_id: issuerId } = consolePath
  const A = `/v1/accounts/${accountId}`
  const realm = new Realm(app, { accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator })
  const browser = realm.newBrowser()
  const page = await browser.open(`${at}/console`)
  return page.html.includes('name="password"') ? browser.submit(page, ADMIN) : page
}

/** Changes the database as DELETE of the console issuer did in older versions. */
async function deleteConsoleIssuer(): Promise<void> {
  const gone = { status: 'deleted', deletedAt: Date.now(), updatedAt: Date.now() }
  await prisma.client.updateMany({ where: { issuerId: consolePath.issuer_id }, data: gone })
  await prisma.issuer.update({ where: { id: consolePath.issuer_id }, data: gone })
}

/** Deletes the row of the console issuer, and all rows of other tables with its id, except events. */
async function eraseIssuer(): Promise<void> {
  await prisma.account.updateMany({ data: { adminOrgId: null } })
  await prisma.$executeRawUnsafe(`DO $$ DECLARE t text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR t IN SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE column_name = 'issuer_id' AND table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'event%'
    LOOP EXECUTE format('DELETE FROM %I WHERE issuer_id = ''${consolePath.issuer_id}''', t); END LOOP;
    DELETE FROM issuers WHERE id = '${consolePath.issuer_id}'; END $$`)
}

const damages: Record<string, { damage(): Promise<unknown>; events: string[] }> = {
  'the issuer was deleted, and its client with it': {
    damage: deleteConsoleIssuer,
    events: ['issuer.updated', 'client.updated'],
  },
  'the issuer was suspended': {
    damage: () =>
      prisma.issuer.update({ where: { id: consolePath.issuer_id }, data: { status: 'suspended', updatedAt: 1 } }),
    events: ['issuer.updated'],
  },
  'the client was deleted': {
    damage: () =>
      prisma.client.update({ where: { id: consolePath.client_id }, data: { status: 'deleted', updatedAt: 1 } }),
    events: ['client.updated'],
  },
  'the client lost its redirect URI': {
    damage: () =>
      prisma.$executeRawUnsafe(
        `UPDATE clients SET settings = jsonb_set(settings, '{openid,redirect_uris}', '["https://elsewhere.example/"]'),
         updated_at = updated_at + 1 WHERE id = $1`,
        consolePath.client_id,
      ),
    events: ['client.updated'],
  },
  'the last sign-in method was disabled': {
    damage: () =>
      prisma.authMethod.updateMany({ where: { issuerId: consolePath.issuer_id }, data: { enabledLogin: false } }),
    events: ['issuer.auth_method.updated'],
  },
  'the last sign-in method was deleted': {
    damage: () => prisma.authMethod.deleteMany({ where: { issuerId: consolePath.issuer_id } }),
    events: ['issuer.auth_method.created'],
  },
}

describe('a start repairs the console, with the same issuer and the same administrators', () => {
  test.each(Object.entries(damages))('%s', async (_, { damage, events }) => {
    await damage()
    const recordedEvents = await eventsRecordedFromNow(app, consolePath.account_id)
    await start()
    expect((await recordedEvents('issuer.', 'client.')).map(({ type }) => type)).toEqual(events)
    expect(await consoleRow()).toEqual(consolePath)
    expect(await signInUser()).toMatchObject({ status: 200, url: `${app.baseUrl}/console` })
  })

  test('a missing client is created again, and administrators can sign in', async () => {
    const old = consolePath.client_id
    await prisma.session.deleteMany({ where: { clientId: old } })
    await prisma.client.delete({ where: { id: old } })
    await start()
    consolePath = await consoleRow()
    expect(consolePath.client_id).not.toBe(old)
    expect(await signInUser()).toMatchObject({ status: 200, url: `${app.baseUrl}/console` })
  })

  test('a start on an intact console changes nothing', async () => {
    const recordedEvents = await eventsRecordedFromNow(app, consolePath.account_id)
    const before = await prisma.client.findUniqueOrThrow({ where: { id: consolePath.client_id } })
    await start()
    expect(await recordedEvents('issuer.', 'client.', 'account.')).toEqual([])
    expect(await prisma.client.findUniqueOrThrow({ where: { id: consolePath.client_id } })).toEqual(before)
  })
})

test('two processes that start concurrently on a database without a console issuer create only one', async () => {
  await eraseIssuer()
  const { config } = app.gatehouse
  const env = {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: testSecretKey,
    BASE_URL: config.baseUrl,
    IDP_URL: config.idpUrl,
  }
  const processes: GatehouseProcess[] = []
  try {
    const started = await Promise.allSettled([startProcess(env), startProcess(env)])
    for (const result of started) if (result.status === 'fulfilled') processes.push(result.value)
    expect(started.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    const repairs = processes.map((process) => /repaired the console: ([\w, -]+)/.exec(process.output())?.[1])
    expect(repairs.filter(Boolean)).toEqual(['issuer, sign-in method, client'])
  } finally {
    for (const process of processes) await stopProcess(process)
  }
  const issuers = await prisma.issuer.findMany({ where: { accountId: consolePath.account_id } })
  expect(issuers.map(({ id }) => id)).toEqual([(await consoleRow()).issuer_id])
  expect((await consoleRow()).issuer_id).not.toBe(consolePath.issuer_id)
  const accounts = expectStatus(await app.operator.get('/v1/accounts'), 200).data
  const orgs = await prisma.organization.findMany({ where: { issuerId: issuers[0]!.id } })
  expect(orgs).toHaveLength(accounts.length)
})
