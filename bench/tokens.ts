/**
 * What tokens cost: Gatehouse against a bare oidc-provider in memory (stock.ts), in requests per CPU second of the
 * server's process, rounds taken in turns so that what else the machine does hits both. Linux only.
 * Options: seconds per round, and the beginning of one figure's name to measure that one alone.
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { newId } from '../src/kernel/ids.js'
import { openStore } from '../src/store.js'
import { Realm, type TestClient } from '../test/idp/setup.js'
import { makeTenant } from '../test/setup/actors.js'
import { apiAs } from '../test/setup/api.js'
import type { TestApp } from '../test/setup/start-app.js'
import { type Caller, form, load, median, type Post, percentile } from './load.js'
import { startLogins } from './logins.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'
import { startStock } from './stock.js'

/** As many callers at once, and people. */
const CALLERS = 16
const usernames = Array.from({ length: CALLERS }, (_, n) => `user${n}@example.com`)
const ISSUERS = 1000
const ROUNDS = 6

interface Credentials {
  id: string
  secret: string
}

/** One side of a comparison: where it listens, what it has used of the CPU, who calls. */
interface Side {
  origin: string
  cpu(): number
  callers: Caller[]
}

type Row = Record<string, unknown>

/** @returns one row per figure */
export async function bench([given, only = '']: string[]): Promise<Row[]> {
  const milliseconds = Number(given ?? 4) * 1000
  const folder = makeFolder()
  const server = await startServer(folder)
  const stock = await startStock(CALLERS)
  const { url } = await openStore(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  try {
    const rows: Row[] = []
    const place = await furnish(server)
    const ours = { origin: new URL(server.idpUrl).origin, cpu: server.cpu }
    const pair = (path: string, theirs: Caller[], own: Caller[]): [Side, Side] => [
      { origin: stock.origin, cpu: stock.cpu, callers: theirs },
      { ...ours, callers: own.map((caller) => under(`/${place.issuerId}${path}`, caller)) },
    ]
    const compare = async (figure: string, bound: string, sides: [Side, Side]) => {
      if (!figure.startsWith(only)) return
      let before = 0
      const warm = async () => {
        before = await written(db)
      }
      const { rates, ratio, requests, failed } = await inTurns(sides, milliseconds, warm)
      const rowsEach = (((await written(db)) - before) / requests[1]!).toFixed(2)
      rows.push(said({ figure, stock: rates[0], ours: rates[1], ratio, bound, 'rows each': rowsEach, failed }))
    }

    const machineForm = { grant_type: 'client_credentials', scope: 'a:read b:read' }
    await compare(
      'client_credentials',
      '>= 0.9',
      pair('/token', same(form('/token', stock.client, machineForm)), same(form('', place.machine, machineForm))),
    )
    await compare(
      'introspection of a JWT',
      '>= 0.9',
      pair(
        '/introspect',
        same(form('/token/introspection', stock.client, { token: stock.jwt })),
        place.accessTokens.map((token) => steady(form('', place.web, { token }))),
      ),
    )
    await compare(
      'the same, against an opaque token in a map',
      '–',
      pair(
        '/introspect',
        same(form('/token/introspection', stock.client, { token: stock.opaque })),
        place.accessTokens.map((token) => steady(form('', place.web, { token }))),
      ),
    )
    await compare(
      'refresh',
      '>= 0.6',
      pair(
        '/token',
        stock.refreshTokens.map((token) => refreshing('/token', stock.client, token)),
        place.refreshTokens.map((token) => refreshing('', place.web, token)),
      ),
    )
    if ('issuers'.startsWith(only)) rows.push(...(await manyIssuers(db, ours, place, machineForm, milliseconds)))
    if ('p99'.startsWith(only)) rows.push(await whileHashing(ours, place, machineForm, milliseconds))
    return rows
  } finally {
    await db.end()
    stock.stop()
    await server.stop()
    removeFolder(folder)
  }
}

interface Place {
  issuerId: string
  machine: Credentials
  web: Credentials
  signIn: TestClient
  accessTokens: string[]
  refreshTokens: string[]
}

/** An issuer with a machine, an application, and people who are signed in to it. */
async function furnish(server: Server): Promise<Place> {
  const [id = '', secret = ''] = Buffer.from(server.authorization.slice(6), 'base64').toString().split(':')
  const { baseUrl, idpUrl } = server
  const app = { baseUrl, idpUrl, operator: apiAs(baseUrl, { id, secret }) } as TestApp
  const realm = new Realm(app, await makeTenant(app, 'Bench'))
  const credentials = ({ id, secret = '' }: TestClient): Credentials => ({ id, secret })
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  const machine = await realm.client(m2m, { confidential: true, settings: { scopes: ['a:read', 'b:read'] } })
  const web = await realm.client({}, { confidential: true })
  for (const username of usernames) await realm.user(username)
  const tokens: { access_token: string; refresh_token: string }[] = []
  for (const username of usernames) tokens.push(await realm.tokens(web, username))
  return {
    issuerId: realm.tenant.issuerId,
    machine: credentials(machine),
    web: credentials(web),
    signIn: web,
    accessTokens: tokens.map(({ access_token }) => access_token),
    refreshTokens: tokens.map(({ refresh_token }) => refresh_token),
  }
}

const steady = (post: Post): Caller => ({ next: () => post })
const same = (post: Post): Caller[] => Array.from({ length: CALLERS }, () => steady(post))
const under = (path: string, { next, ...caller }: Caller): Caller => ({
  ...caller,
  next: () => ({ ...next(), path }),
})

/** Each answer's refresh token is the next request's. */
function refreshing(path: string, client: Credentials, token: string): Caller {
  let current = token
  return {
    next: () => form(path, client, { grant_type: 'refresh_token', refresh_token: current }),
    answered: (body) => {
      current = (JSON.parse(body) as { refresh_token: string }).refresh_token
    },
  }
}

/** Runs the sides in turns, after both are warm. @returns requests per CPU second of each, and the median ratio of the rounds */
async function inTurns(sides: [Side, Side], milliseconds: number, warm?: () => Promise<void>) {
  const rounds: number[][] = []
  const requests = [0, 0]
  let failed = 0
  // The compiler needs thousands of requests before it leaves the code alone.
  for (const { origin, callers } of sides) await load(origin, callers, 3 * milliseconds)
  await warm?.()
  for (let round = 0; round < ROUNDS; round++) {
    const rates: number[] = []
    // Each goes first as often as the other.
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { origin, cpu, callers } = sides[at]!
      const before = cpu()
      const result = await load(origin, callers, milliseconds)
      rates[at] = result.requests / (cpu() - before)
      requests[at]! += result.requests
      failed += result.failed
    }
    rounds.push(rates)
  }
  const rates = [0, 1].map((at) => Math.round(median(rounds.map((rates) => rates[at]!))))
  const ratio = Number(median(rounds.map(([theirs, own]) => own! / theirs!)).toFixed(2))
  return { rates, ratio, requests, failed }
}

