/**
 * The settings of a deployment (docs/contract.md#configuration). Each setting is an environment variable and has one
 * row in `settings` with its schema, default and description, from which `npm run reference` prints
 * docs/reference/configuration.md. No other file reads the environment.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { isId } from './kernel/ids.js'
import { type RateLimit, type RateLimitName, rateLimitTable } from './kernel/limits.js'
import { isLoopback } from './kernel/uri.js'

export type Role = 'core' | 'idp' | 'worker'
export type RateLimits = Readonly<Record<RateLimitName, RateLimit>> | 'off'

export const defaultBreachedPasswordsUrl = 'https://api.pwnedpasswords.com/range'

/**
 * Creates a schema for strings that match a pattern.
 * @param fix the end of the error message `NAME is "value"; …` (for a secret `NAME: …`), which says how to fix it
 */
const matching = (pattern: RegExp, fix: string) => z.string().regex(pattern, fix)

const integer = (min: number, max: number) =>
  matching(/^\d+$/, `set a whole number from ${min} to ${max}.`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `set a whole number from ${min} to ${max}.`)

const flag = z.enum(['true', 'false'], 'set true or false.').transform((value) => value === 'true')

/**
 * Creates a schema for absolute http or https URLs without query and fragment. The schema removes trailing slashes.
 */
const url = (example: string) =>
  z
    .string()
    .refine((value) => {
      const parsed = URL.canParse(value) ? new URL(value) : undefined
      return parsed !== undefined && /^https?:$/.test(parsed.protocol) && !parsed.search && !parsed.hash
    }, `set an absolute http or https URL without query and fragment, such as ${example}.`)
    .transform((value) => value.replace(/\/+$/, ''))

const secretKeys = z
  .string()
  .transform((list) =>
    list
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((key) => Buffer.from(key, 'base64')),
  )
  .refine(
    (keys) => keys.length > 0 && keys.every((key) => key.length === 32),
    'set 32 bytes in base64 (a comma-separated list rotates keys); create a key with: openssl rand -base64 32',
  )

const apiKey = z
  .string()
  .transform((text) => ({ id: text.split(':', 1)[0]!, secret: text.slice(text.indexOf(':') + 1) }))
  .refine(
    ({ id, secret }) => isId('ak', id) && secret.length >= 32 && secret.length <= 256,
    'set ak_ and 26 characters (a-z, 0-9, without i, l, o, u; the first 0-7), a colon, and a secret of 32 to 256 characters.',
  )

const rateLimitText = 'set default, off, or a JSON object such as {"core_read": {"quota": 5000, "window": 60}}.'
const rateLimits = z.string().transform((text, context): RateLimits => {
  if (text === 'default') return rateLimitTable
  if (text === 'off') return 'off'
  const refuse = (message: string) => context.addIssue({ code: 'custom', message })
  const limits: Record<string, RateLimit> = { ...rateLimitTable }
  let changes: unknown
  try {
    changes = JSON.parse(text)
  } catch {}
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) refuse(rateLimitText)
  for (const [name, change] of Object.entries((changes ?? {}) as Record<string, Partial<RateLimit>>)) {
    if (!(name in rateLimitTable)) {
      refuse(`"${name}" is not a rate limit; the rate limits are ${Object.keys(rateLimitTable).join(', ')}.`)
      continue
    }
    const isLimit = typeof change === 'object' && change !== null
    const { quota, window } = { ...limits[name]!, ...change }
    if (isLimit && [quota, window].every((value) => Number.isInteger(value) && value >= 1))
      limits[name] = { quota, window }
    else
      refuse(
        `${name} must be an object with whole numbers from 1, such as {"quota": 100, "window": 60}; window is in seconds.`,
      )
  }
  return limits as Record<RateLimitName, RateLimit>
})

const text = z.string()
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

interface Setting {
  readonly section:
    | 'Addresses'
    | 'Data'
    | 'First administrator'
    | 'Email'
    | 'Limits and networks'
    | 'Observability'
    | 'Payments'
  readonly schema: z.ZodType<unknown, string>
  /** The default value, which is used if the variable is not set or empty. */
  readonly fallback?: string
  /** The text of the column "Default" for a setting without `fallback`: what Gatehouse does without the setting. */
  readonly without?: string
  /** The description of the setting in Markdown. */
  readonly meaning: string
  /**
   * True if the value is a secret. It can also be in a file whose path is in the variable `NAME_FILE`. Error messages
   * do not contain the value.
   */
  readonly secret?: true
}

