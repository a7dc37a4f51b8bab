/** The settings of src/config.ts: defaults, accepted values and error messages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ConfigError, readConfig } from '../../src/config.js'
import { rateLimitTable } from '../../src/kernel/limits.js'

const key = Buffer.alloc(32, 1).toString('base64')
const apiKey = `ak_${'0'.repeat(26)}:${'s'.repeat(32)}`

/** Returns the problems that readConfig reports. */
function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as ConfigError).problems
  }
}

test('an empty environment uses every default', () => {
  expect(readConfig({ PORT: ' ', LOG_LEVEL: '' })).toEqual({
    baseUrl: 'http://localhost:3000',
    idpUrl: 'http://localhost:4000',
    host: '127.0.0.1',
    port: 3000,
    idpPort: 4000,
    workerPort: 3001,
    databaseUrl: undefined,
    dataDir: resolve('./.gatehouse'),
    secretKeys: [],
    bootstrap: { admin: undefined, apiKey: undefined },
    mail: { url: undefined, from: 'Gatehouse <no-reply@localhost>' },
    trustProxy: 0,
    allowPrivateNetworks: false,
    rateLimits: rateLimitTable,
    redisUrl: undefined,
    payments: undefined,
    dnsResolver: undefined,
    breachedPasswordsUrl: 'https://api.pwnedpasswords.com/range',
    logLevel: 'info',
    metricsToken: undefined,
    eventRetentionDays: 400,
  })
})

// biome-ignore format: a table with one row per value
const accepted: [env: Record<string, string>, config: object][] = [
  [{ BASE_URL: 'https://id.example.com/' }, { baseUrl: 'https://id.example.com' }],
  [{ PORT: '0', IDP_PORT: '0' }, { port: 0, idpPort: 0 }],
  [{ TRUST_PROXY: '10' }, { trustProxy: 10 }],
  [{ DATABASE_URL: 'postgresql://db', SECRET_KEY: `${key}, ${key},` }, { databaseUrl: 'postgresql://db', secretKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 1)] }],
  [{ BOOTSTRAP_ADMIN_EMAIL: 'root@example.com', BOOTSTRAP_ADMIN_PASSWORD: '12345678' }, { bootstrap: { admin: { email: 'root@example.com', password: '12345678' }, apiKey: undefined } }],
  [{ BOOTSTRAP_API_KEY: `${apiKey}:x` }, { bootstrap: { admin: undefined, apiKey: { id: `ak_${'0'.repeat(26)}`, secret: `${'s'.repeat(32)}:x` } } }],
  [{ RATE_LIMITS: 'off' }, { rateLimits: 'off' }],
  [{ RATE_LIMITS: '{"login": {"quota": 3}}' }, { rateLimits: { ...rateLimitTable, login: { quota: 3, window: 60 } } }],
  [{ DNS_RESOLVER: 'system' }, { dnsResolver: undefined }],
  [{ DNS_RESOLVER: '[::1]:53' }, { dnsResolver: '[::1]:53' }],
  [{ ALLOW_PRIVATE_NETWORKS: 'true', BREACHED_PASSWORDS_URL: 'http://127.0.0.1:9/range/' }, { breachedPasswordsUrl: 'http://127.0.0.1:9/range' }],
  [{ X402_FACILITATOR_URL: 'https://pay.example.com', X402_PAY_TO: 'a', X402_NETWORK: 'b', X402_ASSET: 'c' }, { payments: { facilitatorUrl: 'https://pay.example.com', payTo: 'a', network: 'b', asset: 'c' } }],
]
test.each(accepted)('%j is accepted', (env, config) => {
  expect(readConfig(env)).toMatchObject(config)
})

