/** The purge jobs remove deleted rows after 31 days (docs/contract.md#limits). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { schedule } from '../../src/schedule.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient, uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000

let app: TestApp
let mine: Tenant
beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await createTenant(app, 'Mine')
})
afterAll(() => app.close())

interface RetainedResource {
  job: string
  /** Creates a resource and deletes or ends it. Returns the id of its row. */
  end(issuer: string): Promise<string>
  /** Creates a resource that stays active. Returns the id of its row. */
  keep(issuer: string): Promise<string>
  count(ids: string[]): Promise<number>
}

const among = (ids: string[]) => ({ where: { id: { in: ids } } })
const create = async (path: string, body: object): Promise<string> =>
  expectStatus(await mine.owner.post(path, body), 201).data.id
const ended = async (path: string, id: string): Promise<string> => {
  expectStatus(await mine.owner.delete(`${path}/${id}`), 204)
  return id
}
const userOf = (I: string) => create(`${I}/users`, { username_type: 'unique', username: uniqueName('u') })
const organizationOf = (I: string) => create(`${I}/organizations`, { invitation_enabled: true })

const client = (I: string) => create(`${I}/clients`, confidentialClient())
const organizationKey = async (I: string) => {
  const path = `${I}/organizations/${await organizationOf(I)}/api-keys`
  return { path, id: await create(path, { type: 'api_key', name: 'k', restrictions: {} }) }
}
const token = async (I: string) =>
  create(`${I}/users/${await userOf(I)}/tokens`, { type: 'personal_token', name: 't', restrictions: {} })
const invitation = async (I: string) => {
  const path = `${I}/organizations/${await organizationOf(I)}/invitations`
  return { path, id: await create(path, { email: `${uniqueName('guest')}@example.com` }) }
}

const kinds: [string, RetainedResource][] = [
  [
    'deleted clients',
    {
      job: 'purge-clients',
      keep: client,
      end: async (I) => ended(`${I}/clients`, await client(I)),
      count: (ids) => app.gatehouse.database.prisma.client.count(among(ids)),
    },
  ],
  [
    'revoked API keys',
    {
      job: 'purge-api-keys',
      keep: async (I) => (await organizationKey(I)).id,
      async end(I) {
        const { path, id } = await organizationKey(I)
        return ended(path, id)
      },
      count: (ids) => app.gatehouse.database.prisma.apiKey.count(among(ids)),
    },
  ],
  [
    'revoked personal tokens',
    {
      job: 'purge-personal-tokens',
      keep: token,
      end: async (I) => ended(`${mine.A}/tokens`, await token(I)),
      count: (ids) => app.gatehouse.database.prisma.personalToken.count(among(ids)),
    },
  ],
]

const run = (name: string) => schedule.find((job) => job.name === name)!.run(systemContext(app.gatehouse))
const issuer = async () => `${mine.A}/issuers/${await create(`${mine.A}/issuers`, { name: uniqueName('I') })}`

test.each(kinds)('%s are removed after 31 days; active rows and deleted issuers remain', async (_, kind) => {
  const [I, gone] = [await issuer(), await issuer()]
  const old = [await kind.end(I), await kind.end(I)]
  const ofGone = [await kind.end(gone)]
  expectStatus(await mine.owner.delete(gone), 204)
  const standing = [await kind.keep(I)]
  app.clock.advance(31 * DAY - 5000)
  // Five seconds before the end of the retention, the job removes nothing.
  await run(kind.job)
  expect(await kind.count([...old, ...ofGone])).toBe(3)
  const late = [await kind.end(I)]
  app.clock.advance(5000)
  await Promise.all([run(kind.job), run(kind.job)])
  await run(kind.job)
  expect([await kind.count(old), await kind.count(ofGone), await kind.count(late), await kind.count(standing)]).toEqual(
    [0, 1, 1, 1],
  )
})

test('account keys are removed as well', async () => {
  const path = `${mine.A}/api-keys`
  const [one, two] = [
    await create(path, { name: 'a', restrictions: {} }),
    await create(path, { name: 'b', restrictions: {} }),
  ]
  expectStatus(await mine.owner.post(`${path}/${one}/revoke`), 200)
  app.clock.advance(31 * DAY)
  await run('purge-api-keys')
  const left = await app.gatehouse.database.prisma.apiKey.findMany({ where: { id: { in: [one, two] } } })
  expect(left.map(({ id }) => id)).toEqual([two])
})

test('personal tokens are removed 31 days after their expiry, revoked or not', async () => {
  const id = await token(mine.I)
  const count = () => app.gatehouse.database.prisma.personalToken.count({ where: { id } })
  app.clock.advance(52 * DAY - 5000)
  await run('purge-personal-tokens')
  expect(await count()).toBe(1)
  app.clock.advance(5000)
  await run('purge-personal-tokens')
  expect(await count()).toBe(0)
})

test('invitations are removed 31 days after their seven days, whatever their status', async () => {
  const open = await invitation(mine.I)
  const revoked = await invitation(mine.I)
  expectStatus(await mine.owner.post(`${revoked.path}/${revoked.id}/revoke`), 200)
  const count = () => app.gatehouse.database.prisma.organizationInvitation.count(among([open.id, revoked.id]))
  app.clock.advance(38 * DAY - 5000)
  await run('purge-invitations')
  expect(await count()).toBe(2)
  app.clock.advance(5000)
  const later = await invitation(mine.I)
  await run('purge-invitations')
  expect(await count()).toBe(0)
  expectStatus(await mine.owner.get(`${later.path}/${later.id}`), 200)
})

test('the rows are removed in batches if there are more than one statement removes', async () => {
  const I = await issuer()
  const place = [mine.accountId, I.split('/').at(-1), app.clock.now() - 31 * DAY]
  await app.gatehouse.database.pool.query(
    `INSERT INTO clients (id, account_id, issuer_id, name, type, confidential, settings, status, deleted_at, created_at, updated_at)
     SELECT 'cli_0' || lpad(n::text, 25, '0'), $1, $2, 'x', 'external', false, '{}', 'deleted', $3, 0, 0
     FROM generate_series(1, 1200) n`,
    place,
  )
  await Promise.all([run('purge-clients'), run('purge-clients')])
  await run('purge-clients')
  const where = { issuerId: place[1] as string }
  expect(await app.gatehouse.database.prisma.client.count({ where })).toBe(0)
})
