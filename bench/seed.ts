/** Rows by the hundred thousand for benchmarks: written into a file in the order of time, which the database COPYs. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { type IdPrefix, newRow } from '../src/kernel/ids.js'

/** What rows belong to. */
export interface Place {
  accountId: string
  issuerId: string
  orgId: string
  /** Whose sessions. */
  userId: string
  /** Whose deliveries. */
  webhookId: string
}

type Values = Record<string, unknown>

/** A table with a row's columns besides id and times. `n` counts from zero. */
export interface Seed {
  table: string
  prefix: IdPrefix
  row(place: Place, n: number): Values
}

const inIssuer = ({ accountId, issuerId }: Place): Values => ({ account_id: accountId, issuer_id: issuerId })
const inOrg = (place: Place): Values => ({ ...inIssuer(place), org_id: place.orgId })
/** One in a hundred. */
const rarely = (n: number, often: string, rare: string): string => (n % 100 === 0 ? rare : often)

const given = ['ada', 'bo', 'chidi', 'dunja', 'emre', 'fatou', 'grace', 'hedy', 'ines', 'joan']
const family = 'lovelace hopper noether curie meitner franklin johnson lamarr turing germain'.split(' ')

export const users: Seed = {
  table: 'users',
  prefix: 'usr',
  row: (place, n) => {
    const [one, two] = [given[n % 10]!, family[Math.floor(n / 10) % 10]!]
    const key = `${one}.${two}${n}@example.com`
    const profile = { name: `${one} ${two} ${n}`, given_name: one, family_name: two, email: key }
    return {
      ...inIssuer(place),
      username_type: 'email',
      username: key,
      username_key: key,
      username_hash: `sha256:${createHash('sha256').update(key).digest('hex')}`,
      profile: JSON.stringify(profile),
      scopes: '{}',
      status: 'active',
    }
  },
}

/** The other lists that may be long. `userIds` are those of members. */
export const others = (userIds: readonly string[]): Seed[] => [
  {
    table: 'clients',
    prefix: 'cli',
    row: (place, n) => ({
      ...inIssuer(place),
      name: `Client ${n}`,
      type: 'external',
      confidential: false,
      settings: '{}',
      status: rarely(n, 'active', 'disabled'),
    }),
  },
  {
    table: 'organizations',
    prefix: 'org',
    row: (place, n) => ({
      ...inIssuer(place),
      name: `Organization ${n}`,
      default_member_scopes: '{}',
      scopes: '{}',
      creator_scopes: '{}',
      status: rarely(n, 'active', 'suspended'),
      sso_enabled: n % 200 === 0,
    }),
  },
  {
    table: 'agents',
    prefix: 'agt',
    row: (place, n) => ({
      ...inIssuer(place),
      name: `Agent ${n}`,
      model: `model ${n % 1000}`,
      provider: `provider ${n % 10}`,
      scopes: '{}',
      verifier_types: '{}',
      status: rarely(n, 'active', 'blocked'),
    }),
  },
  {
    table: 'organization_members',
    prefix: 'mem',
    row: (place, n) => ({
      ...inOrg(place),
      user_id: userIds[n],
      scopes: '{}',
      status: rarely(n, 'active', 'suspended'),
    }),
  },
  {
    table: 'organization_invitations',
    prefix: 'inv',
    row: (place, n) => ({
      ...inOrg(place),
      email: `guest${n}@example.com`,
      email_key: `guest${n}@example.com`,
      scopes: '{}',
      groups: '{}',
      token_hash: `${place.orgId} ${n}`,
      status: rarely(n, 'accepted', 'pending'),
      expires_at: Date.now() + 86_400_000,
    }),
  },
  {
    table: 'sessions',
    prefix: 'ses',
    row: (place, n) => ({
      ...inIssuer(place),
      user_id: place.userId,
      client_id: 'cli_bench',
      browser_uid: `${place.userId} ${n}`,
      grant_id: `${place.userId} ${n}`,
      status: 'active',
      auth_time: 0,
      amr: '{}',
      access_token_jti: '{}',
      refresh_token_jti: '{}',
      last_activity_at: Date.now(),
      expires_at: Date.now() + 86_400_000,
    }),
  },
  {
    table: 'notes',
    prefix: 'note',
    row: (place, n) => ({
      ...inIssuer(place),
      subject_type: 'user',
      subject_id: place.userId,
      content: `Note ${n}`,
      pinned: n % 1000 === 0,
      created_by: `author ${n % 100}`,
    }),
  },
]

/** Accounts belong to nobody. */
export const accounts: Seed = { table: 'accounts', prefix: 'acc', row: (_, n) => ({ name: `Account ${n}` }) }

/** Further lists, which only `console-lists` fills. */
export const below: readonly Seed[] = [
  {
    table: 'issuers',
    prefix: 'iss',
    row: ({ accountId }, n) => ({
      account_id: accountId,
      name: `Issuer ${n}`,
      available_scopes: '{}',
      status: rarely(n, 'active', 'disabled'),
      username_key: 'none',
    }),
  },
  {
    table: 'organization_groups',
    prefix: 'grp',
    row: (place, n) => ({ ...inOrg(place), name: `Group ${n}`, scopes: '{}' }),
  },
  {
    table: 'webhook_deliveries',
    prefix: 'dlv',
    row: ({ accountId, webhookId }, n) => ({
      account_id: accountId,
      webhook_id: webhookId,
      event_id: `evt_${n}`,
      event_at: Date.now(),
      event_type: n < 100 ? 'user.deleted' : 'user.created',
      status: n < 100 ? 'failed' : 'delivered',
    }),
  },
  {
    table: 'ledger_entries',
    prefix: 'led',
    row: ({ accountId }, n) => ({
      account_id: accountId,
      type: 'adjustment',
      amount_micro_usd: 1,
      balance_micro_usd: n + 1,
    }),
  },
]

/** Makes `count` rows of this kind, each newer than all before. @returns their ids, the oldest first */
export async function seed(
  db: pg.Client,
  folder: string,
  { table, prefix, row }: Seed,
  place: Place,
  count: number,
): Promise<string[]> {
  const file = join(folder, `${table}.tsv`)
  const out = createWriteStream(file)
  const ids: string[] = []
  let columns: string[] = []
  for (let n = 0; n < count; n++) {
    const { id, createdAt, updatedAt } = newRow(prefix, Date.now())
    const values = { id, ...row(place, n), created_at: createdAt, updated_at: updatedAt }
    columns = Object.keys(values)
    ids.push(id)
    if (!out.write(`${Object.values(values).join('\t')}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  // The database runs as somebody else.
  await chmod(folder, 0o755)
  await chmod(file, 0o644)
  await db.query(`COPY ${table} (${columns.join(', ')}) FROM '${file}'`)
  await chmod(folder, 0o700)
  rmSync(file)
  return ids
}
