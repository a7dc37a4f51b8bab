#!/usr/bin/env node
/** The command line: gatehouse start | migrate | account | keys | schema | openapi. Exit code 1 with a text for the operator when it cannot. */
import 'reflect-metadata'
import { Command, Option } from 'commander'
import { type Role, readConfig } from './config.js'

const program = new Command('gatehouse').description('Self-hosted, multi-tenant identity provider')

program
  .command('start', { isDefault: true })
  .description('run the Core API, the IdP API and the jobs, or one of them')
  .addOption(new Option('--only <role>', 'run one role').choices(['core', 'idp', 'worker']))
  .action(async ({ only }: { only?: Role }) => {
    const { start } = await import('./main.js')
    await start(readConfig(), only ? [only] : ['core', 'idp', 'worker'])
  })

program
  .command('migrate')
  .description('bring the database up to date; with status, say what is applied')
  .argument('[status]')
  .option('--json', 'answer as JSON')
  .action(async (word: string | undefined, { json }: { json?: boolean }) => {
    const { migrateCommand } = await import('./commands.js')
    await migrateCommand(readConfig(), word === 'status', json === true)
  })

const account = program.command('account').description('accounts of this deployment')
account
  .command('create')
  .description('make an account and its first API key, which is shown once')
  .option('--name <name>')
  .option('--description <text>')
  .option('--owner <user id>', 'a user of the console issuer')
  .option('--json', 'answer as JSON')
  .addHelpText('after', '\nExample:\n  gatehouse account create --name "Acme" --json')
  .action(async (options: { name?: string; description?: string; owner?: string; json?: boolean }) => {
    const { createAccountCommand } = await import('./commands.js')
    await createAccountCommand(readConfig(), options)
  })

const keys = program.command('keys').description('signing keys of issuers')
keys
  .command('list')
  .description('the keys of every issuer, or of one; the newest of each algorithm signs')
  .option('--issuer <issuer id>')
  .option('--json', 'answer as JSON')
  .action(async (options: { issuer?: string; json?: boolean }) => {
    const { listKeysCommand } = await import('./commands.js')
    await listKeysCommand(readConfig(), options)
  })
keys
  .command('rotate')
  .description('give every issuer, or one, new keys now; running processes sign with them at once')
  .option('--issuer <issuer id>')
  .addHelpText('after', '\nExample:\n  gatehouse keys rotate --issuer iss_…')
  .action(async (options: { issuer?: string }) => {
    const { rotateKeysCommand } = await import('./commands.js')
    await rotateKeysCommand(readConfig(), options)
  })

program
  .command('schema')
  .description('print the GraphQL schema (SDL)')
  .action(async () => {
    const { sdl } = await import('./graphql/schema.js')
    process.stdout.write(sdl())
  })

program
  .command('openapi')
  .description('print the OpenAPI document of /v1')
  .action(async () => {
    const { openApiDocument } = await import('./rest/openapi.js')
    const { prices } = await import('./resources/payments/prices.js')
    process.stdout.write(`${JSON.stringify(openApiDocument(readConfig().baseUrl, prices), null, 2)}\n`)
  })

// A reader that went away (`gatehouse start | head`) must not take the process with it.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
