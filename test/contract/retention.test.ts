/** What is kept for 31 days is gone after them (spec section 8), by the jobs of the schedule, as the clock tells. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { schedule } from '../../src/schedule.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient, fresh } from './world.js'

const DAY = 86_400_000

let app: TestApp
let mine: Tenant
beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await makeTenant(app, 'Mine')
})
afterAll(() => app.close())

interface Kept {
  job: string
  /** Makes one and ends it; answers the id of its row. */
  end(issuer: string): Promise<string>
  /** Makes one that stands. */
  keep(issuer: string): Promise<string>
  count(ids: string[]): Promise<number>
}

const among = (ids: string[]) => ({ where: { id: { in: ids } } })
const make = async (path: string, body: object): Promise<string> => must(await mine.owner.post(path, body), 201).data.id
const ended = async (path: string, id: string): Promise<string> => {
  must(await mine.owner.delete(`${path}/${id}`), 204)
  return id
}
const userOf = (I: string) => make(`${I}/users`, { username_type: 'unique', username: fresh('u') })
const organizationOf = (I: string) => make(`${I}/organizations`, { invitation_enabled: true })

const client = (I: string) => make(`${I}/clients`, confidentialClient())
const organizationKey = async (I: string) => {
  const path = `${I}/organizations/${await organizationOf(I)}/api-keys`
  return { path, id: await make(path, { type: 'api_key', name: 'k', restrictions: {} }) }
}
const token = async (I: string) =>
  make(`${I}/users/${await userOf(I)}/tokens`, { type: 'personal_token', name: 't', restrictions: {} })
const invitation = async (I: string) => {
  const path = `${I}/organizations/${await organizationOf(I)}/invitations`
  return { path, id: await make(path, { email: `${fresh('guest')}@example.com` }) }
}

const kinds: [string, Kept][] = [
  [
    'deleted clients',
    {
      job: 'purge-clients',
      keep: client,
      end: async (I) => ended(`${I}/clients`, await client(I)),
      count: (ids) => app.gatehouse.tools.prisma.client.count(among(ids)),
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
      count: (ids) => app.gatehouse.tools.prisma.apiKey.count(among(ids)),
    },
  ],
  [
    'revoked personal tokens',
    {
      job: 'purge-personal-tokens',
      keep: token,
      end: async (I) => ended(`${mine.A}/tokens`, await token(I)),
      count: (ids) => app.gatehouse.tools.prisma.personalToken.count(among(ids)),
    },
  ],
]

const run = (name: string) => schedule.find((job) => job.name === name)!.run(systemContext(app.gatehouse))
const issuer = async () => `${mine.A}/issuers/${await make(`${mine.A}/issuers`, { name: fresh('I') })}`

test.each(kinds)(
  '%s stay 31 days and not longer; what stands, and deleted issuers, are left alone',
  async (_, kind) => {
    const [I, gone] = [await issuer(), await issuer()]
    const old = [await kind.end(I), await kind.end(I)]
    const ofGone = [await kind.end(gone)]
    must(await mine.owner.delete(gone), 204)
    const standing = [await kind.keep(I)]
    app.clock.advance(31 * DAY - 5000)
    // Not a moment too early.
    await run(kind.job)
    expect(await kind.count([...old, ...ofGone])).toBe(3)
    const late = [await kind.end(I)]
    app.clock.advance(5000)
    await Promise.all([run(kind.job), run(kind.job)])
    await run(kind.job)
    expect([
      await kind.count(old),
      await kind.count(ofGone),
      await kind.count(late),
      await kind.count(standing),
    ]).toEqual([0, 1, 1, 1])
  },
)

test('keys of accounts go as well', async () => {
  const path = `${mine.A}/api-keys`
  const [one, two] = [
    await make(path, { name: 'a', restrictions: {} }),
    await make(path, { name: 'b', restrictions: {} }),
  ]
  must(await mine.owner.post(`${path}/${one}/revoke`), 200)
  app.clock.advance(31 * DAY)
  await run('purge-api-keys')
  const left = await app.gatehouse.tools.prisma.apiKey.findMany({ where: { id: { in: [one, two] } } })
  expect(left.map(({ id }) => id)).toEqual([two])
})

test('personal tokens that ran out 31 days ago go, revoked or not', async () => {
  const id = await token(mine.I)
  const count = () => app.gatehouse.tools.prisma.personalToken.count({ where: { id } })
  app.clock.advance(52 * DAY - 5000)
  await run('purge-personal-tokens')
  expect(await count()).toBe(1)
  app.clock.advance(5000)
  await run('purge-personal-tokens')
  expect(await count()).toBe(0)
})

test('invitations leave 31 days after their seven, whatever became of them', async () => {
  const open = await invitation(mine.I)
  const revoked = await invitation(mine.I)
  must(await mine.owner.post(`${revoked.path}/${revoked.id}/revoke`), 200)
  const count = () => app.gatehouse.tools.prisma.organizationInvitation.count(among([open.id, revoked.id]))
  app.clock.advance(38 * DAY - 5000)
  await run('purge-invitations')
  expect(await count()).toBe(2)
  app.clock.advance(5000)
  const later = await invitation(mine.I)
  await run('purge-invitations')
  expect(await count()).toBe(0)
  must(await mine.owner.get(`${later.path}/${later.id}`), 200)
})

test('batch by batch: more than one statement takes', async () => {
  const I = await issuer()
  const place = [mine.accountId, I.split('/').at(-1), app.clock.now() - 31 * DAY]
  await app.gatehouse.tools.pool.query(
    `INSERT INTO clients (id, account_id, issuer_id, name, type, confidential, settings, status, deleted_at, created_at, updated_at)
     SELECT 'cli_0' || lpad(n::text, 25, '0'), $1, $2, 'x', 'external', false, '{}', 'deleted', $3, 0, 0
     FROM generate_series(1, 1200) n`,
    place,
  )
  await Promise.all([run('purge-clients'), run('purge-clients')])
  await run('purge-clients')
  const where = { issuerId: place[1] as string }
  expect(await app.gatehouse.tools.prisma.client.count({ where })).toBe(0)
})
