/**
 * What a page of a long list costs: the first, the middle and the last page of 1,000,000 users, against each other and
 * against 1,000 users; searches among them. Options: the number of users.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { newId } from '../src/kernel/ids.js'
import { openStore } from '../src/store.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'

const MANY = 1_000_000
const FEW = 1_000
const ROUNDS = 200

const given = ['ada', 'bo', 'chidi', 'dunja', 'emre', 'fatou', 'grace', 'hedy', 'ines', 'joan']
const family = [
  'lovelace',
  'hopper',
  'noether',
  'curie',
  'meitner',
  'franklin',
  'johnson',
  'lamarr',
  'turing',
  'germain',
]

interface Place {
  accountId: string
  issuerId: string
}

/** @returns the cost of one page in each place, and how it compares */
export async function bench([count]: string[]): Promise<Record<string, unknown>[]> {
  const many = Number(count ?? MANY)
  const folder = makeFolder()
  const server = await startServer(folder)
  try {
    return await measure(folder, server, many)
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(folder: string, server: Server, many: number): Promise<Record<string, unknown>[]> {
  const call = caller(server)
  const [account] = (await call('GET', '/v1/accounts')).data
  const accountId = account!.id
  const issuer = async () => (await call('POST', `/v1/accounts/${accountId}/issuers`, { name: 'Bench' })).data.id
  const [large, small] = [await issuer(), await issuer()]
  const { url } = await openStore(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  await seed(db, folder, { accountId, issuerId: large }, many)
  await seed(db, folder, { accountId, issuerId: small }, FEW)
  await db.query('VACUUM ANALYZE users')
  const at = async (issuerId: string, part: number) => {
    const text = `SELECT id FROM users WHERE issuer_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1`
    const { rows } = await db.query(text, [issuerId, Math.floor(part)])
    return `&cursor=${rows[0].id}`
  }
  const I = `/v1/accounts/${accountId}/issuers`
  const list = (id: string, more = '') => `${I}/${id}/users?limit=50${more}`
  const middle = await at(large, many / 2)
  const last = await at(large, many - 51)
  const pages: [string, () => Promise<unknown>][] = [
    [`first of ${FEW}`, () => call('GET', list(small))],
    [`first of ${many}`, () => call('GET', list(large))],
    [`middle of ${many}`, () => call('GET', list(large, middle))],
    [`last of ${many}`, () => call('GET', list(large, last))],
    [`first of ${many}, by status`, () => call('GET', list(large, '&status=active'))],
    [`last of ${many}, by status`, () => call('GET', list(large, `&status=active${last}`))],
  ]
  const search =
    'query ($a: ID!, $i: ID!, $s: String) { users(accountId: $a, issuerId: $i, search: $s) { data { id } } }'
  for (const text of ['ada.lovelace500', 'ada lovelace 5', 'lovelace', 'a', 'nobody']) {
    const variables = { a: accountId, i: large, s: text }
    pages.push([`search "${text}"`, () => call('POST', '/graphql', { query: search, variables })])
  }
  await db.end()
  const medians = await inTurns(pages)
  const base = medians[0]!
  return pages.map(([figure], n) => ({
    figure,
    'median ms': medians[n]!.toFixed(2),
    [`× first of ${FEW}`]: (medians[n]! / base).toFixed(2),
  }))
}

function caller({ baseUrl, authorization }: Server) {
  return async (method: string, path: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: { id: string }[] & { id: string } }
  }
}

/** The pages by turns, so that a busy moment of the machine hits all of them. @returns medians in milliseconds */
async function inTurns(pages: [string, () => Promise<unknown>][]): Promise<number[]> {
  const times = pages.map((): number[] => [])
  for (let round = -20; round < ROUNDS; round++) {
    for (const [n, [, ask]] of pages.entries()) {
      const began = performance.now()
      await ask()
      if (round >= 0) times[n]!.push(performance.now() - began)
    }
  }
  return times.map((list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]!)
}

/** Writes users into a file and has the database COPY it. */
async function seed(db: pg.Client, folder: string, { accountId, issuerId }: Place, count: number): Promise<void> {
  const file = join(folder, 'users.tsv')
  const out = createWriteStream(file)
  const now = Date.now()
  for (let n = 0; n < count; n++) {
    const [one, two] = [given[n % 10]!, family[Math.floor(n / 10) % 10]!]
    const key = `${one}.${two}${n}@example.com`
    const profile = JSON.stringify({ name: `${one} ${two} ${n}`, given_name: one, family_name: two, email: key })
    const hash = `sha256:${createHash('sha256').update(key).digest('hex')}`
    const row = [newId('usr', now), accountId, issuerId, 'email', key, key, hash, profile, '{}', 'active', now, now]
    if (!out.write(`${row.join('\t')}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  // The database runs as somebody else.
  await chmod(folder, 0o755)
  await chmod(file, 0o644)
  await db.query(`COPY users (id, account_id, issuer_id, username_type, username, username_key, username_hash, profile,
    scopes, status, created_at, updated_at) FROM '${file}'`)
  await chmod(folder, 0o700)
}
