/**
 * Compares the token endpoints of Gatehouse with an unmodified in-memory oidc-provider (baseline-provider.ts), in
 * requests per CPU second of the server process. Rounds of the two servers alternate, so that other load of the machine
 * affects both equally. Works only on Linux. Options: the seconds per round, and the beginning of the names of the
 * figures to measure (by default all).
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { newId } from '../src/kernel/ids.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { Realm, type TestClient } from '../test/idp/realm.js'
import { createTenant } from '../test/setup/actors.js'
import { createApiClient } from '../test/setup/api.js'
import type { TestApp } from '../test/setup/start-app.js'
import { startBaselineProvider } from './baseline-provider.js'
import { type FormRequest, formRequest, type LoadClient, median, percentile, runLoad } from './load.js'
import { startLoginLoad } from './login-load.js'
import { provingClient } from './proofs.js'
import { createFolder, removeFolder, type Server, startServer } from './server.js'

/** The number of concurrent callers, and of users. */
const CALLERS = 16
const usernames = Array.from({ length: CALLERS }, (_, n) => `user${n}@example.com`)
const ISSUERS = 1000
const ROUNDS = 6

interface Credentials {
  id: string
  secret: string
}

/** A server of a comparison with its address, its CPU usage and the callers that send requests to it. */
interface MeasuredServer {
  origin: string
  cpuSeconds(): number
  callers: LoadClient[]
}

type Row = Record<string, unknown>

/** @returns one row per figure */
export async function bench([secondsOption, figurePrefix = '']: string[]): Promise<Row[]> {
  const milliseconds = Number(secondsOption ?? 4) * 1000
  const folder = createFolder()
  const server = await startServer(folder)
  const baseline = await startBaselineProvider(CALLERS)
  const { url } = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  try {
    const rows: Row[] = []
    const benchIssuer = await createBenchIssuer(server)
    const gatehouse = { origin: new URL(server.idpUrl).origin, cpuSeconds: server.cpuSeconds }
    const serverPair = (path: string, theirs: LoadClient[], own: LoadClient[]): [MeasuredServer, MeasuredServer] => [
      { origin: baseline.origin, cpuSeconds: baseline.cpuSeconds, callers: theirs },
      { ...gatehouse, callers: own.map((caller) => withPath(`/${benchIssuer.issuerId}${path}`, caller)) },
    ]
    const compare = async (figure: string, bound: string, sides: [MeasuredServer, MeasuredServer]) => {
      if (!figure.startsWith(figurePrefix)) return
      let before = 0
      const onWarm = async () => {
        before = await rowsWritten(db)
      }
      const { rates, ratio, requests, failed } = await measureAlternating(sides, milliseconds, onWarm)
      const rowsEach = (((await rowsWritten(db)) - before) / requests[1]!).toFixed(2)
      rows.push(logRow({ figure, plain: rates[0], gatehouse: rates[1], ratio, bound, 'rows each': rowsEach, failed }))
    }

    const machineForm = { grant_type: 'client_credentials', scope: 'a:read b:read' }
    await compare(
      'client_credentials',
      '>= 0.9',
      serverPair(
        '/token',
        repeatingClients(formRequest('/token', baseline.client, machineForm)),
        repeatingClients(formRequest('', benchIssuer.machine, machineForm)),
      ),
    )
    await compare(
      'client_credentials with DPoP',
      '–',
      serverPair(
        '/token',
        provingClients(formRequest('/token', baseline.client, machineForm), `${baseline.origin}/token`),
        provingClients(
          formRequest('', benchIssuer.machine, machineForm),
          `${server.idpUrl}/${benchIssuer.issuerId}/token`,
        ),
      ),
    )
    await compare(
      'introspection of a JWT',
      '>= 0.9',
      serverPair(
        '/introspect',
        repeatingClients(formRequest('/token/introspection', baseline.client, { token: baseline.jwt })),
        benchIssuer.accessTokens.map((token) => repeatingClient(formRequest('', benchIssuer.web, { token }))),
      ),
    )
    await compare(
      'the same, against an opaque token in a map',
      '–',
      serverPair(
        '/introspect',
        repeatingClients(formRequest('/token/introspection', baseline.client, { token: baseline.opaque })),
        benchIssuer.accessTokens.map((token) => repeatingClient(formRequest('', benchIssuer.web, { token }))),
      ),
    )
    await compare(
      'refresh',
      '>= 0.6',
      serverPair(
        '/token',
        baseline.refreshTokens.map((token) => refreshingClient('/token', baseline.client, token)),
        benchIssuer.refreshTokens.map((token) => refreshingClient('', benchIssuer.web, token)),
      ),
    )
    if ('issuers'.startsWith(figurePrefix))
      rows.push(...(await manyIssuers(db, gatehouse, benchIssuer, machineForm, milliseconds)))
    if ('p99'.startsWith(figurePrefix))
      rows.push(await latencyDuringSignIns(gatehouse, benchIssuer, machineForm, milliseconds))
    return rows
  } finally {
    await db.end()
    baseline.stop()
    await server.stop()
    removeFolder(folder)
  }
}

