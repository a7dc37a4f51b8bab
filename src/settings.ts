/**
 * Every setting that config.ts reads, as a table: docs/reference/configuration.md is printed from it, and config.ts can
 * read no other name. `value` is the default, or what happens without one.
 */
import type { LimitName } from './config.js'

interface Setting {
  readonly section:
    | 'Addresses'
    | 'Data'
    | 'First administrator'
    | 'Mail'
    | 'Limits and networks'
    | 'Watching'
    | 'Payments'
  readonly value: string
  readonly meaning: string
  /** May also be given in a file named by `NAME_FILE`. */
  readonly secret?: true
}

// biome-ignore format: a table, one row a setting
export const settings = {
  BASE_URL: { section: 'Addresses', value: '`http://localhost:3000`', meaning: 'public address of the administration: `/v1`, GraphQL, console' },
  IDP_URL: { section: 'Addresses', value: '`http://localhost:4000`', meaning: 'public address of the identity provider; an issuer is `{IDP_URL}/{issuer_id}`' },
  PORT: { section: 'Addresses', value: '`3000`', meaning: 'where the first of them listens' },
  IDP_PORT: { section: 'Addresses', value: '`4000`', meaning: 'where the second one listens' },
  WORKER_PORT: { section: 'Addresses', value: '`3001`', meaning: 'where `start --only worker` answers `/healthz`, `/readyz` and `/metrics`; other roles answer on their own ports' },
  HOST: { section: 'Addresses', value: '`127.0.0.1`', meaning: 'on which address they listen' },
  TRUST_PROXY: { section: 'Addresses', value: '`0`', meaning: 'number of proxy hops whose `X-Forwarded-*` headers are believed, 0 to 10' },

  DATABASE_URL: { section: 'Data', value: 'embedded PostgreSQL', meaning: 'any PostgreSQL from 15 on, as `postgres://user:password@host:5432/gatehouse`', secret: true },
  DATA_DIR: { section: 'Data', value: '`./.gatehouse`', meaning: 'embedded database, generated keys, mail of development; closed to other users' },
  SECRET_KEY: { section: 'Data', value: 'made once into `DATA_DIR`', meaning: 'key-encryption key, 32 bytes in base64; required with `DATABASE_URL`; a comma list rotates: the first one seals, all open ([how](../production.md#changing-the-key-encryption-key))', secret: true },
  EVENT_RETENTION_DAYS: { section: 'Data', value: '`400`', meaning: 'how long events stay at least; they go by whole months' },

  BOOTSTRAP_ADMIN_EMAIL: { section: 'First administrator', value: 'a setup link is printed', meaning: 'the first administrator, made at first start' },
  BOOTSTRAP_ADMIN_PASSWORD: { section: 'First administrator', value: 'a setup link is printed', meaning: 'goes with it; 8 to 128 characters', secret: true },
  BOOTSTRAP_API_KEY: { section: 'First administrator', value: 'none', meaning: '`ak_<26 characters>:<secret of 32 or more>`: a key of the system account, made at first start', secret: true },

  MAIL_URL: { section: 'Mail', value: 'kept at `/dev/mail`, for this machine alone', meaning: '`smtp://user:password@host:587`', secret: true },
  MAIL_FROM: { section: 'Mail', value: '`Gatehouse <no-reply@localhost>`', meaning: 'sender of codes, links and invitations' },

  RATE_LIMITS: { section: 'Limits and networks', value: '`default`', meaning: '`default`, `off`, or JSON such as `{"core_read": {"quota": 5000, "window": 60}}` (seconds)' },
  REDIS_URL: { section: 'Limits and networks', value: 'none', meaning: '`redis://user:password@host:6379`, Redis or Valkey: keeps the counters of rate limits; without it, and while it is away, they live in PostgreSQL; several deployments may share one', secret: true },
  ALLOW_PRIVATE_NETWORKS: { section: 'Limits and networks', value: '`false`', meaning: 'outbound requests may reach private addresses and plain http: development and tests only' },
  DNS_RESOLVER: { section: 'Limits and networks', value: 'the system\'s', meaning: '`host:port` of the resolver that verifies domains' },
  BREACHED_PASSWORDS_URL: { section: 'Limits and networks', value: '`https://api.pwnedpasswords.com/range`', meaning: 'who is asked by issuers whose password policy has `check_breached`: `GET <address>/<five digits of a SHA-1>` of Pwned Passwords; https, as all that is called' },

  LOG_LEVEL: { section: 'Watching', value: '`info`', meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; `debug` logs each request' },
  METRICS_TOKEN: { section: 'Watching', value: 'none', meaning: 'when set, `/metrics` wants it as a Bearer token', secret: true },

  X402_FACILITATOR_URL: { section: 'Payments', value: 'none: top-ups are 400', meaning: 'who verifies and settles payments; the four go together' },
  X402_PAY_TO: { section: 'Payments', value: 'none', meaning: 'the address that is paid' },
  X402_NETWORK: { section: 'Payments', value: 'none', meaning: 'its network, as `eip155:8453`' },
  X402_ASSET: { section: 'Payments', value: 'none', meaning: 'the token that is taken' },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

/** Settings that may also stand in a file. */
export type SecretName = {
  [Name in SettingName]: (typeof settings)[Name] extends { readonly secret: true } ? Name : never
}[SettingName]

/** What each rate limit of RATE_LIMITS counts, and by whom (decisions D19). */
export const rateLimitMeanings: Record<LimitName, string> = {
  core_read: 'reading requests to `/v1` and queries, per credential',
  core_write: 'changing requests to `/v1` and mutations, per credential',
  unauthenticated: 'requests to administration without a credential or with a wrong one, per address',
  auth_failures:
    'wrong secrets of one client, agent or API key, per address; the next attempt from there is refused before its secret is compared',
  auth_failures_ip: 'the same of all clients, agents or API keys together, existing or not, per address',
  token_client: '`/token`, per confidential client or agent; failures of an agent in the trail',
  token_ip: '`/token` of public clients, per address',
  authorize: '`/authorize`, callbacks of other providers, invitations, metadata documents, per address',
  login: 'answers to the forms of the hosted pages, per address',
  mail: 'codes and links by mail, per address that they go to',
  userinfo: '`/userinfo` and `/session`, per access token',
  metadata: 'discovery, key sets and the session check, per address; counted by each process for itself',
  topup: 'top-ups, per account',
  wallet_nonce: "challenges for agents' wallets, and their answers, per address",
}