/** Rows that the database has written so far. */
async function written(db: pg.Client): Promise<number> {
  // A backend tells its counts once a second at most.
  await new Promise((done) => setTimeout(done, 1100))
  const { rows } = await db.query<{ count: number }>(
    `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS count FROM pg_stat_user_tables`,
  )
  return rows[0]!.count
}

/** Issuers in turn against one issuer, and what the first request to each of them takes. */
async function manyIssuers(
  db: pg.Client,
  ours: Omit<Side, 'callers'>,
  place: Place,
  values: Record<string, string>,
  milliseconds: number,
): Promise<Row[]> {
  const ids: { issuer: string; client: string }[] = []
  for (let n = 0; n < ISSUERS; n++) ids.push(await copyIssuer(db, place))
  const posts = ids.map(({ issuer, client }) =>
    form(`/${issuer}/token`, { id: client, secret: place.machine.secret }, values),
  )
  const misses: number[] = []
  let failed = 0
  for (const post of posts) {
    // Alone, so that nothing but the miss is measured.
    const { latencies, failed: bad } = await load(ours.origin, [steady(post)], 0.001)
    misses.push(...latencies)
    failed += bad
  }
  misses.sort((a, b) => a - b)

  let turn = 0
  const all = Array.from({ length: CALLERS }, (): Caller => ({ next: () => posts[turn++ % posts.length]! }))
  const one = same(posts[0]!)
  const result = await inTurns(
    [
      { ...ours, callers: one },
      { ...ours, callers: all },
    ],
    milliseconds,
  )
  const rows = [
    {
      figure: 'first request to an issuer, connection included: p50, p99 ms',
      ours: `${percentile(misses, 0.5).toFixed(1)}, ${percentile(misses, 0.99).toFixed(1)}`,
      bound: '< 20 ms',
      failed,
    },
    {
      figure: `${ISSUERS} issuers in turn, against one`,
      stock: result.rates[0],
      ours: result.rates[1],
      ratio: result.ratio,
      bound: '>= 0.85',
      failed: result.failed,
    },
  ]
  return rows.map(said)
}