interface BenchIssuer {
  issuerId: string
  machine: Credentials
  web: Credentials
  signIn: TestClient
  accessTokens: string[]
  refreshTokens: string[]
}

/** Creates an issuer with an M2M client, a web client, and users who are signed in to the web client. */
async function createBenchIssuer(server: Server): Promise<BenchIssuer> {
  const [id = '', secret = ''] = Buffer.from(server.authorization.slice(6), 'base64').toString().split(':')
  const { baseUrl, idpUrl } = server
  const app = { baseUrl, idpUrl, operator: createApiClient(baseUrl, { id, secret }) } as TestApp
  const realm = new Realm(app, await createTenant(app, 'Bench'))
  const credentials = ({ id, secret = '' }: TestClient): Credentials => ({ id, secret })
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  const machine = await realm.createClient(m2m, { confidential: true, settings: { scopes: ['a:read', 'b:read'] } })
  const web = await realm.createClient({}, { confidential: true })
  for (const username of usernames) await realm.createUser(username)
  const tokens: { access_token: string; refresh_token: string }[] = []
  for (const username of usernames) tokens.push(await realm.signInForTokens(web, username))
  return {
    issuerId: realm.tenant.issuerId,
    machine: credentials(machine),
    web: credentials(web),
    signIn: web,
    accessTokens: tokens.map(({ access_token }) => access_token),
    refreshTokens: tokens.map(({ refresh_token }) => refresh_token),
  }
}

const repeatingClient = (post: FormRequest): LoadClient => ({ next: () => post })
const repeatingClients = (post: FormRequest): LoadClient[] =>
  Array.from({ length: CALLERS }, () => repeatingClient(post))
const provingClients = (post: FormRequest, url: string): LoadClient[] =>
  Array.from({ length: CALLERS }, () => provingClient(post, url))
const withPath = (path: string, { next, ...caller }: LoadClient): LoadClient => ({
  ...caller,
  next: () => ({ ...next(), path }),
})

/** Returns a caller that uses the refresh token of each response in its next request. */
function refreshingClient(path: string, client: Credentials, token: string): LoadClient {
  let current = token
  return {
    next: () => formRequest(path, client, { grant_type: 'refresh_token', refresh_token: current }),
    onResponse: (body) => {
      current = (JSON.parse(body) as { refresh_token: string }).refresh_token
    },
  }
}

/**
 * Measures two servers in alternating rounds after a warm-up.
 * @returns `rates`: the median requests per CPU second of each server; `ratio`: the median ratio of the rounds, second
 *   server to first; `requests`: the number of requests to each server; `failed`: the number of failed requests
 */
async function measureAlternating(
  servers: [MeasuredServer, MeasuredServer],
  milliseconds: number,
  onWarm?: () => Promise<void>,
) {
  const rounds: number[][] = []
  const requests = [0, 0]
  let failed = 0
  // Warm-up: the JIT compiler recompiles functions during the first thousands of requests.
  for (const { origin, callers } of servers) await runLoad(origin, callers, 3 * milliseconds)
  await onWarm?.()
  for (let round = 0; round < ROUNDS; round++) {
    const rates: number[] = []
    // Each server is the first one in half of the rounds.
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { origin, cpuSeconds, callers } = servers[at]!
      const before = cpuSeconds()
      const result = await runLoad(origin, callers, milliseconds)
      rates[at] = result.requests / (cpuSeconds() - before)
      requests[at]! += result.requests
      failed += result.failed
    }
    rounds.push(rates)
  }
  const rates = [0, 1].map((at) => Math.round(median(rounds.map((rates) => rates[at]!))))
  const ratio = Number(median(rounds.map(([theirs, own]) => own! / theirs!)).toFixed(2))
  return { rates, ratio, requests, failed }
}

/** Returns the number of rows that the database has inserted, updated or deleted since its start. */
async function rowsWritten(db: pg.Client): Promise<number> {
  // A PostgreSQL backend reports its statistics at most once a second.
  await new Promise((done) => setTimeout(done, 1100))
  const { rows } = await db.query<{ count: number }>(
    `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS count FROM pg_stat_user_tables`,
  )
  return rows[0]!.count
}

/**
 * Compares requests that alternate between many issuers with requests to one issuer, and measures the first request to
 * each issuer.
 */
