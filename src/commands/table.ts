/** The commands of `gatehouse`. The program, its help and docs/commands.md are created from this table. */
import { sources } from '../resources/users/importing/sources.js'
import { type CommandRow, json } from './command.js'

/** Descriptions of the command groups. */
export const groups = {
  account: 'accounts of this deployment',
  admin: 'administrators of this deployment',
  key: 'API keys (not signing keys)',
  keys: 'signing keys of issuers (not API keys)',
  secrets: 'values encrypted with SECRET_KEY',
  issuer: 'the configuration of an issuer as a document',
  billing: 'billing modes and payments of accounts',
  jobs: 'periodic and queued jobs of all processes',
  users: 'import and export of the users of an issuer',
} as const

export const commands: readonly CommandRow[] = [
  {
    name: 'start',
    description: 'run the Core API, the IdP API and the background jobs, or one of them',
    isDefault: true,
    options: [{ flags: '--only <role>', description: 'run one role', choices: ['core', 'idp', 'worker'] }],
    examples: ['gatehouse start', 'gatehouse start --only idp'],
    load: async () => (await import('./start.js')).run,
  },
  {
    name: 'migrate',
    description: 'apply pending migrations to the database; with status, list the migrations',
    arguments: [['[status]', 'list migrations without applying them', ['status']]],
    options: [json],
    examples: ['gatehouse migrate', 'gatehouse migrate status --json'],
    load: async () => (await import('./migrate.js')).run,
  },
  {
    name: 'account create',
    description: 'create an account and its first API key; the secret is shown once',
    options: [
      { flags: '--name <name>', description: 'display name', fields: ['name'] },
      { flags: '--description <text>', description: 'description in Markdown' },
      { flags: '--owner <user id>', description: 'owner: a user of the console issuer', fields: ['ownerUserId'] },
      json,
    ],
    examples: ['gatehouse account create --name "Acme" --json'],
    load: async () => (await import('./account.js')).create,
  },
  {
    name: 'admin create',
    description: 'create the first administrator without a browser',
    options: [
      {
        flags: '--email <address>',
        description: 'email address with which the administrator signs in to the console',
        required: true,
        fields: ['username'],
      },
      {
        flags: '--password-file <file>',
        description: 'file with the password; - for standard input; without it a password is generated',
        fields: ['password'],
      },
      json,
    ],
    examples: [
      'gatehouse admin create --email you@example.com',
      'gatehouse admin create --email you@example.com --password-file - < password.txt',
    ],
    load: async () => (await import('./admin.js')).create,
  },
  {
    name: 'admin recover',
    description:
      'print a link with which an administrator signs in to the console without a password or second factor and sets up new ones; it works once, within 15 minutes; also repairs the console if necessary',
    options: [
      {
        flags: '--email <address>',
        description: 'the username or email address of the administrator',
        required: true,
        fields: ['username'],
      },
      {
        flags: '--reactivate',
        description: 'reactivate a suspended, blocked or disabled user, or one whose deletion is pending',
      },
      json,
    ],
    examples: [
      'gatehouse admin recover --email you@example.com',
      'gatehouse admin recover --email you@example.com --reactivate --json',
    ],
    load: async () => (await import('./admin.js')).recover,
  },
  {
    name: 'key create',
    description: 'create an API key of an account; the secret is shown once',
    options: [
      { flags: '--account <account id>', description: 'account of the key', required: true },
      { flags: '--name <name>', description: 'display name', required: true, fields: ['name'] },
      {
        flags: '--scope <scopes...>',
        description: 'scopes of the key; svc:all for all',
        required: true,
        fields: ['scopes', 'restrictions.scopes'],
      },
      {
        flags: '--issuer <issuer ids...>',
        description: 'restrict the key to these issuers',
        fields: ['restrictions.issuer_ids'],
      },
      {
        flags: '--ip <ranges...>',
        description: 'restrict the key to these IP addresses and ranges, such as 203.0.113.0/24',
        fields: ['restrictions.ip_allowlist'],
      },
      {
        flags: '--expires-in <days>',
        description: 'number of days until the key expires; without it the key does not expire',
      },
      json,
    ],
    examples: [
      'gatehouse key create --account acc_… --name ci --scope issuers.users:read issuers.clients:manage --expires-in 90',
    ],
    load: async () => (await import('./key.js')).create,
  },
  {
    name: 'keys list',
    description: 'list the signing keys of all issuers, or of one: current, next and retired keys',
    options: [{ flags: '--issuer <issuer id>', description: 'list the keys of this issuer only' }, json],
    examples: ['gatehouse keys list', 'gatehouse keys list --issuer iss_… --json'],
    load: async () => (await import('./keys.js')).list,
  },
  {
    name: 'keys rotate',
    description:
      'rotate the signing keys of all issuers, or of one: the next key starts to sign after it has been published for 71 minutes; with --now, after a compromise, replace all keys immediately',
    options: [
      { flags: '--issuer <issuer id>', description: 'rotate the keys of this issuer only' },
      {
        flags: '--now',
        description:
          'after a compromise: new keys sign immediately, all old keys are removed, and every token signed with them becomes invalid',
      },
      json,
    ],
    examples: ['gatehouse keys rotate --issuer iss_…', 'gatehouse keys rotate --now --issuer iss_…'],
    load: async () => (await import('./keys.js')).rotate,
  },
  {
    name: 'secrets reencrypt',
    alias: 'reseal', // words-ok: the name in earlier versions
    description:
      'encrypt all stored secrets with the first key of SECRET_KEY, also while Gatehouse runs; then older keys can be removed',
    options: [
      { flags: '--dry-run', description: 'print how many values would be re-encrypted, by key; change nothing' },
      json,
    ],
    examples: ['gatehouse secrets reencrypt --dry-run', 'gatehouse secrets reencrypt --json'],
    load: async () => (await import('./secrets.js')).reencryptSecrets,
  },
  {
    name: 'issuer export',
    description: 'print the settings, authentication methods and clients of an issuer as YAML, without secrets',
    options: [
      { flags: '--issuer <issuer id>', description: 'issuer to export', required: true },
      { flags: '--portable', description: 'omit IDs, so that the document can be applied to another issuer' },
      json,
    ],
    examples: ['gatehouse issuer export --issuer iss_… > issuer.yaml'],
    load: async () => (await import('./issuer.js')).exportIssuer,
  },
  {
    name: 'issuer apply',
    description:
      'print the changes that a document would make to an issuer; with --yes apply all of them in one transaction',
    arguments: [['<file>', 'YAML or JSON document; - for standard input']],
    options: [
      { flags: '--issuer <issuer id>', description: 'issuer to change; without it, issuer.id in the document' },
      {
        flags: '--account <account id>',
        description: 'without an issuer id: account in which the issuer is found by name, or created',
      },
      { flags: '--yes', description: 'apply the changes' },
      { flags: '--prune', description: 'delete authentication methods and clients that are not in the document' },
      {
        flags: '--secrets <file>',
        description: 'write the secrets of new confidential clients to this file, as JSON lines',
      },
      json,
    ],
    examples: ['gatehouse issuer apply issuer.yaml', 'gatehouse issuer apply issuer.yaml --account acc_… --yes --json'],
    load: async () => (await import('./issuer.js')).applyIssuer,
  },
  {
    name: 'users import',
    description:
      'import users with their passwords from Auth0, Keycloak, Logto or another Gatehouse; run it again to continue after an interruption',
    arguments: [['<file>', 'JSON lines, a JSON array or a realm export, also .gz; - for standard input']],
    options: [
      { flags: '--issuer <issuer id>', description: 'issuer into which the users are imported', required: true },
      {
        flags: '--from <product>',
        description: 'product that exported the file, if it cannot be detected',
        choices: sources,
      },
      { flags: '--dry-run', description: 'validate the file, write nothing' },
      {
        flags: '--login <name>',
        description: 'identifier that becomes the username; users without it get another identifier that they have',
        choices: ['email', 'username', 'phone'],
      },
      {
        flags: '--drop-unsupported',
        description: 'import users without a password or second factor that has an unsupported format',
      },
      {
        flags: '--errors <file>',
        description: 'write each refused line with reason and fix to this file, as JSON lines',
      },
      { flags: '--ids <file>', description: 'write the old and new ID of each user to this file, as JSON lines' },
      json,
    ],
    examples: [
      'gatehouse users import realm.json --issuer iss_… --dry-run --errors refused.ndjson',
      'gatehouse users import auth0.ndjson.gz --issuer iss_… --ids ids.ndjson',
    ],
    load: async () => (await import('./users.js')).importFile,
  },
  {
    name: 'users export',
    description: 'write the users of an issuer as JSON lines, which users import can read',
    options: [
      { flags: '--issuer <issuer id>', description: 'issuer of the users', required: true },
      { flags: '--out <file>', description: 'output file; without it standard output' },
      { flags: '--with-credentials', description: 'include password hashes and TOTP secrets' },
    ],
    examples: [
      'gatehouse users export --issuer iss_… --out users.ndjson',
      'gatehouse users export --issuer iss_… --with-credentials | gzip > users.ndjson.gz',
    ],
    load: async () => (await import('./users.js')).exportFile,
  },
  {
    name: 'billing show',
    description: 'print the billing mode of an account and its reason, the credit balance, and unresolved payments',
    arguments: [['<account id>', 'account to show']],
    options: [json],
    examples: ['gatehouse billing show acc_…'],
    load: async () => (await import('./billing.js')).show,
  },
  {
    name: 'billing credit',
    description:
      'credit a payment with an unknown outcome that is on the blockchain; a payment is never credited twice',
    arguments: [['<payment id>', 'ID of the payment, from billing show']],
    options: [
      {
        flags: '--transaction <name>',
        description: 'transaction that settled the payment, as 0x… or network:0x…',
        required: true,
        fields: ['transaction'],
      },
      json,
    ],
    examples: ['gatehouse billing credit top_… --transaction 0x…'],
    load: async () => (await import('./billing.js')).credit,
  },
  {
    name: 'billing reject',
    description: 'reject a payment with an unknown outcome that is not on the blockchain',
    arguments: [['<payment id>', 'ID of the payment, from billing show']],
    options: [json],
    examples: ['gatehouse billing reject top_…'],
    load: async () => (await import('./billing.js')).reject,
  },
  {
    name: 'billing override',
    description: 'set the billing mode of an account regardless of its payment methods; none removes the override',
    arguments: [
      ['<account id>', 'account to change'],
      ['<mode>', 'billing mode', ['gated', 'ungated', 'none']],
    ],
    options: [json],
    examples: ['gatehouse billing override acc_… ungated'],
    load: async () => (await import('./billing.js')).override,
  },
  {
    name: 'jobs list',
    description:
      'list the last run, result, next run and lease owner of each periodic job, and waiting and failed jobs of the queue',
    isDefault: true,
    options: [json],
    examples: ['gatehouse jobs list', 'gatehouse jobs list --json'],
    load: async () => (await import('./jobs.js')).list,
  },
  {
    name: 'jobs run',
    description: 'run a periodic job now, in this process',
    arguments: [['<name>', 'name of the job, from jobs list']],
    options: [json],
    examples: ['gatehouse jobs run purge-expired'],
    load: async () => (await import('./jobs.js')).run,
  },
  {
    name: 'jobs retry',
    description: 'retry a queued job now; a failed job gets all its attempts again',
    arguments: [['<job id>', 'ID of the job, from jobs list']],
    options: [json],
    examples: ['gatehouse jobs retry job_…'],
    load: async () => (await import('./jobs.js')).retry,
  },
  {
    name: 'doctor',
    description:
      'check the deployment (settings, database, keys, ports, mail, clock, disk) and the health of all accounts and issuers, and print how to fix problems; changes nothing, except that it creates a missing DATA_DIR with its key and the embedded database; exit code 1 when a check is broken or a finding is an ERROR',
    options: [json],
    examples: ['gatehouse doctor', 'gatehouse doctor --json'],
    load: async () => (await import('./doctor.js')).run,
  },
  {
    name: 'schema',
    description: 'print the GraphQL schema (SDL)',
    examples: ['gatehouse schema > schema.graphql'],
    load: async () => (await import('./documents.js')).schema,
  },
  {
    name: 'openapi',
    description: 'print the OpenAPI document of /v1',
    examples: ['gatehouse openapi > openapi.json'],
    load: async () => (await import('./documents.js')).openapi,
  },
]
