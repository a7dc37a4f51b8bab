/**
 * The deployment's settings (decisions part 0). This file is the only reader of the environment: one frozen, typed
 * object comes out, or one ConfigError that lists every problem with its fix.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isId } from './kernel/ids.js'
import { isLoopback } from './kernel/uri.js'
import type { SecretName, SettingName } from './settings.js'

export type Role = 'core' | 'idp' | 'worker'

/** How often something may be done: `quota` times within `window` seconds. */
export interface Limit {
  quota: number
  window: number
}

/** Rate limits by name (decisions D19). */
export const defaultRateLimits = {
  core_read: { quota: 1000, window: 60 },
  core_write: { quota: 300, window: 60 },
  unauthenticated: { quota: 60, window: 60 },
  auth_failures: { quota: 10, window: 60 },
  auth_failures_ip: { quota: 60, window: 60 },
  token_client: { quota: 300, window: 60 },
  token_ip: { quota: 60, window: 60 },
  authorize: { quota: 120, window: 60 },
  login: { quota: 10, window: 60 },
  mail: { quota: 5, window: 3600 },
  userinfo: { quota: 60, window: 60 },
  metadata: { quota: 600, window: 60 },
  topup: { quota: 10, window: 60 },
  wallet_nonce: { quota: 30, window: 60 },
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof defaultRateLimits
export type RateLimits = Readonly<Record<LimitName, Limit>> | 'off'

export const defaultBreachedPasswordsUrl = 'https://api.pwnedpasswords.com/range'

export interface Config {
  /** Public addresses without a trailing slash. */
  readonly baseUrl: string
  readonly idpUrl: string
  readonly host: string
  readonly port: number
  readonly idpPort: number
  /** Where a worker alone answers probes. */
  readonly workerPort: number
  /** Undefined: the embedded PostgreSQL under dataDir. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  /** Key-encryption keys, 32 bytes each, the first one seals; empty: generated into dataDir (embedded only). */
  readonly secretKeys: readonly Buffer[]
  readonly bootstrap: {
    readonly admin: { readonly email: string; readonly password: string } | undefined
    readonly apiKey: { readonly id: string; readonly secret: string } | undefined
  }
  readonly mail: { readonly url: string | undefined; readonly from: string }
  /** Number of proxy hops whose X-Forwarded-* headers are believed. */
  readonly trustProxy: number
  readonly allowPrivateNetworks: boolean
  readonly rateLimits: RateLimits
  readonly redisUrl: string | undefined
  readonly payments:
    | { readonly facilitatorUrl: string; readonly payTo: string; readonly network: string; readonly asset: string }
    | undefined
  readonly dnsResolver: string | undefined
  /** Where leaked passwords are looked up, without a trailing slash (src/resources/credentials/breached.ts). */
  readonly breachedPasswordsUrl: string
  readonly logLevel: string
  readonly metricsToken: string | undefined
  /** Events stay for at least so many days (docs/decisions/0027). */
  readonly eventRetentionDays: number
}

/** Everything that is wrong with the environment, one sentence per problem, each with its fix. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(`Gatehouse cannot start with these settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/**
 * Reads the environment. Every secret may also come from a file named by `NAME_FILE`.
 * @throws ConfigError with all problems at once
 */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems: string[] = []

  const text = (name: SettingName | `${SecretName}_FILE`): string | undefined => env[name]?.trim() || undefined
  const secret = (name: SecretName): string | undefined => {
    const file = text(`${name}_FILE`)
    if (file === undefined) return text(name)
    if (text(name) !== undefined) problems.push(`${name} and ${name}_FILE are both set; keep one of them.`)
    try {
      return readFileSync(file, 'utf8').trim() || undefined
    } catch {
      problems.push(`${name}_FILE names ${file}, which cannot be read; check the path and its permissions.`)
      return undefined
    }
  }
  const whole = (name: SettingName, fallback: number, min: number, max: number): number => {
    const value = text(name)
    if (value === undefined) return fallback
    if (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
    problems.push(`${name} is "${value}"; set a whole number from ${min} to ${max}.`)
    return fallback
  }
  const address = (name: SettingName, fallback: string | undefined, protocols: string[]): string | undefined => {
    const value = text(name)
    if (value === undefined) return fallback
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url && protocols.includes(url.protocol) && !url.search && !url.hash) return value.replace(/\/+$/, '')
    problems.push(`${name} is "${value}"; set an absolute URL such as ${fallback ?? `${protocols[0]}//host`}.`)
    return fallback
  }
  /** An address that we call: what platform/outbound.ts refuses in any case, when nobody looks, is refused here. */
  const called = (name: SettingName, fallback: string | undefined): string | undefined => {
    const value = address(name, fallback, ['https:', 'http:'])
    const url = value === undefined ? undefined : new URL(value)
    if (url && (url.username || url.password)) problems.push(`${name} holds a user or password; set it without.`)
    else if (url?.protocol === 'http:' && !allowPrivateNetworks) {
      problems.push(
        `${name} is "${value}"; set an https:// address: plain http is called by ALLOW_PRIVATE_NETWORKS only.`,
      )
    }
    return value
  }
  const flag = (name: SettingName): boolean => {
    const value = text(name)
    if (value !== undefined && value !== 'true' && value !== 'false') {
      problems.push(`${name} is "${value}"; set true or false.`)
    }
    return value === 'true'
  }

  const allowPrivateNetworks = flag('ALLOW_PRIVATE_NETWORKS')

  const port = whole('PORT', 3000, 0, 65_535)
  const idpPort = whole('IDP_PORT', 4000, 0, 65_535)
  if (port === idpPort && port !== 0) problems.push(`PORT and IDP_PORT are both ${port}; give each server its own.`)

  const databaseUrl = secret('DATABASE_URL')
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl)) {
    problems.push(
      'DATABASE_URL must begin with postgres:// or postgresql://, as in postgres://user:password@host:5432/gatehouse.',
    )
  }

  const secretKeys = (secret('SECRET_KEY') ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter(Boolean)
    .map((key) => Buffer.from(key, 'base64'))
  if (secretKeys.some((key) => key.length !== 32)) {
    problems.push(
      'SECRET_KEY must be 32 bytes in base64 (a comma list rotates); make one with: openssl rand -base64 32',
    )
  }
  if (databaseUrl !== undefined && secretKeys.length === 0) {
    problems.push('SECRET_KEY is required with DATABASE_URL; make one with: openssl rand -base64 32')
  }

  const email = text('BOOTSTRAP_ADMIN_EMAIL')
  const password = secret('BOOTSTRAP_ADMIN_PASSWORD')
  if ((email === undefined) !== (password === undefined)) {
    problems.push('BOOTSTRAP_ADMIN_EMAIL and BOOTSTRAP_ADMIN_PASSWORD go together; set both or neither.')
  }
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email)) {
    problems.push(`BOOTSTRAP_ADMIN_EMAIL is "${email}"; set an email address.`)
  }
  if (password !== undefined && (password.length < 8 || password.length > 128)) {
    problems.push('BOOTSTRAP_ADMIN_PASSWORD must have 8 to 128 characters.')
  }

  const bootstrapKey = secret('BOOTSTRAP_API_KEY')
  const [keyId, ...keyRest] = (bootstrapKey ?? '').split(':')
  const keySecret = keyRest.join(':')
  if (bootstrapKey !== undefined && !(isId('ak', keyId) && keySecret.length >= 32 && keySecret.length <= 256)) {
    problems.push(
      'BOOTSTRAP_API_KEY must be ak_ and 26 characters (a-z, 0-9, without i, l, o, u; the first 0-7), a colon, and a secret of 32 to 256 characters.',
    )
  }

  const rateLimits = readRateLimits(text('RATE_LIMITS'), problems)

  const logLevel = text('LOG_LEVEL') ?? 'info'
  if (!logLevels.includes(logLevel)) problems.push(`LOG_LEVEL is "${logLevel}"; set one of ${logLevels.join(', ')}.`)

  const mailUrl = secret('MAIL_URL')
  if (mailUrl !== undefined && !/^smtps?:\/\//.test(mailUrl)) {
    problems.push('MAIL_URL must begin with smtp:// or smtps://, as in smtp://user:password@host:587.')
  }

  const payTo = text('X402_PAY_TO')
  const network = text('X402_NETWORK')
  const asset = text('X402_ASSET')
  const facilitatorUrl = called('X402_FACILITATOR_URL', undefined)
  const payments = facilitatorUrl && payTo && network && asset ? { facilitatorUrl, payTo, network, asset } : undefined
  if (!payments && (facilitatorUrl || payTo || network || asset)) {
    problems.push('X402_FACILITATOR_URL, X402_PAY_TO, X402_NETWORK and X402_ASSET go together; set all or none.')
  }

  const dnsResolver = text('DNS_RESOLVER')
  if (
    dnsResolver !== undefined &&
    dnsResolver !== 'system' &&
    !/^(\[[0-9a-f:]+\]|[0-9.]+)(:\d+)?$/i.test(dnsResolver)
  ) {
    problems.push(`DNS_RESOLVER is "${dnsResolver}"; set an address with a port, such as 127.0.0.1:53.`)
  }

  const redisUrl = secret('REDIS_URL')
  if (redisUrl !== undefined && !/^rediss?:\/\//.test(redisUrl)) {
    problems.push('REDIS_URL must begin with redis:// or rediss://.')
  }

  const config: Config = {
    baseUrl: address('BASE_URL', 'http://localhost:3000', ['https:', 'http:'])!,
    idpUrl: address('IDP_URL', 'http://localhost:4000', ['https:', 'http:'])!,
    host: text('HOST') ?? '127.0.0.1',
    port,
    idpPort,
    workerPort: whole('WORKER_PORT', 3001, 0, 65_535),
    databaseUrl,
    dataDir: resolve(text('DATA_DIR') ?? './.gatehouse'),
    secretKeys,
    bootstrap: {
      admin: email !== undefined && password !== undefined ? { email, password } : undefined,
      apiKey: keyId && keySecret ? { id: keyId, secret: keySecret } : undefined,
    },
    mail: { url: mailUrl, from: text('MAIL_FROM') ?? 'Gatehouse <no-reply@localhost>' },
    trustProxy: whole('TRUST_PROXY', 0, 0, 10),
    allowPrivateNetworks,
    rateLimits,
    redisUrl,
    payments,
    dnsResolver: dnsResolver === 'system' ? undefined : dnsResolver,
    breachedPasswordsUrl: called('BREACHED_PASSWORDS_URL', defaultBreachedPasswordsUrl)!,
    logLevel,
    metricsToken: secret('METRICS_TOKEN'),
    eventRetentionDays: whole('EVENT_RETENTION_DAYS', 400, 1, 36_500),
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(config)
}

