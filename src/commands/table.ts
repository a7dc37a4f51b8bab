/** Every command of `gatehouse`: one row each. Help, docs/commands.md and the program come from it. */
import { type CommandRow, json } from './command.js'

/** What the first words of two-word commands are about. */
export const groups = {
  account: 'accounts of this deployment',
  keys: 'signing keys of issuers',
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
    arguments: [['[status]', 'say what is applied']],
    options: [json],
    examples: ['gatehouse migrate', 'gatehouse migrate status --json'],
    load: async () => (await import('./migrate.js')).run,
  },
  {
    words: 'account create',
    about: 'make an account and its first API key, which is shown once',
    options: [
      { flags: '--name <name>', about: 'what people call it' },
      { flags: '--description <text>', about: 'Markdown' },
      { flags: '--owner <user id>', about: 'a user of the console issuer' },
      json,
    ],
    examples: ['gatehouse account create --name "Acme" --json'],
    load: async () => (await import('./account.js')).create,
  },
  {
    words: 'keys list',
    about: 'the keys of every issuer, or of one; the newest of each algorithm signs',
    options: [{ flags: '--issuer <issuer id>', about: 'of this issuer only' }, json],
    examples: ['gatehouse keys list', 'gatehouse keys list --issuer iss_… --json'],
    load: async () => (await import('./keys.js')).list,
  },
  {
    words: 'keys rotate',
    about: 'give every issuer, or one, new keys now; running processes sign with them at once',
    options: [{ flags: '--issuer <issuer id>', about: 'this issuer only' }, json],
    examples: ['gatehouse keys rotate --issuer iss_…'],
    load: async () => (await import('./keys.js')).rotate,
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
