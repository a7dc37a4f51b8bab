/** The checks of `gatehouse doctor`, ordered so that a failed check can explain the failures after it. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { defaultBreachedPasswordsUrl, isPublicDeployment } from '../config.js'
import { limits } from '../kernel/limits.js'
import { isLoopback } from '../kernel/uri.js'
import { canDecrypt, type EncryptedCount, encryptedCountSql } from '../platform/crypto/reencrypt.js'
import { createPrivateDirectory } from '../platform/directories.js'
import { pingRedis } from '../platform/http/redis-buckets.js'
import { mailServerError } from '../platform/mail/transport.js'
import { openOutbound } from '../platform/outbound/outbound.js'
import { migrationStatus, requireSupportedServer } from '../platform/postgres/migrate.js'
import { fetchBreachedSuffixes } from '../resources/credentials/breached-passwords.js'
import { encryptedColumns } from '../resources/encrypted-columns.js'
import type { Inspection } from './inspection.js'

/** The result of a check. */
export interface CheckResult {
  state: 'ok' | 'warn' | 'broken'
  text: string
  /** How to fix the problem. */
  fix?: string
}

/** A check of the deployment. It returns undefined when it does not apply. */
type Check = (inspection: Inspection) => Promise<CheckResult | undefined>

const ok = (text: string): CheckResult => ({ state: 'ok', text })
const warn = (text: string, fix: string): CheckResult => ({ state: 'warn', text, fix })
const broken = (text: string, fix: string): CheckResult => ({ state: 'broken', text, fix })

const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)

/** Selects a row if there is an issuer whose password policy rejects breached passwords. */
const breachCheckingIssuersText = `
  SELECT 1 FROM issuers WHERE status <> 'deleted' AND settings #>> '{security,password_policy,check_breached}' = 'true' LIMIT 1`
const [MEGABYTE, GIGABYTE] = [1e6, 1e9]