/** A secret that a document of `gatehouse issuer apply` names; undefined when it is not set. */
export const environmentValue = (name: string): string | undefined => process.env[name] || undefined

function readRateLimits(value: string | undefined, problems: string[]): RateLimits {
  if (value === undefined || value === 'default') return defaultRateLimits
  if (value === 'off') return 'off'
  const limits: Record<string, Limit> = { ...defaultRateLimits }
  try {
    for (const [name, limit] of Object.entries(JSON.parse(value) as Record<string, Partial<Limit>>)) {
      if (!(name in defaultRateLimits)) {
        problems.push(`RATE_LIMITS names "${name}"; the limits are ${Object.keys(defaultRateLimits).join(', ')}.`)
        continue
      }
      const { quota, window } = { ...limits[name]!, ...limit }
      if (Number.isInteger(quota) && quota >= 1 && Number.isInteger(window) && window >= 1) {
        limits[name] = { quota, window }
      } else {
        problems.push(`RATE_LIMITS.${name} must hold whole numbers: {"quota": 100, "window": 60} (seconds).`)
      }
    }
  } catch {
    problems.push(
      'RATE_LIMITS must be default, off, or a JSON object such as {"core_read": {"quota": 5000, "window": 60}}.',
    )
  }
  return limits as Record<LimitName, Limit>
}

/** Is this deployment reached from other machines: is one of its public addresses not a loopback address? */
export const isPublic = ({ baseUrl, idpUrl }: Pick<Config, 'baseUrl' | 'idpUrl'>): boolean =>
  [baseUrl, idpUrl].some((url) => !isLoopback(new URL(url).hostname))