// biome-ignore format: a table, one row a setting
export const settings = {
  BASE_URL: { section: 'Addresses', schema: url('http://localhost:3000'), fallback: 'http://localhost:3000', meaning: 'public URL of the server with the Core API (`/v1` and GraphQL) and the console' },
  IDP_URL: { section: 'Addresses', schema: url('http://localhost:4000'), fallback: 'http://localhost:4000', meaning: 'public URL of the identity provider; an issuer is `{IDP_URL}/{issuer_id}`' },
  PORT: { section: 'Addresses', schema: integer(0, 65_535), fallback: '3000', meaning: 'port of the Core API' },
  IDP_PORT: { section: 'Addresses', schema: integer(0, 65_535), fallback: '4000', meaning: 'port of the identity provider' },
  WORKER_PORT: { section: 'Addresses', schema: integer(0, 65_535), fallback: '3001', meaning: 'port on which `start --only worker` serves `/healthz`, `/readyz` and `/metrics`; processes with other roles serve them on the ports of those roles' },
  HOST: { section: 'Addresses', schema: text, fallback: '127.0.0.1', meaning: 'IP address on which the servers listen' },
  TRUST_PROXY: { section: 'Addresses', schema: integer(0, 10), fallback: '0', meaning: 'number of proxies whose `X-Forwarded-*` headers are trusted, 0 to 10' },

  DATABASE_URL: { section: 'Data', schema: matching(/^postgres(ql)?:\/\//, 'it must begin with postgres:// or postgresql://, as in postgres://user:password@host:5432/gatehouse.'), without: 'embedded PostgreSQL', meaning: 'PostgreSQL 15 or later, as `postgres://user:password@host:5432/gatehouse`', secret: true },
  DATA_DIR: { section: 'Data', schema: text, fallback: './.gatehouse', meaning: 'directory of the embedded database, the generated keys and the development inbox; other users cannot read it' },
  SECRET_KEY: { section: 'Data', schema: secretKeys, without: 'created once in `DATA_DIR`', meaning: 'key-encryption key: 32 bytes in base64; required with `DATABASE_URL`. In a comma-separated list, the first key encrypts and all keys decrypt ([how to rotate keys](../production.md#changing-the-key-encryption-key))', secret: true },
  EVENT_RETENTION_DAYS: { section: 'Data', schema: integer(1, 36_500), fallback: '400', meaning: 'minimum number of days for which events are kept; events are deleted by whole months' },

  BOOTSTRAP_ADMIN_EMAIL: { section: 'First administrator', schema: matching(/^[^\s@]+@[^\s@]+$/, 'set an email address.'), without: 'a setup link is printed', meaning: 'email address of the first administrator, who is created on the first start' },
  BOOTSTRAP_ADMIN_PASSWORD: { section: 'First administrator', schema: text.min(8, 'it must have 8 to 128 characters.').max(128, 'it must have 8 to 128 characters.'), without: 'a setup link is printed', meaning: 'password of the first administrator, 8 to 128 characters', secret: true },
  BOOTSTRAP_API_KEY: { section: 'First administrator', schema: apiKey, without: 'none', meaning: 'API key of the system account that is created on the first start, as `ak_<26 characters>:<secret of 32 to 256 characters>`', secret: true },

  MAIL_URL: { section: 'Email', schema: matching(/^smtps?:\/\//, 'it must begin with smtp:// or smtps://, as in smtp://user:password@host:587.'), without: 'emails are shown at `/dev/mail` on this machine if `BASE_URL` has a loopback host; otherwise none are sent', meaning: 'mail server, as `smtp://user:password@host:587`', secret: true },
  MAIL_FROM: { section: 'Email', schema: text, fallback: 'Gatehouse <no-reply@localhost>', meaning: 'sender address of all emails' },

  RATE_LIMITS: { section: 'Limits and networks', schema: rateLimits, fallback: 'default', meaning: '`default`, `off`, or the changed rate limits as JSON, such as `{"core_read": {"quota": 5000, "window": 60}}`; `window` is in seconds' },
  REDIS_URL: { section: 'Limits and networks', schema: matching(/^rediss?:\/\//, 'it must begin with redis:// or rediss://.'), without: 'PostgreSQL counts rate limits', meaning: 'Redis or Valkey that counts rate limits, as `redis://user:password@host:6379`. Several deployments can share it. While it is unavailable, PostgreSQL counts rate limits', secret: true },
  ALLOW_PRIVATE_NETWORKS: { section: 'Limits and networks', schema: flag, fallback: 'false', meaning: 'whether outbound requests may use private addresses and plain http; only for development and tests' },
  DNS_RESOLVER: { section: 'Limits and networks', schema: matching(/^(system|(\[[0-9a-f:]+\]|[0-9.]+)(:\d+)?)$/i, 'set an IP address with an optional port, such as 127.0.0.1:53.'), without: 'the system resolver', meaning: 'IP address of the DNS resolver for the verification of domains, with an optional port, such as `127.0.0.1:53`' },
  BREACHED_PASSWORDS_URL: { section: 'Limits and networks', schema: url(defaultBreachedPasswordsUrl), fallback: defaultBreachedPasswordsUrl, meaning: 'URL of the Pwned Passwords range API, for issuers whose password policy has `check_breached`. Gatehouse requests `GET <url>/<first five digits of the SHA-1 hash>`' },

  LOG_LEVEL: { section: 'Observability', schema: z.enum(logLevels, `set one of ${logLevels.join(', ')}.`), fallback: 'info', meaning: 'log level: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; `debug` logs each request' },
  METRICS_TOKEN: { section: 'Observability', schema: text, without: '`/metrics` requires no token', meaning: 'bearer token that `/metrics` requires', secret: true },

  X402_FACILITATOR_URL: { section: 'Payments', schema: url('https://host'), without: 'top-ups are refused with 400', meaning: 'URL of the x402 facilitator that verifies and settles payments; set all four `X402_*` settings together' },
  X402_PAY_TO: { section: 'Payments', schema: text, without: 'none', meaning: 'wallet address that receives payments' },
  X402_NETWORK: { section: 'Payments', schema: text, without: 'none', meaning: 'blockchain network of `X402_PAY_TO` and `X402_ASSET`, such as `eip155:8453`' },
  X402_ASSET: { section: 'Payments', schema: text, without: 'none', meaning: 'contract address of the token in which payments are made' },
} as const satisfies Record<string, Setting>

type Settings = typeof settings
type SettingName = keyof Settings
type Values = {
  [Name in SettingName]:
    | z.output<Settings[Name]['schema']>
    | (Settings[Name] extends { fallback: string } ? never : undefined)
}

/** The error of invalid settings. Each problem is a sentence that says what is wrong and how to fix it. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(`Gatehouse cannot start with these settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the value of a setting: of its variable, or for a secret the content of the file whose path is in
 * `NAME_FILE`. Returns undefined if the value is not set, is empty or cannot be read. Adds errors to `problems`.
 */
function textOf(env: Environment, name: SettingName, problems: string[]): string | undefined {
  const value = env[name]?.trim() || undefined
  const setting: Setting = settings[name]
  const file = setting.secret && (env[`${name}_FILE`]?.trim() || undefined)
  if (file === undefined) return value
  if (value !== undefined) problems.push(`${name} and ${name}_FILE are both set; keep one of them.`)
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    problems.push(`${name}_FILE is ${file}, which cannot be read; check the path and the permissions of the file.`)
    return undefined
  }
}

/** Returns true when the variable `NAME` or, for a secret, `NAME_FILE` is set, even if the value is invalid. */
function isSet(env: Environment, name: SettingName): boolean {
  const setting: Setting = settings[name]
  return Boolean(env[name]?.trim() || (setting.secret && env[`${name}_FILE`]?.trim()))
}

function readSettings(env: Environment, problems: string[]): Values {
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(settings) as SettingName[]) {
    const { schema, fallback, secret }: Setting = settings[name]
    const given = textOf(env, name, problems)
    const result = given === undefined ? undefined : schema.safeParse(given)
    for (const { message } of result?.error?.issues ?? []) {
      problems.push(secret ? `${name}: ${message}` : `${name} is "${given}"; ${message}`)
    }
    values[name] = result?.success ? result.data : fallback === undefined ? undefined : schema.parse(fallback)
  }
  return values as Values
}

/** Checks the rules that involve several settings, and that two of the URLs contain no credentials. */
function checkTogether(env: Environment, values: Values, problems: string[]): void {
  const { PORT, IDP_PORT } = values
  if (PORT === IDP_PORT && PORT !== 0) {
    problems.push(`PORT and IDP_PORT are both ${PORT}; set a different port for each server.`)
  }
  if (isSet(env, 'DATABASE_URL') && !isSet(env, 'SECRET_KEY')) {
    problems.push('SECRET_KEY is required with DATABASE_URL; create one with: openssl rand -base64 32')
  }
  if (isSet(env, 'BOOTSTRAP_ADMIN_EMAIL') !== isSet(env, 'BOOTSTRAP_ADMIN_PASSWORD')) {
    problems.push('Only one of BOOTSTRAP_ADMIN_EMAIL and BOOTSTRAP_ADMIN_PASSWORD is set; set both or neither.')
  }
  const payment = (['X402_FACILITATOR_URL', 'X402_PAY_TO', 'X402_NETWORK', 'X402_ASSET'] as const).map((name) =>
    isSet(env, name),
  )
  if (payment.includes(true) && payment.includes(false)) {
    problems.push(
      'Only some of X402_FACILITATOR_URL, X402_PAY_TO, X402_NETWORK and X402_ASSET are set; set all or none.',
    )
  }
  for (const name of ['X402_FACILITATOR_URL', 'BREACHED_PASSWORDS_URL'] as const) {
    const target = values[name] === undefined ? undefined : new URL(values[name])
    if (target?.username || target?.password) {
      problems.push(`${name} contains a user name or password; remove the user name and password from the URL.`)
    } else if (target?.protocol === 'http:' && !values.ALLOW_PRIVATE_NETWORKS) {
      problems.push(
        `${name} is "${values[name]}"; set an https:// URL. An http:// URL requires ALLOW_PRIVATE_NETWORKS=true.`,
      )
    }
  }
}

/**
 * Reads and validates the settings.
 * @throws ConfigError that contains all problems
 */
export function readConfig(env: Environment = process.env) {
  const problems: string[] = []
  const values = readSettings(env, problems)
  checkTogether(env, values, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password, DNS_RESOLVER: resolver } = values
  const { X402_FACILITATOR_URL: facilitatorUrl, X402_PAY_TO, X402_NETWORK, X402_ASSET } = values
  return Object.freeze({
    /** The public URL of the Core API, without a trailing slash. */
    baseUrl: values.BASE_URL,
    /** The public URL of the IdP, without a trailing slash. */
    idpUrl: values.IDP_URL,
    host: values.HOST,
    port: values.PORT,
    idpPort: values.IDP_PORT,
    workerPort: values.WORKER_PORT,
    /** The URL of the database; undefined for the embedded PostgreSQL in `dataDir`. */
    databaseUrl: values.DATABASE_URL,
    dataDir: resolve(values.DATA_DIR),
    /** The key-encryption keys, of which the first encrypts. If empty, a generated key in `dataDir` is used. */
    secretKeys: values.SECRET_KEY ?? [],
    bootstrap: {
      admin: email !== undefined && password !== undefined ? { email, password } : undefined,
      apiKey: values.BOOTSTRAP_API_KEY,
    },
    mail: { url: values.MAIL_URL, from: values.MAIL_FROM },
    /** The number of proxies whose X-Forwarded-* headers are trusted. */
    trustProxy: values.TRUST_PROXY,
    allowPrivateNetworks: values.ALLOW_PRIVATE_NETWORKS,
    rateLimits: values.RATE_LIMITS,
    redisUrl: values.REDIS_URL,
    payments: facilitatorUrl
      ? { facilitatorUrl, payTo: X402_PAY_TO!, network: X402_NETWORK!, asset: X402_ASSET! }
      : undefined,
    dnsResolver: resolver === 'system' ? undefined : resolver,
    breachedPasswordsUrl: values.BREACHED_PASSWORDS_URL,
    logLevel: values.LOG_LEVEL,
    metricsToken: values.METRICS_TOKEN,
    eventRetentionDays: values.EVENT_RETENTION_DAYS,
  })
}

export type Config = ReturnType<typeof readConfig>

/**
 * Returns the value of an environment variable that the configuration document of `gatehouse issuer apply` refers to;
 * undefined if the variable is not set or empty.
 */
export const environmentValue = (name: string): string | undefined => process.env[name] || undefined

/** Returns true when BASE_URL or IDP_URL has a host that is not a loopback host. */
export const isPublicDeployment = ({ baseUrl, idpUrl }: Pick<Config, 'baseUrl' | 'idpUrl'>): boolean =>
  [baseUrl, idpUrl].some((address) => !isLoopback(new URL(address).hostname))