export const checks: Readonly<Record<string, Check>> = {
  async node() {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const isSupported = major > 20 || (major === 20 && minor >= 19)
    return isSupported
      ? ok(`Node.js ${process.versions.node}`)
      : broken(`Node.js ${process.versions.node}`, 'Install Node.js 20.19 or newer.')
  },

  async 'data directory'({ config: { dataDir } }) {
    createPrivateDirectory(dataDir)
    try {
      accessSync(dataDir, constants.W_OK)
    } catch {
      return broken(
        `${dataDir} is not writable`,
        'Make the user that runs Gatehouse the owner of this directory, or set DATA_DIR to another one.',
      )
    }
    const readableByOthers = [dataDir, join(dataDir, 'secret.key')].filter(
      (path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0,
    )
    if (readableByOthers.length > 0 && process.platform !== 'win32')
      return warn(
        `other users of this machine have access to ${readableByOthers.join(' and ')}`,
        `Remove the permissions of other users: chmod go= ${readableByOthers.join(' ')}`,
      )
    return ok(dataDir)
  },

  async disk({ config: { dataDir, databaseUrl } }) {
    const { bavail, bsize } = statfsSync(dataDir)
    const free = bavail * bsize
    const text = `${(free / GIGABYTE).toFixed(1)} GB free in ${dataDir}`
    if (free < 100 * MEGABYTE)
      return broken(
        text,
        databaseUrl ? 'Free disk space.' : 'Free disk space: the database stops when it cannot write.',
      )
    return free < GIGABYTE ? warn(text, 'Free disk space soon.') : ok(text)
  },

  async database({ config, database, connectionError }) {
    if (!database) {
      const fix = config.databaseUrl
        ? 'Check DATABASE_URL, the server and the network.'
        : 'See the log postgres.log in DATA_DIR, or set DATABASE_URL.'
      return broken(`cannot be reached: ${connectionError}`, fix)
    }
    const startedAt = performance.now()
    const [row] = await database.query<Record<string, string>>(`
      SELECT current_setting('server_version_num') AS version, current_setting('server_version') AS name,
        current_setting('server_encoding') AS encoding, current_setting('max_connections') AS connections,
        pg_is_in_recovery()::text AS replica`)
    const elapsed = (performance.now() - startedAt).toFixed(1)
    const { version, name, encoding, connections, replica } = row!
    try {
      requireSupportedServer(Number(version))
    } catch (error) {
      return broken((error as Error).message, 'Upgrade the database server.')
    }
    if (encoding !== 'UTF8') return broken(`the encoding is ${encoding}`, 'Create a database with ENCODING UTF8.')
    if (replica === 'true') return broken('the server is a read-only replica', 'Set DATABASE_URL to the primary.')
    const text = `PostgreSQL ${name}${config.databaseUrl ? '' : ' (embedded)'}, round trip ${elapsed} ms`
    return Number(connections) < 30
      ? warn(
          `${text}, ${connections} connections`,
          'Each Gatehouse process uses up to 20 connections: raise max_connections, or use a connection pooler.',
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
          ? 'Make the role of DATABASE_URL the owner of the database and its tables.'
          : 'Repair the database as this message says, or run the version of Gatehouse that migrated it.',
      )
    }
    const pending = rows.filter(({ appliedAt }) => appliedAt === null)
    if (pending.length === 0) return ok(`all ${rows.length} applied`)
    return warn(
      `${pending.length} pending, the first is ${pending[0]!.name}`,
      'Run gatehouse migrate, or gatehouse start.',
    )
  },

  async clock({ database, now }) {
    if (!database) return undefined
    const before = now()
    const [row] = await database.query<{ at: string }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS at',
    )
    const offset = Math.abs(Number(row!.at) - (before + now()) / 2)
    const text = `${(offset / 1000).toFixed(1)} s difference to the database`
    const fix = 'Synchronize both machines with NTP: tokens and one-time codes depend on the time.'
    if (offset > limits.maxClockOffset) return broken(text, fix)
    return offset > limits.clockOffsetWarning ? warn(text, fix) : ok(text)
  },

  async 'secret key'({ database, encryptor }) {
    if (!database || !(await hasTables(database))) return undefined
    const rows = await database.query<EncryptedCount>(encryptedCountSql(encryptedColumns))
    const undecryptable = rows.filter(({ sample }) => !canDecrypt(encryptor, sample))
    if (undecryptable.length > 0) {
      const texts = undecryptable.map(({ count, what, key }) => `${count} ${what} (key ${key})`).join(', ')
      return broken(`no configured key decrypts ${texts}`, 'Add the key that encrypted them to the list in SECRET_KEY.')
    }
    const total = rows.reduce((sum, { count }) => sum + count, 0)
    const [first] = encryptor.keyIds
    const old = rows.filter(({ key }) => key !== first).reduce((sum, { count }) => sum + count, 0)
    const text = `decrypts all ${total} encrypted secrets`
    return old === 0
      ? ok(text)
      : warn(
          `${text}, ${old} of them with an older key`,
          'Keep the older key in SECRET_KEY, and run: gatehouse secrets reencrypt',
        )
  },

  async administrator({ database }) {
    if (!database || !(await hasTables(database))) return undefined
    const rows = await database.query('SELECT 1 FROM accounts WHERE system AND owner_user_id IS NOT NULL')
    return rows.length > 0
      ? ok('the system account has an owner')
      : warn(
          'there is no administrator yet',
          'Open the setup link that gatehouse start prints, or run: gatehouse admin create --email you@example.com',
        )
  },

  ports: async ({ config: { host, port, idpPort } }) => {
    const states = await Promise.all([port, idpPort].map((number) => portState(host, number)))
    const takenPorts = [port, idpPort].filter((_, at) => states[at] === 'taken')
    if (takenPorts.length > 0)
      return broken(
        `${takenPorts.join(' and ')} on ${host}: in use by another program, or not available`,
        'Stop that program, or set PORT, IDP_PORT and HOST to available values.',
      )
    const ours = [port, idpPort].filter((_, at) => states[at] === 'ours')
    const running = `${ours.join(' and ')} on ${host}: in use by a running Gatehouse`
    return ok(ours.length > 0 ? running : `${port} and ${idpPort} on ${host} are free`)
  },

  async mail(inspection) {
    const { config } = inspection
    if (config.mail.url === undefined) {
      return isLocal(config.baseUrl)
        ? ok(`stored in the development inbox at ${config.baseUrl}/dev/mail`)
        : warn(
            'MAIL_URL is not set: no mail is sent',
            'Set MAIL_URL to smtp://user:password@host:587, and set MAIL_FROM.',
          )
    }
    const connectionError = await mailServerError(config)
    if (connectionError !== undefined)
      return broken(
        `cannot connect or sign in to the server of MAIL_URL: ${connectionError}`,
        'Check the host, port, user and password in MAIL_URL.',
      )
    return /@localhost>?$/.test(config.mail.from)
      ? warn(
          `the server responds, but the sender is ${config.mail.from}`,
          'Set MAIL_FROM to an address of your domain.',
        )
      : ok(`the server responds; the sender is ${config.mail.from}`)
  },

  async redis({ config: { redisUrl } }) {
    if (redisUrl === undefined) return undefined
    try {
      await pingRedis(redisUrl)
      return ok('the server responds; rate limits use it')
    } catch (error) {
      const text = `the server of REDIS_URL does not respond: ${(error as Error).message}`
      return warn(text, 'Check REDIS_URL and the Redis server. While it does not respond, rate limits use PostgreSQL.')
    }
  },

  async 'breached passwords'({ config, database }) {
    const rows = database && (await hasTables(database)) ? await database.query(breachCheckingIssuersText) : []
    if (rows.length === 0 && config.breachedPasswordsUrl === defaultBreachedPasswordsUrl) return undefined
    const outbound = openOutbound({ allowPrivate: config.allowPrivateNetworks })
    try {
      const digests = await fetchBreachedSuffixes({ config, outbound }, '00000')
      return ok(`${config.breachedPasswordsUrl} responds with ${digests.length} hashes for the prefix 00000`)
    } catch (error) {
      return warn(
        `${config.breachedPasswordsUrl} does not respond: ${(error as Error).message}`,
        'Check BREACHED_PASSWORDS_URL and the network. While the service does not respond, breached passwords are accepted.',
      )
    } finally {
      await outbound.close()
    }
  },

  async addresses(inspection) {
    const { baseUrl, idpUrl, trustProxy } = inspection.config
    if (new URL(baseUrl).origin === new URL(idpUrl).origin)
      return broken(
        `BASE_URL and IDP_URL have the same origin ${new URL(baseUrl).origin}`,
        'Set different hosts or ports.',
      )
    if (!isPublicDeployment(inspection.config)) return ok(`${baseUrl} and ${idpUrl}, for this machine only`)
    const plain = [baseUrl, idpUrl].filter((url) => url.startsWith('http:') && !isLocal(url))
    if (plain.length > 0)
      return broken(
        `${plain.join(' and ')} without TLS`,
        'Passwords and tokens would be sent unencrypted: terminate TLS at a proxy, and set https URLs.',
      )
    return trustProxy === 0
      ? warn(
          `${baseUrl} and ${idpUrl}, but TRUST_PROXY is 0`,
          'Behind a proxy all clients would share one IP address and its rate limits: set TRUST_PROXY to the number of proxies.',
        )
      : ok(`${baseUrl} and ${idpUrl}, behind ${trustProxy} prox${trustProxy === 1 ? 'y' : 'ies'}`)
  },

  async protection(inspection) {
    if (!isPublicDeployment(inspection.config)) return undefined
    const { allowPrivateNetworks, rateLimits, metricsToken } = inspection.config
    const warnings = [
      ...(allowPrivateNetworks ? ['ALLOW_PRIVATE_NETWORKS lets tenants send requests to your private network'] : []),
      ...(rateLimits === 'off' ? ['RATE_LIMITS is off'] : []),
      ...(metricsToken === undefined ? ['/metrics requires no authentication'] : []),
    ]
    if (warnings.length === 0) return ok('rate limits are on, private networks are blocked, metrics require a token')
    return warn(
      warnings.join('; '),
      'Unset ALLOW_PRIVATE_NETWORKS and RATE_LIMITS; set METRICS_TOKEN, or block /metrics at the proxy.',
    )
  },
}

async function hasTables(database: NonNullable<Inspection['database']>): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(`SELECT to_regclass('webhooks') IS NOT NULL AS exists`)
  return row!.exists
}

/**
 * Returns `free`, `ours` if a running Gatehouse uses the port, or `taken` if another program uses it or the
 * process cannot listen on it.
 */
async function portState(host: string, port: number): Promise<'free' | 'ours' | 'taken'> {
  const free = await new Promise<boolean>((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, host, () => server.close(() => done(true)))
  })
  if (free) return 'free'
  return new Promise((done) => {
    const request = get({ host, port, path: '/healthz', timeout: limits.commandHealthCheckTimeout }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => done(text.includes('"status":"ok"') ? 'ours' : 'taken'))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => done('taken'))
  })
}
