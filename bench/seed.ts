/** Inserts hundreds of thousands of rows for benchmarks, with COPY from a file in the order of their times. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { type IdPrefix, newRow } from '../src/kernel/ids.js'

/** The ids of the resources that the rows belong to. */
export interface SeedScope {
  accountId: string
  issuerId: string
  orgId: string
  /** The user of the sessions. */
  userId: string
  /** The webhook of the deliveries. */
  webhookId: string
}

type Values = Record<string, unknown>

/** A table and the values of its rows. */
export interface SeedTable {
  table: string
  idPrefix: IdPrefix
  /** Returns the columns of the row number `n` (from zero), without `id`, `created_at` and `updated_at`. */
  row(place: SeedScope, n: number): Values
}

const issuerColumns = ({ accountId, issuerId }: SeedScope): Values => ({ account_id: accountId, issuer_id: issuerId })
const organizationColumns = (place: SeedScope): Values => ({ ...issuerColumns(place), org_id: place.orgId })
/** Returns `rare` for one row in a hundred, otherwise `often`. */
const oneInHundred = (n: number, often: string, rare: string): string => (n % 100 === 0 ? rare : often)

const givenNames = ['ada', 'bo', 'chidi', 'dunja', 'emre', 'fatou', 'grace', 'hedy', 'ines', 'joan']
const familyNames = 'lovelace hopper noether curie meitner franklin johnson lamarr turing germain'.split(' ')

export const usersTable: SeedTable = {
  table: 'users',
  idPrefix: 'usr',
  row: (place, n) => {
    const [one, two] = [givenNames[n % 10]!, familyNames[Math.floor(n / 10) % 10]!]
    const key = `${one}.${two}${n}@example.com`
    const profile = { name: `${one} ${two} ${n}`, given_name: one, family_name: two, email: key }
    return {
      ...issuerColumns(place),
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

/**
 * Returns the tables behind the other long lists of an issuer, besides users.
 * @param userIds the users who become members of the organization
 */
export const issuerTables = (userIds: readonly string[]): SeedTable[] => [
  {
    table: 'clients',
    idPrefix: 'cli',
    row: (place, n) => ({
      ...issuerColumns(place),
      name: `Client ${n}`,
      type: 'external',
      confidential: false,
      settings: '{}',
      status: oneInHundred(n, 'active', 'disabled'),
    }),
  },
  {
    table: 'organizations',
    idPrefix: 'org',
    row: (place, n) => ({
      ...issuerColumns(place),
      name: `Organization ${n}`,
      default_member_scopes: '{}',
      scopes: '{}',
      creator_scopes: '{}',
      status: oneInHundred(n, 'active', 'suspended'),
      sso_enabled: n % 200 === 0,
    }),
  },
  {
    table: 'agents',
    idPrefix: 'agt',
    row: (place, n) => ({
      ...issuerColumns(place),
      name: `Agent ${n}`,
      model: `model ${n % 1000}`,
      provider: `provider ${n % 10}`,
      scopes: '{}',
      verifier_types: '{}',
      status: oneInHundred(n, 'active', 'blocked'),
    }),
  },
  {
    table: 'organization_members',
    idPrefix: 'mem',
    row: (place, n) => ({
      ...organizationColumns(place),
      user_id: userIds[n],
      scopes: '{}',
      status: oneInHundred(n, 'active', 'suspended'),
    }),
  },
  {
    table: 'organization_invitations',
    idPrefix: 'inv',
    row: (place, n) => ({
      ...organizationColumns(place),
      email: `guest${n}@example.com`,
      email_key: `guest${n}@example.com`,
      scopes: '{}',
      groups: '{}',
      token_hash: `${place.orgId} ${n}`,
      status: oneInHundred(n, 'accepted', 'pending'),
      expires_at: Date.now() + 86_400_000,
    }),
  },
  {
    table: 'sessions',
    idPrefix: 'ses',
    row: (place, n) => ({
      ...issuerColumns(place),
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
    idPrefix: 'note',
    row: (place, n) => ({
      ...issuerColumns(place),
      subject_type: 'user',
      subject_id: place.userId,
      content: `Note ${n}`,
      pinned: n % 1000 === 0,
      created_by: `author ${n % 100}`,
    }),
  },
]

/** The table of accounts, whose rows do not belong to a tenant. */
export const accountsTable: SeedTable = {
  table: 'accounts',
  idPrefix: 'acc',
  row: (_, n) => ({ name: `Account ${n}` }),
}

/** The tables that only the benchmark `console-lists` fills. */
export const consoleTables: readonly SeedTable[] = [
  {
    table: 'issuers',
    idPrefix: 'iss',
    row: ({ accountId }, n) => ({
      account_id: accountId,
      name: `Issuer ${n}`,
      available_scopes: '{}',
      status: oneInHundred(n, 'active', 'disabled'),
      username_key: 'none',
    }),
  },
  {
    table: 'organization_groups',
    idPrefix: 'grp',
    row: (place, n) => ({ ...organizationColumns(place), name: `Group ${n}`, scopes: '{}' }),
  },
  {
    table: 'webhook_deliveries',
    idPrefix: 'dlv',
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
    idPrefix: 'led',
    row: ({ accountId }, n) => ({
      account_id: accountId,
      type: 'adjustment',
      amount_micro_usd: 1,
      balance_micro_usd: n + 1,
    }),
  },
]

/**
 * Inserts `count` rows into a table. The rows are newer than all existing rows.
 * @param folder the directory of the temporary file for COPY
 * @returns the identifiers of the inserted rows, oldest first
 */
export async function seedTable(
  db: pg.Client,
  folder: string,
  { table, idPrefix, row }: SeedTable,
  scope: SeedScope,
  count: number,
): Promise<string[]> {
  const file = join(folder, `${table}.tsv`)
  const out = createWriteStream(file)
  const ids: string[] = []
  let columns: string[] = []
  for (let n = 0; n < count; n++) {
    const { id, createdAt, updatedAt } = newRow(idPrefix, Date.now())
    const values = { id, ...row(scope, n), created_at: createdAt, updated_at: updatedAt }
    columns = Object.keys(values)
    ids.push(id)
    if (!out.write(`${Object.values(values).join('\t')}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  // If the benchmark runs as root, the database server runs as another user, who must be able to read the file.
  await chmod(folder, 0o755)
  await chmod(file, 0o644)
  await db.query(`COPY ${table} (${columns.join(', ')}) FROM '${file}'`)
  await chmod(folder, 0o700)
  rmSync(file)
  return ids
}