// biome-ignore format: a table with one row per value
const refused: [env: Record<string, string>, problem: string][] = [
  [{ BASE_URL: 'example.com' }, 'BASE_URL is "example.com"; set an absolute http or https URL without query and fragment, such as http://localhost:3000.'],
  [{ IDP_URL: 'https://id.example.com/?a' }, 'IDP_URL is "https://id.example.com/?a"; set an absolute http or https URL without query and fragment, such as http://localhost:4000.'],
  [{ PORT: '65536' }, 'PORT is "65536"; set a whole number from 0 to 65535.'],
  [{ TRUST_PROXY: '-1' }, 'TRUST_PROXY is "-1"; set a whole number from 0 to 10.'],
  [{ PORT: '4000' }, 'PORT and IDP_PORT are both 4000; set a different port for each server.'],
  [{ DATABASE_URL: 'mysql://u:geheim@db', SECRET_KEY: key }, 'DATABASE_URL: it must begin with postgres:// or postgresql://, as in postgres://user:password@host:5432/gatehouse.'],
  [{ DATABASE_URL: 'postgres://db' }, 'SECRET_KEY is required with DATABASE_URL; create one with: openssl rand -base64 32'],
  [{ SECRET_KEY: ',' }, 'SECRET_KEY: set 32 bytes in base64 (a comma-separated list rotates keys); create a key with: openssl rand -base64 32'],
  [{ SECRET_KEY: 'short' }, 'SECRET_KEY: set 32 bytes in base64 (a comma-separated list rotates keys); create a key with: openssl rand -base64 32'],
  [{ BOOTSTRAP_ADMIN_EMAIL: 'root@example.com' }, 'Only one of BOOTSTRAP_ADMIN_EMAIL and BOOTSTRAP_ADMIN_PASSWORD is set; set both or neither.'],
  [{ BOOTSTRAP_ADMIN_EMAIL: 'root', BOOTSTRAP_ADMIN_PASSWORD: '12345678' }, 'BOOTSTRAP_ADMIN_EMAIL is "root"; set an email address.'],
  [{ BOOTSTRAP_ADMIN_EMAIL: 'root@example.com', BOOTSTRAP_ADMIN_PASSWORD: '1234567' }, 'BOOTSTRAP_ADMIN_PASSWORD: it must have 8 to 128 characters.'],
  [{ BOOTSTRAP_API_KEY: 'ak_1:short' }, 'BOOTSTRAP_API_KEY: set ak_ and 26 characters (a-z, 0-9, without i, l, o, u; the first 0-7), a colon, and a secret of 32 to 256 characters.'],
  [{ MAIL_URL: 'mail.example.com' }, 'MAIL_URL: it must begin with smtp:// or smtps://, as in smtp://user:password@host:587.'],
  [{ RATE_LIMITS: 'none' }, 'RATE_LIMITS is "none"; set default, off, or a JSON object such as {"core_read": {"quota": 5000, "window": 60}}.'],
  [{ RATE_LIMITS: '{"logins": {}}' }, `RATE_LIMITS is "{"logins": {}}"; "logins" is not a rate limit; the rate limits are ${Object.keys(rateLimitTable).join(', ')}.`],
  [{ RATE_LIMITS: '{"login": 5}' }, 'RATE_LIMITS is "{"login": 5}"; login must be an object with whole numbers from 1, such as {"quota": 100, "window": 60}; window is in seconds.'],
  [{ RATE_LIMITS: '{"login": {"quota": 0}}' }, 'RATE_LIMITS is "{"login": {"quota": 0}}"; login must be an object with whole numbers from 1, such as {"quota": 100, "window": 60}; window is in seconds.'],
  [{ REDIS_URL: 'localhost' }, 'REDIS_URL: it must begin with redis:// or rediss://.'],
  [{ ALLOW_PRIVATE_NETWORKS: 'yes' }, 'ALLOW_PRIVATE_NETWORKS is "yes"; set true or false.'],
  [{ DNS_RESOLVER: 'dns.example.com' }, 'DNS_RESOLVER is "dns.example.com"; set an IP address with an optional port, such as 127.0.0.1:53.'],
  [{ BREACHED_PASSWORDS_URL: 'http://pwned.example.com' }, 'BREACHED_PASSWORDS_URL is "http://pwned.example.com"; set an https:// URL. An http:// URL requires ALLOW_PRIVATE_NETWORKS=true.'],
  [{ BREACHED_PASSWORDS_URL: 'https://u:p@pwned.example.com' }, 'BREACHED_PASSWORDS_URL contains a user name or password; remove the user name and password from the URL.'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud"; set one of trace, debug, info, warn, error, fatal, silent.'],
  [{ EVENT_RETENTION_DAYS: '0' }, 'EVENT_RETENTION_DAYS is "0"; set a whole number from 1 to 36500.'],
  [{ X402_PAY_TO: 'a' }, 'Only some of X402_FACILITATOR_URL, X402_PAY_TO, X402_NETWORK and X402_ASSET are set; set all or none.'],
]
test.each(refused)('%j is rejected', (env, problem) => {
  expect(problemsOf(env)).toEqual([problem])
})

test('one error contains all problems', () => {
  expect(problemsOf({ PORT: 'x', IDP_PORT: 'y', LOG_LEVEL: 'loud' })).toHaveLength(3)
})

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'))
  const file = join(folder, 'token')
  writeFileSync(file, 'from a file\n')

  test('is read from the path in NAME_FILE', () => {
    expect(readConfig({ METRICS_TOKEN_FILE: file }).metricsToken).toBe('from a file')
  })

  test('is refused if the variable is also set, or if the file cannot be read', () => {
    expect(problemsOf({ METRICS_TOKEN: 'x', METRICS_TOKEN_FILE: file })).toEqual([
      'METRICS_TOKEN and METRICS_TOKEN_FILE are both set; keep one of them.',
    ])
    expect(problemsOf({ METRICS_TOKEN_FILE: join(folder, 'absent') })).toEqual([
      `METRICS_TOKEN_FILE is ${join(folder, 'absent')}, which cannot be read; check the path and the permissions of the file.`,
    ])
    rmSync(folder, { recursive: true })
  })

  test('is not supported for settings that are not secrets', () => {
    expect(readConfig({ HOST_FILE: file }).host).toBe('127.0.0.1')
  })
})
