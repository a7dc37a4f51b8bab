/**
 * Limits of docs/contract.md#limits that no other file tests. test/unit/contract-coverage.test.ts lists the test files
 * of each section.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { routes } from '../../src/rest/routes.js'
import { schedule } from '../../src/schedule.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  confidentialClient,
  createTenantFixture,
  requestBodies,
  requiredQueries,
  routePath,
  type TenantFixture,
} from './tenant-fixture.js'

const DAY = 86_400_000

let app: TestApp
let fixture: TenantFixture

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

const lists = routes.filter(({ operation }) => operation.startsWith('list'))
const largest = (operation: string): number => (operation === 'listNoteBacklinks' ? 50 : 100)

describe('limits', () => {
  test.each(lists.map((route) => [route.path, route] as const))(
    'page size of %s: 1 to its maximum',
    async (_, route) => {
      const max = largest(route.operation)
      const ask = async (limit: string) => {
        const query = new URLSearchParams({ ...requiredQueries[route.operation]?.(fixture.ids), limit })
        const response = await fixture.owner.get(`${routePath(route, fixture.ids)}?${query}`)
        return [limit, response.status, response.body.details?.[0]?.field]
      }
      for (const limit of ['1', String(max)]) expect(await ask(limit)).toEqual([limit, 200, undefined])
      for (const limit of ['0', String(max + 1), '-1', '1.5', '1e9', 'x', ''])
        expect(await ask(limit)).toEqual([limit, 400, 'limit'])
    },
  )

  test('the default page size is 50', async () => {
    const { accountId, issuerId, owner, I } = fixture
    await app.gatehouse.database.pool.query(
      `INSERT INTO clients (id, account_id, issuer_id, name, type, confidential, settings, status, created_at, updated_at)
       SELECT 'cli_0' || lpad(n::text, 25, '0'), $1, $2, 'Client', 'external', false, '{}', 'active', 0, 0
       FROM generate_series(1, 60) n`,
      [accountId, issuerId],
    )
    expect(expectStatus(await owner.get(`${I}/clients`), 200)).toMatchObject({ has_more: true, data: { length: 50 } })
  })

  test('soft-delete retention of clients, API keys and personal tokens: 31 days, then their rows are removed', async () => {
    const { owner, A, I, ids } = fixture
    const make = async (path: string, body: object) => expectStatus(await owner.post(path, body), 201).data.id
    const client = await make(`${I}/clients`, confidentialClient())
    const key = await make(`${A}/api-keys`, requestBodies['createApiKey']!())
    const token = await make(`${I}/users/${ids.user_id}/tokens`, requestBodies['createPersonalToken']!())
    for (const path of [`${I}/clients/${client}`, `${A}/api-keys/${key}`, `${A}/tokens/${token}`])
      expectStatus(await owner.delete(path), 204)
    const left = async () => {
      for (const { run } of schedule.filter(({ name }) => /^purge-(clients|api-keys|personal-tokens)$/.test(name)))
        await run(systemContext(app.gatehouse))
      const { prisma } = app.gatehouse.database
      return Promise.all([
        prisma.client.count({ where: { id: client } }),
        prisma.apiKey.count({ where: { id: key } }),
        prisma.personalToken.count({ where: { id: token } }),
      ])
    }
    app.clock.advance(31 * DAY - 60_000)
    expect(await left()).toEqual([1, 1, 1])
    const inForce = await app.gatehouse.database.prisma.apiKey.count({ where: { status: 'active' } })
    app.clock.advance(60_000)
    expect(await left()).toEqual([0, 0, 0])
    expect(await app.gatehouse.database.prisma.apiKey.count({ where: { status: 'active' } })).toBe(inForce)
    expect(expectStatus(await owner.get(`${I}/clients/${ids.client_id}`), 200).data.status).toBe('active')
  })
})
