/** The type of the rows of the command table, and the commander program created from them. */

import { Argument, Command, Option } from 'commander'
import { type Config, readConfig } from '../config.js'
import { version } from '../platform/package-info.js'
import { printError, UsageError } from './errors.js'
import type { OptionRow } from './option.js'

/** The parsed options, by camel case name: `--dry-run` as `dryRun`. */
type ParsedOptions = Readonly<Record<string, string | boolean | string[] | undefined>>

export interface CommandRow {
  /** The name on the command line: `users import`. */
  name: string
  /** The last word of the name of this command in older versions, which scripts may still use. */
  alias?: string
  /** One line of help, beginning in lowercase, without a period. */
  description: string
  /**
   * The arguments. A name in angle brackets (`<file>`) is required, one in square brackets (`[status]`) is optional.
   */
  arguments?: readonly [name: string, about: string, choices?: readonly string[]][]
  options?: readonly OptionRow[]
  /** Complete command lines that can be copied. */
  examples: readonly string[]
  /** True if this command runs when `gatehouse`, or the group of this command, is called without a command. */
  isDefault?: boolean
  /** Imports the handler when the command runs, so that help and short commands start quickly. */
  load(): Promise<CommandHandler>
}

/** Runs a command. It returns the exit code, or undefined for 0. */
type CommandHandler = (config: Config, options: never, ...args: string[]) => Promise<unknown>

/** The exit codes of all commands (docs/commands.md). */
export const exitCodes = {
  done: 0,
  failed: 1,
  usageError: 2,
  /** The command completed, but the caller has to act, for example on refused lines of an import or planned changes. */
  incomplete: 3,
  /** SIGINT or SIGTERM; 128 plus the number of SIGINT, as in shells. */
  interrupted: 130,
} as const

export const json: OptionRow = { flags: '--json', description: 'print the result as JSON' }

/**
 * Creates the commander program from the rows. The first word of a two-word name is the group of the command.
 * @param groups descriptions by group
 */
export function createProgram(rows: readonly CommandRow[], groups: Readonly<Record<string, string>>): Command {
  const program = new Command('gatehouse')
    .exitOverride()
    .configureOutput({ outputError: printUsageError })
    .description('Self-hosted, multi-tenant identity provider')
    .version(version, '--version', 'print the version')
    .addHelpText(
      'after',
      '\nExit codes: 0 success, 1 failure, 2 invalid arguments, 3 success but action is required, 130 interrupted.',
    )
  const parents = new Map<string, Command>()
  for (const row of rows) {
    const [first = '', second] = row.name.split(' ')
    let parent = program
    if (second !== undefined) {
      parent = parents.get(first) ?? program.command(first).description(groups[first] ?? '')
      parents.set(first, parent)
    }
    addCommand(parent, second ?? first, row)
  }
  return program
}

/** Prints commander's error message for invalid arguments. */
function printUsageError(text: string): void {
  const sentence = text.replace(/^error: /, '').trim()
  printError(new UsageError(sentence), process.argv.includes('--json'))
}

function addCommand(parent: Command, name: string, row: CommandRow): void {
  const command = parent.command(name, { isDefault: row.isDefault ?? false }).description(row.description)
  if (row.alias) command.alias(row.alias)
  for (const [name, about, choices] of row.arguments ?? []) {
    const argument = new Argument(name, about)
    command.addArgument(choices ? argument.choices([...choices]) : argument)
  }
  for (const { flags, description: about, choices, required } of row.options ?? []) {
    const option = new Option(flags, about).makeOptionMandatory(required ?? false)
    command.addOption(choices ? option.choices([...choices]) : option)
  }
  command.addHelpText(
    'after',
    `\nExample${row.examples.length > 1 ? 's' : ''}:\n${row.examples.map((line) => `  ${line}`).join('\n')}`,
  )
  command.action(async (...all: unknown[]) => {
    // Commander passes the options and the command after the arguments.
    const args = all.slice(0, -2) as string[]
    const options = all.at(-2) as ParsedOptions
    try {
      const run = await row.load()
      const code = await run(readConfig(), options as never, ...args)
      process.exitCode = typeof code === 'number' ? code : exitCodes.done
    } catch (error) {
      // The program that reads the output has closed the pipe (`| head`), which is not an error.
      if ((error as { code?: unknown }).code === 'EPIPE') process.exit(exitCodes.done)
      printError(error, options['json'] === true, row.options)
      // This calls exit() instead of setting exitCode, because open handles of a failed `start` would keep the process
      // running.
      process.exit(error instanceof UsageError ? exitCodes.usageError : exitCodes.failed)
    }
  })
}
