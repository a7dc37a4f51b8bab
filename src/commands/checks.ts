/** What the doctor checks: one row each, in the order in which one thing breaks the next. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { defaultBreachedPasswordsUrl, isPublic } from '../config.js'
import { isLoopback } from '../kernel/uri.js'
import { makeFolder } from '../platform/folders.js'
import { reachMailServer } from '../platform/mail-transport.js'
import { migrationStatus, refuseOldServer } from '../platform/migrate.js'
import { openOutbound } from '../platform/outbound.js'
import { pingRedis } from '../platform/redis-buckets.js'
import { opens, type SealedCount, sealedCountText } from '../platform/reseal.js'
import { leakedDigests } from '../resources/credentials/breached.js'
import { sealedPlaces } from '../sealed.js'
import type { Inspection } from './inspection.js'

/** What a check of the deployment found. */
export interface Checked {
  state: 'ok' | 'warn' | 'broken'
  text: string
  /** What to do. */
  fix?: string
}

/** Nothing where there is nothing to look at. */
type Check = (inspection: Inspection) => Promise<Checked | undefined>

const ok = (text: string): Checked => ({ state: 'ok', text })
const warn = (text: string, fix: string): Checked => ({ state: 'warn', text, fix })
const broken = (text: string, fix: string): Checked => ({ state: 'broken', text, fix })

const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)

/** Milliseconds between our clock and the database's that nobody minds; and from which one-time codes stop to fit. */
const CLOCK_FINE = 2000
const CLOCK_BROKEN = 30_000
/** Issuers whose password policy wants leaked passwords refused. */
const CHECKING_ISSUERS = `
  SELECT 1 FROM issuers WHERE status <> 'deleted' AND settings #>> '{security,password_policy,check_breached}' = 'true' LIMIT 1`
const [MEGABYTE, GIGABYTE] = [1e6, 1e9]