/** An issuer with the same keys and the same machine, under ids of its own: making keys is another matter. */
async function copyIssuer(db: pg.Client, place: Place): Promise<{ issuer: string; client: string }> {
  const [issuer, client] = [newId('iss', Date.now()), newId('cli', Date.now())]
  await db.query('BEGIN')
  await db.query(
    `INSERT INTO issuers SELECT (jsonb_populate_record(i, jsonb_build_object('id', $2::text))).* FROM issuers i WHERE id = $1`,
    [place.issuerId, issuer],
  )
  await db.query(
    `INSERT INTO signing_keys
     SELECT (jsonb_populate_record(k, jsonb_build_object('id', $2::text || k.alg || k.kid, 'issuer_id', $2::text, 'kid', fresh.kid,
       'public_jwk', k.public_jwk || jsonb_build_object('kid', fresh.kid)))).*
     FROM signing_keys k, LATERAL (SELECT k.id, gen_random_uuid() AS kid) fresh WHERE issuer_id = $1`,
    [place.issuerId, issuer],
  )
  await db.query(
    `INSERT INTO clients SELECT (jsonb_populate_record(c, jsonb_build_object('id', $2::text, 'issuer_id', $3::text))).*
     FROM clients c WHERE id = $1`,
    [place.machine.id, client, issuer],
  )
  await db.query('COMMIT')
  return { issuer, client }
}

/** The token endpoint's p99 while so many people sign in at once, over and over, against the same in quiet. */
async function whileHashing(
  ours: Omit<Side, 'callers'>,
  { machine, signIn: client, issuerId }: Place,
  values: Record<string, string>,
  milliseconds: number,
): Promise<Row> {
  const callers = [steady(form(`/${issuerId}/token`, machine, values))]
  const p99 = async () => percentile((await load(ours.origin, callers, milliseconds)).latencies, 0.99)
  const rounds: { quiet: number; busy: number }[] = []
  let hashed = 0
  await p99()
  for (let round = 0; round < ROUNDS; round++) {
    const quiet = await p99()
    const stop = startLogins({
      idpUrl: ours.origin,
      issuerId,
      client,
      usernames,
    })
    await new Promise((done) => setTimeout(done, 1000))
    const busy = await p99()
    hashed += await stop()
    rounds.push({ quiet, busy })
  }
  const [quiet, busy] = [median(rounds.map(({ quiet }) => quiet)), median(rounds.map(({ busy }) => busy))]
  return said({
    figure: `p99 of /token in quiet, and while ${usernames.length} people sign in (${hashed} did), ms`,
    stock: quiet.toFixed(1),
    ours: busy.toFixed(1),
    ratio: Number((busy / quiet).toFixed(2)),
    bound: '<= 2',
  })
}

/** Figures as they come, for who waits. */
function said(row: Row): Row {
  process.stderr.write(`${JSON.stringify(row)}\n`)
  return row
}
