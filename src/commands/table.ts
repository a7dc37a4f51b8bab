/** Every command of `gatehouse`: one row each. Help, docs/commands.md and the program come from it. */
import { sources } from '../resources/users/importing/sources.js'
import { type CommandRow, json } from './command.js'

/** What the first words of two-word commands are about. */
export const groups = {
  account: 'accounts of this deployment',
  admin: 'administrators of this deployment',
  key: 'API keys',
  keys: 'signing keys of issuers',
  secrets: 'what lies sealed with SECRET_KEY',
  issuer: 'an issuer as a document',
  billing: 'how accounts are billed, which no request can change',
  jobs: 'periodic jobs and queued work, over all processes',
  users: 'users of an issuer, by the file',
} as const

export const commands: readonly CommandRow[] = [
  {
    words: 'start',
    about: 'run the Core API, the IdP API and the jobs, or one of them',
    isDefault: true,
    options: [{ flags: '--only <role>', about: 'run one role', choices: ['core', 'idp', 'worker'] }],
    examples: ['gatehouse start', 'gatehouse start --only idp'],
    load: async () => (await import('./start.js')).run,
  },
  {
    words: 'migrate',
    about: 'bring the database up to date; with status, say what is applied',
    arguments: [['[status]', 'say what is applied', ['status']]],
    options: [json],
    examples: ['gatehouse migrate', 'gatehouse migrate status --json'],
    load: async () => (await import('./migrate.js')).run,
  },
  {
    words: 'account create',
    about: 'make an account and its first API key, which is shown once',
    options: [
      { flags: '--name <name>', about: 'what people call it', fields: ['name'] },
      { flags: '--description <text>', about: 'Markdown' },
      { flags: '--owner <user id>', about: 'a user of the console issuer', fields: ['ownerUserId'] },
      json,
    ],
    examples: ['gatehouse account create --name "Acme" --json'],
    load: async () => (await import('./account.js')).create,
  },
  {
    words: 'admin create',
    about: 'make the first administrator, without a browser',
    options: [
      {
        flags: '--email <address>',
        about: 'what they sign in with at the console',
        needed: true,
        fields: ['username'],
      },
      {
        flags: '--password-file <file>',
        about: 'where the password stands; - for standard input; one is made if not said',
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
    words: 'admin recover',
    about:
      'print a link by which an administrator signs in to the console without password or second factor, once within 15 minutes, and sets up new ones; repair the console if need be',
    options: [
      {
        flags: '--email <address>',
        about: 'the username or email address of the administrator',
        needed: true,
        fields: ['username'],
      },
      { flags: '--reactivate', about: 'lift a suspension, a block or a deletion of the last day' },
      json,
    ],
    examples: [
      'gatehouse admin recover --email you@example.com',
      'gatehouse admin recover --email you@example.com --reactivate --json',
    ],
    load: async () => (await import('./admin.js')).recover,
  },
  {
    words: 'key create',
    about: 'make an API key of an account; its secret is shown once',
    options: [
      { flags: '--account <account id>', about: 'whose key', needed: true },
      { flags: '--name <name>', about: 'what people call it', needed: true, fields: ['name'] },
      {
        flags: '--scope <scopes...>',
        about: 'what it may do; svc:all for everything',
        needed: true,
        fields: ['scopes', 'restrictions.scopes'],
      },
      { flags: '--issuer <issuer ids...>', about: 'these issuers only', fields: ['restrictions.issuer_ids'] },
      {
        flags: '--ip <ranges...>',
        about: 'from these addresses only, as in 203.0.113.0/24',
        fields: ['restrictions.ip_allowlist'],
      },
      { flags: '--expires-in <days>', about: 'until then' },
      json,
    ],
    examples: [
      'gatehouse key create --account acc_… --name ci --scope issuers.users:read issuers.clients:manage --expires-in 90',
    ],
    load: async () => (await import('./key.js')).create,
  },
  {
    words: 'keys list',
    about: 'the keys of every issuer, or of one: which one signs, which is next and from when on, which are retired',
    options: [{ flags: '--issuer <issuer id>', about: 'of this issuer only' }, json],
    examples: ['gatehouse keys list', 'gatehouse keys list --issuer iss_… --json'],
    load: async () => (await import('./keys.js')).list,
  },
  {
    words: 'keys rotate',
    about:
      'rotate the keys of every issuer, or of one: the next key signs once it has been published for 71 minutes; with --now, after a compromise, replace all keys at once',
    options: [
      { flags: '--issuer <issuer id>', about: 'this issuer only' },
      {
        flags: '--now',
        about: 'after a compromise: new keys sign at once, all old ones are removed, and every token they signed ends',
      },
      json,
    ],
    examples: ['gatehouse keys rotate --issuer iss_…', 'gatehouse keys rotate --now --issuer iss_…'],
    load: async () => (await import('./keys.js')).rotate,
  },
  {
    words: 'secrets reseal',
    about: 'seal everything anew with the first key of SECRET_KEY, beside running processes; then older ones may go',
    options: [{ flags: '--dry-run', about: 'say what lies under which key, change nothing' }, json],
    examples: ['gatehouse secrets reseal --dry-run', 'gatehouse secrets reseal --json'],
    load: async () => (await import('./secrets.js')).resealSecrets,
  },
  {
    words: 'issuer export',
    about: 'print settings, authentication methods and clients of an issuer as YAML, without secrets',
    options: [
      { flags: '--issuer <issuer id>', about: 'which one', needed: true },
      { flags: '--portable', about: 'without ids, to be applied to another issuer' },
      json,
    ],
    examples: ['gatehouse issuer export --issuer iss_… > issuer.yaml'],
    load: async () => (await import('./issuer.js')).exportIssuer,
  },
  {
    words: 'issuer apply',
    about: 'say what a document would change of an issuer, and with --yes change it, all or nothing',
    arguments: [['<file>', 'YAML or JSON; - for standard input']],
    options: [
      { flags: '--issuer <issuer id>', about: 'which one, if the document does not say' },
      { flags: '--account <account id>', about: 'where the issuer of this name is, or is made' },
      { flags: '--yes', about: 'apply the changes' },
      { flags: '--prune', about: 'delete authentication methods and clients that the document does not name' },
      { flags: '--secrets <file>', about: 'write the secrets of new confidential clients there, as JSON lines' },
      json,
    ],
    examples: ['gatehouse issuer apply issuer.yaml', 'gatehouse issuer apply issuer.yaml --account acc_… --yes --json'],
    load: async () => (await import('./issuer.js')).applyIssuer,
  },
  {
    words: 'users import',
    about:
      'take over users with their passwords from Auth0, Keycloak, Logto or another Gatehouse; run it again to go on',
    arguments: [['<file>', 'JSON lines, a JSON array or a realm export, also .gz; - for standard input']],
    options: [
      { flags: '--issuer <issuer id>', about: 'whose users they become', needed: true },
      { flags: '--from <product>', about: 'who wrote the file, if it does not show', choices: sources },
      { flags: '--dry-run', about: 'read and check everything, write nothing' },
      {
        flags: '--login <name>',
        about: 'what they sign in with, where they have it',
        choices: ['email', 'username', 'phone'],
      },
      { flags: '--drop-unsupported', about: 'take users whose password or second factor cannot be taken, without it' },
      { flags: '--errors <file>', about: 'write each refused line there, with reason and fix, as JSON lines' },
      { flags: '--ids <file>', about: 'write the old and the new id of each user there, as JSON lines' },
      json,
    ],
    examples: [
      'gatehouse users import realm.json --issuer iss_… --dry-run --errors refused.ndjson',
      'gatehouse users import auth0.ndjson.gz --issuer iss_… --ids ids.ndjson',
    ],
    load: async () => (await import('./users.js')).importFile,
  },
  {
    words: 'users export',
    about: 'write the users of an issuer as JSON lines, which users import takes back',
    options: [
      { flags: '--issuer <issuer id>', about: 'whose users', needed: true },
      { flags: '--out <file>', about: 'where to; standard output if not said' },
      { flags: '--with-credentials', about: 'password hashes and TOTP secrets as well' },
    ],
    examples: [
      'gatehouse users export --issuer iss_… --out users.ndjson',
      'gatehouse users export --issuer iss_… --with-credentials | gzip > users.ndjson.gz',
    ],
    load: async () => (await import('./users.js')).exportFile,
  },
  {
    words: 'billing show',
    about: 'billing mode and why, credit, payments that are not concluded',
    arguments: [['<account id>', 'of which account']],
    options: [json],
    examples: ['gatehouse billing show acc_…'],
    load: async () => (await import('./billing.js')).show,
  },
  {
    words: 'billing credit',
    about: 'credit a payment whose outcome stayed unknown and which stands on the chain; once, whoever else is at it',
    arguments: [['<payment id>', 'as billing show has it']],
    options: [
      {
        flags: '--transaction <name>',
        about: 'by which it was settled, as 0x… or network:0x…',
        needed: true,
        fields: ['transaction'],
      },
      json,
    ],
    examples: ['gatehouse billing credit top_… --transaction 0x…'],
    load: async () => (await import('./billing.js')).credit,
  },
  {
    words: 'billing reject',
    about: 'end a payment whose outcome stayed unknown and which does not stand on the chain',
    arguments: [['<payment id>', 'as billing show has it']],
    options: [json],
    examples: ['gatehouse billing reject top_…'],
    load: async () => (await import('./billing.js')).reject,
  },
  {
    words: 'billing override',
    about: 'bill an account so, whatever its payment methods; none: as they say again',
    arguments: [
      ['<account id>', 'which account'],
      ['<mode>', 'how', ['gated', 'ungated', 'none']],
    ],
    options: [json],
    examples: ['gatehouse billing override acc_… ungated'],
    load: async () => (await import('./billing.js')).override,
  },
  {
    words: 'jobs list',
    about: 'last run, result, next run and holder of each periodic job; what waits in the queue, and what failed',
    isDefault: true,
    options: [json],
    examples: ['gatehouse jobs list', 'gatehouse jobs list --json'],
    load: async () => (await import('./jobs.js')).list,
  },
  {
    words: 'jobs run',
    about: 'run a periodic job now, in this process',
    arguments: [['<name>', 'as the list has it']],
    options: [json],
    examples: ['gatehouse jobs run purge-expired'],
    load: async () => (await import('./jobs.js')).run,
  },
  {
    words: 'jobs retry',
    about: 'have queued work tried again now: what failed for good begins anew',
    arguments: [['<job id>', 'as the list has it']],
    options: [json],
    examples: ['gatehouse jobs retry job_…'],
    load: async () => (await import('./jobs.js')).retry,
  },
  {
    words: 'doctor',
    about:
      'look over the deployment (settings, database, keys, ports, mail, clock, disk) and the health of all accounts and issuers, and say what to do; changes nothing; exit code 1 when something is broken or a finding is an ERROR',
    options: [json],
    examples: ['gatehouse doctor', 'gatehouse doctor --json'],
    load: async () => (await import('./doctor.js')).run,
  },
  {
    words: 'schema',
    about: 'print the GraphQL schema (SDL)',
    examples: ['gatehouse schema > schema.graphql'],
    load: async () => (await import('./documents.js')).schema,
  },
  {
    words: 'openapi',
    about: 'print the OpenAPI document of /v1',
    examples: ['gatehouse openapi > openapi.json'],
    load: async () => (await import('./documents.js')).openapi,
  },
]