async function manyIssuers(
  db: pg.Client,
  gatehouse: Omit<MeasuredServer, 'callers'>,
  benchIssuer: BenchIssuer,
  values: Record<string, string>,
  milliseconds: number,
): Promise<Row[]> {
  const ids: { issuer: string; client: string }[] = []
  for (let n = 0; n < ISSUERS; n++) ids.push(await copyIssuer(db, benchIssuer))
  const posts = ids.map(({ issuer, client }) =>
    formRequest(`/${issuer}/token`, { id: client, secret: benchIssuer.machine.secret }, values),
  )
  const misses: number[] = []
  let failed = 0
  for (const post of posts) {
    // The requests are sent one after the other, so that only the time of the cache miss is measured.
    const { latencies, failed: bad } = await runLoad(gatehouse.origin, [repeatingClient(post)], 0.001)
    misses.push(...latencies)
    failed += bad
  }
  misses.sort((a, b) => a - b)

  let turn = 0
  const all = Array.from({ length: CALLERS }, (): LoadClient => ({ next: () => posts[turn++ % posts.length]! }))
  const one = repeatingClients(posts[0]!)
  const result = await measureAlternating(
    [
      { ...gatehouse, callers: one },
      { ...gatehouse, callers: all },
    ],
    milliseconds,
  )
  const rows = [
    {
      figure: 'first request to an issuer, connection included: p50, p99 ms',
      gatehouse: `${percentile(misses, 0.5).toFixed(1)}, ${percentile(misses, 0.99).toFixed(1)}`,
      bound: '< 20 ms',
      failed,
    },
    {
      figure: `${ISSUERS} issuers in turn, against one`,
      plain: result.rates[0],
      gatehouse: result.rates[1],
      ratio: result.ratio,
      bound: '>= 0.85',
      failed: result.failed,
    },
  ]
  return rows.map(logRow)
}

/**
 * Copies an issuer with its signing keys and its M2M client under new identifiers. Creating issuers with the API would
 * take longer, because it generates keys.
 */
async function copyIssuer(db: pg.Client, benchIssuer: BenchIssuer): Promise<{ issuer: string; client: string }> {
  const [issuer, client] = [newId('iss', Date.now()), newId('cli', Date.now())]
  await db.query('BEGIN')
  await db.query(
    `INSERT INTO issuers SELECT (jsonb_populate_record(i, jsonb_build_object('id', $2::text))).* FROM issuers i WHERE id = $1`,
    [benchIssuer.issuerId, issuer],
  )
  await db.query(
    `INSERT INTO signing_keys
     SELECT (jsonb_populate_record(k, jsonb_build_object('id', $2::text || k.alg || k.kid, 'issuer_id', $2::text, 'kid', fresh.kid,
       'public_jwk', k.public_jwk || jsonb_build_object('kid', fresh.kid)))).*
     FROM signing_keys k, LATERAL (SELECT k.id, gen_random_uuid() AS kid) fresh WHERE issuer_id = $1`,
    [benchIssuer.issuerId, issuer],
  )
  await db.query(
    `INSERT INTO clients SELECT (jsonb_populate_record(c, jsonb_build_object('id', $2::text, 'issuer_id', $3::text))).*
     FROM clients c WHERE id = $1`,
    [benchIssuer.machine.id, client, issuer],
  )
  await db.query('COMMIT')
  return { issuer, client }
}

/** Compares the 99th percentile of the response times of the token endpoint with and without concurrent sign-ins. */
async function latencyDuringSignIns(
  gatehouse: Omit<MeasuredServer, 'callers'>,
  { machine, signIn: client, issuerId }: BenchIssuer,
  values: Record<string, string>,
  milliseconds: number,
): Promise<Row> {
  const callers = [repeatingClient(formRequest(`/${issuerId}/token`, machine, values))]
  const p99 = async () => percentile((await runLoad(gatehouse.origin, callers, milliseconds)).latencies, 0.99)
  const rounds: { quiet: number; busy: number }[] = []
  let hashed = 0
  await p99()
  for (let round = 0; round < ROUNDS; round++) {
    const quiet = await p99()
    const stop = startLoginLoad({
      idpUrl: gatehouse.origin,
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
  return logRow({
    figure: `p99 of /token in quiet, and while ${usernames.length} people sign in (${hashed} did), ms`,
    plain: quiet.toFixed(1),
    gatehouse: busy.toFixed(1),
    ratio: Number((busy / quiet).toFixed(2)),
    bound: '<= 2',
  })
}

/** Prints a row as soon as it is measured, and returns it. */
function logRow(row: Row): Row {
  process.stderr.write(`${JSON.stringify(row)}\n`)
  return row
}
