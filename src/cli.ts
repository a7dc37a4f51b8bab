#!/usr/bin/env node
/** The command line: gatehouse start | migrate | account | billing | keys | jobs | schema | openapi. Exit code 1 with a text for the operator when it cannot. */
import 'reflect-metadata'
import { Argument, Command, Option } from 'commander'
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

const billing = program.command('billing').description('how accounts are billed, which no request can change')
billing
  .command('show')
  .description('billing mode and why, credit, payments that are not concluded')
  .argument('<account id>')
  .option('--json', 'answer as JSON')
  .action(async (accountId: string, { json }: { json?: boolean }) => {
    const { showBillingCommand } = await import('./billing-commands.js')
    await showBillingCommand(readConfig(), accountId, json === true)
  })
billing
  .command('override')
  .description('bill an account so, whatever its payment methods; none: as they say again')
  .argument('<account id>')
  .addArgument(new Argument('<mode>').choices(['gated', 'ungated', 'none']))
  .addHelpText('after', '\nExample:\n  gatehouse billing override acc_… ungated')
  .action(async (accountId: string, mode: 'gated' | 'ungated' | 'none') => {
    const { overrideBillingCommand } = await import('./billing-commands.js')
    await overrideBillingCommand(readConfig(), accountId, mode === 'none' ? null : mode)
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

const jobs = program.command('jobs').description('periodic jobs and queued work, over all processes')
jobs
  .command('list', { isDefault: true })
  .description('last run, result, next run and holder of each periodic job; what waits in the queue, and what failed')
  .option('--json', 'answer as JSON')
  .action(async ({ json }: { json?: boolean }) => {
    const { listJobsCommand } = await import('./job-commands.js')
    await listJobsCommand(readConfig(), json === true)
  })
jobs
  .command('run')
  .description('run a periodic job now, in this process')
  .argument('<name>')
  .addHelpText('after', '\nExample:\n  gatehouse jobs run purge-expired')
  .action(async (name: string) => {
    const { runJobCommand } = await import('./job-commands.js')
    await runJobCommand(readConfig(), name)
  })
jobs
  .command('retry')
  .description('have queued work tried again now: what failed for good begins anew')
  .argument('<job id>')
  .action(async (id: string) => {
    const { retryJobCommand } = await import('./job-commands.js')
    await retryJobCommand(readConfig(), id)
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