export const checks: Readonly<Record<string, Check>> = {
  async node() {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const fine = major > 20 || (major === 20 && minor >= 19)
    return fine
      ? ok(`Node.js ${process.versions.node}`)
      : broken(`Node.js ${process.versions.node}`, 'Install 20.19 or newer.')
  },

  async 'data folder'({ config: { dataDir } }) {
    makeFolder(dataDir)
    try {
      accessSync(dataDir, constants.W_OK)
    } catch {
      return broken(`${dataDir} cannot be written`, 'Give it to the user that Gatehouse runs as, or set DATA_DIR.')
    }
    const open = [dataDir, join(dataDir, 'secret.key')].filter(
      (path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0,
    )
    if (open.length > 0 && process.platform !== 'win32')
      return warn(`${open.join(' and ')} can be read by others`, `Take their rights: chmod go= ${open.join(' ')}`)
    return ok(dataDir)
  },

  async disk({ config: { dataDir } }) {
    const { bavail, bsize } = statfsSync(dataDir)
    const free = bavail * bsize
    const text = `${(free / GIGABYTE).toFixed(1)} GB free in ${dataDir}`
    if (free < 100 * MEGABYTE) return broken(text, 'Make room: a database that cannot write stops.')
    return free < GIGABYTE ? warn(text, 'Make room soon.') : ok(text)
  },

  async database({ config, database, unreachable }) {
    if (!database) {
      const fix = config.databaseUrl
        ? 'Check DATABASE_URL, the server and the way to it.'
        : 'See the log in DATA_DIR, or set DATABASE_URL.'
      return broken(`cannot be reached: ${unreachable}`, fix)
    }
    const began = performance.now()
    const [row] = await database.query<Record<string, string>>(`
      SELECT current_setting('server_version_num') AS version, current_setting('server_version') AS name,
        current_setting('server_encoding') AS encoding, current_setting('max_connections') AS connections,
        pg_is_in_recovery()::text AS replica`)
    const elapsed = (performance.now() - began).toFixed(1)
    const { version, name, encoding, connections, replica } = row!
    try {
      refuseOldServer(Number(version))
    } catch (error) {
      return broken((error as Error).message, 'Upgrade it.')
    }
    if (encoding !== 'UTF8') return broken(`its encoding is ${encoding}`, 'Make a database with ENCODING UTF8.')
    if (replica === 'true')
      return broken('it is a replica, which cannot be written', 'Point DATABASE_URL at the primary.')
    const text = `PostgreSQL ${name}${config.databaseUrl ? '' : ' (embedded)'}, ${elapsed} ms away`
    return Number(connections) < 30
      ? warn(
          `${text}, ${connections} connections`,
          'Each process takes up to 20: raise max_connections, or use a pooler.',
        )
      : ok(text)
  },

  async migrations({ database }) {
    if (!database) return undefined
    let rows: Awaited<ReturnType<typeof migrationStatus>>
    try {
      rows = await migrationStatus(database.url)
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string }
      return broken(
        message,
        code === '42501'
          ? 'Let the role of DATABASE_URL own the database and its tables.'
          : 'Run the version of Gatehouse that this database belongs to.',
      )
    }
    const pending = rows.filter(({ appliedAt }) => appliedAt === null)
    if (pending.length === 0) return ok(`all ${rows.length} applied`)
    return warn(`${pending.length} pending, the first is ${pending[0]!.name}`, 'Run gatehouse migrate, or start.')
  },

  async clock({ database, now }) {
    if (!database) return undefined
    const before = now()
    const [row] = await database.query<{ at: string }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS at',
    )
    const apart = Math.abs(Number(row!.at) - (before + now()) / 2)
    const text = `${(apart / 1000).toFixed(1)} s from the database's`
    const fix = 'Let both machines follow a time server: tokens and one-time codes count seconds.'
    if (apart > CLOCK_BROKEN) return broken(text, fix)
    return apart > CLOCK_FINE ? warn(text, fix) : ok(text)
  },

  async 'secret key'({ database, sealer }) {
    if (!database || !(await hasTables(database))) return undefined
    const rows = await database.query<SealedCount>(sealedCountText(sealedPlaces))
    const lost = rows.filter(({ sample }) => !opens(sealer, sample))
    if (lost.length > 0) {
      const texts = lost.map(({ count, what, key }) => `${count} ${what} (key ${key})`).join(', ')
      return broken(`no SECRET_KEY opens ${texts}`, 'Add the key that they were sealed with to the list in SECRET_KEY.')
    }
    const total = rows.reduce((sum, { count }) => sum + count, 0)
    const [first] = sealer.keyIds
    const old = rows.filter(({ key }) => key !== first).reduce((sum, { count }) => sum + count, 0)
    const text = `opens all ${total} sealed secrets`
    return old === 0
      ? ok(text)
      : warn(
          `${text}, ${old} of them with an older key`,
          'Keep that key in SECRET_KEY, and run: gatehouse secrets reseal',
        )
  },

  async administrator({ database }) {
    if (!database || !(await hasTables(database))) return undefined
    const rows = await database.query('SELECT 1 FROM accounts WHERE system AND owner_user_id IS NOT NULL')
    return rows.length > 0
      ? ok('there is one')
      : warn('there is none yet', 'Open the link that start prints, or: gatehouse admin create --email you@example.com')
  },

  ports: async ({ config: { host, port, idpPort } }) => {
    const states = await Promise.all([port, idpPort].map((one) => portState(host, one)))
    const taken = [port, idpPort].filter((_, at) => states[at] === 'taken')
    if (taken.length > 0)
      return broken(
        `${taken.join(' and ')} on ${host} are taken by another program`,
        'End that one, or set PORT and IDP_PORT.',
      )
    const running = states.includes('ours')
    return ok(`${port} and ${idpPort} on ${host} ${running ? 'answer: Gatehouse runs' : 'are free'}`)
  },

  async mail(inspection) {
    const { config } = inspection
    if (config.mail.url === undefined) {
      return isLocal(config.baseUrl)
        ? ok(`kept for ${config.baseUrl}/dev/mail`)
        : warn('MAIL_URL is not set: no mail is sent', 'Set it to smtp://user:password@host:587, and MAIL_FROM.')
    }
    const fault = await reachMailServer(config)
    if (fault !== undefined)
      return broken(`the server of MAIL_URL does not take us: ${fault}`, 'Check MAIL_URL, port and password.')
    return /@localhost>?$/.test(config.mail.from)
      ? warn(`the server answers, but mail comes from ${config.mail.from}`, 'Set MAIL_FROM to an address of yours.')
      : ok(`the server answers; mail comes from ${config.mail.from}`)
  },

  async redis({ config: { redisUrl } }) {
    if (redisUrl === undefined) return undefined
    try {
      await pingRedis(redisUrl)
      return ok('answers, and counts rate limits')
    } catch (error) {
      const text = `the server of REDIS_URL does not answer: ${(error as Error).message}`
      return warn(text, 'Check REDIS_URL; rate limits are counted in PostgreSQL meanwhile.')
    }
  },

  async 'leaked passwords'({ config, database }) {
    const rows = database && (await hasTables(database)) ? await database.query(CHECKING_ISSUERS) : []
    if (rows.length === 0 && config.breachedPasswordsUrl === defaultBreachedPasswordsUrl) return undefined
    const outbound = openOutbound({ allowPrivate: config.allowPrivateNetworks })
    try {
      const found = await leakedDigests({ config, outbound }, '00000')
      return ok(`${config.breachedPasswordsUrl} answers, ${found.length} begin with 00000`)
    } catch (error) {
      return warn(
        `${config.breachedPasswordsUrl} cannot be asked: ${(error as Error).message}`,
        'Check BREACHED_PASSWORDS_URL and the way to it: meanwhile leaked passwords are taken.',
      )
    } finally {
      await outbound.close()
    }
  },

  async addresses(inspection) {
    const { baseUrl, idpUrl, trustProxy } = inspection.config
    if (new URL(baseUrl).origin === new URL(idpUrl).origin)
      return broken(`BASE_URL and IDP_URL are both at ${new URL(baseUrl).origin}`, 'Give each its own host or port.')
    if (!isPublic(inspection.config)) return ok(`${baseUrl} and ${idpUrl}, for this machine only`)
    const plain = [baseUrl, idpUrl].filter((url) => url.startsWith('http:') && !isLocal(url))
    if (plain.length > 0)
      return broken(
        `${plain.join(' and ')} without TLS`,
        'Passwords and tokens would travel in the clear: end TLS at a proxy, and set https here.',
      )
    return trustProxy === 0
      ? warn(
          `${baseUrl} and ${idpUrl}, but TRUST_PROXY is 0`,
          'Behind a proxy all callers share its rate limits and address: set TRUST_PROXY to the number of hops.',
        )
      : ok(`${baseUrl} and ${idpUrl}, behind ${trustProxy} prox${trustProxy === 1 ? 'y' : 'ies'}`)
  },

  async protection(inspection) {
    if (!isPublic(inspection.config)) return undefined
    const { allowPrivateNetworks, rateLimits, metricsToken } = inspection.config
    const faults = [
      ...(allowPrivateNetworks ? ['ALLOW_PRIVATE_NETWORKS lets tenants reach your own network'] : []),
      ...(rateLimits === 'off' ? ['RATE_LIMITS is off'] : []),
      ...(metricsToken === undefined ? ['/metrics is open to everybody'] : []),
    ]
    if (faults.length === 0) return ok('rate limits, private networks and metrics are as they should be')
    return warn(faults.join('; '), 'Unset the first two; set METRICS_TOKEN, or keep /metrics inside by the proxy.')
  },
}

async function hasTables(database: NonNullable<Inspection['database']>): Promise<boolean> {
  const [row] = await database.query<{ there: boolean }>(`SELECT to_regclass('webhooks') IS NOT NULL AS there`)
  return row!.there
}

/** Can we listen there, or does a Gatehouse already? */
async function portState(host: string, port: number): Promise<'free' | 'ours' | 'taken'> {
  const free = await new Promise<boolean>((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, host, () => server.close(() => done(true)))
  })
  if (free) return 'free'
  return new Promise((done) => {
    const request = get({ host, port, path: '/healthz', timeout: 3000 }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += chunk))
      answer.on('end', () => done(text.includes('"status":"ok"') ? 'ours' : 'taken'))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => done('taken'))
  })
}
