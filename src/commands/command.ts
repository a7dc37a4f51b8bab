/** What a row of the command table says, and how rows become what commander runs. */
import { Argument, Command, Option } from 'commander'
import { type Config, readConfig } from '../config.js'
import { version } from '../platform/package-root.js'
import { Misuse, tellFailure } from './failures.js'

/** What was typed: `--dry-run` as `dryRun`. */
type Options = Readonly<Record<string, string | boolean | string[] | undefined>>

export interface CommandRow {
  /** As it is typed: `users import`. */
  words: string
  /** One line of help, in small letters. */
  about: string
  /** `<file>` must be there, `[status]` may. */
  arguments?: readonly [name: string, about: string, choices?: readonly string[]][]
  options?: readonly OptionRow[]
  /** Complete commands, as somebody would paste them. */
  examples: readonly string[]
  /** Runs when `gatehouse`, or the group's word, stands alone. */
  isDefault?: boolean
  /** Loads the code when the command runs, so that help and short commands do not wait for all of it. */
  load(): Promise<Handler>
}

/** `flags` as commander reads them: `--issuer <issuer id>`. */
export interface OptionRow {
  flags: string
  about: string
  choices?: readonly string[]
  /** It must be given. */
  needed?: boolean
  /** What the rules call it that check it: errors name the option instead. */
  fields?: readonly string[]
}

/** Answers its exit code, or nothing when all is done. */
type Handler = (config: Config, options: never, ...args: string[]) => Promise<unknown>

/** What a process says with its exit code; commander's own, for words that it does not know, is 2. */
export const exitCodes = {
  done: 0,
  failed: 1,
  misused: 2,
  /** It ran to its end, but something is left to do: refused lines of an import, changes that nobody has agreed to. */
  remains: 3,
  /** By Ctrl-C, as shells count it. */
  interrupted: 130,
} as const

export const json: OptionRow = { flags: '--json', about: 'answer as JSON' }

/** Puts the rows into one program; groups (`users`) come from the words. */
export function programOf(rows: readonly CommandRow[], groups: Readonly<Record<string, string>>): Command {
  const program = new Command('gatehouse')
    .exitOverride()
    .configureOutput({ outputError: tellMisuse })
    .description('Self-hosted, multi-tenant identity provider')
    .version(version, '--version', 'print the version')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong words, 3 done but something remains to be looked at, 130 interrupted.',
    )
  const parents = new Map<string, Command>()
  for (const row of rows) {
    const [first = '', second] = row.words.split(' ')
    let parent = program
    if (second !== undefined) {
      parent = parents.get(first) ?? program.command(first).description(groups[first] ?? '')
      parents.set(first, parent)
    }
    add(parent, second ?? first, row)
  }
  return program
}

/** Commander's word on words that it does not know. */
function tellMisuse(text: string): void {
  const sentence = text.replace(/^error: /, '').trim()
  tellFailure(new Misuse(sentence), process.argv.includes('--json'))
}

function add(parent: Command, name: string, row: CommandRow): void {
  const command = parent.command(name, { isDefault: row.isDefault ?? false }).description(row.about)
  for (const [name, about, choices] of row.arguments ?? []) {
    const argument = new Argument(name, about)
    command.addArgument(choices ? argument.choices([...choices]) : argument)
  }
  for (const { flags, about, choices, needed } of row.options ?? []) {
    const option = new Option(flags, about).makeOptionMandatory(needed ?? false)
    command.addOption(choices ? option.choices([...choices]) : option)
  }
  command.addHelpText(
    'after',
    `\nExample${row.examples.length > 1 ? 's' : ''}:\n${row.examples.map((line) => `  ${line}`).join('\n')}`,
  )
  command.action(async (...all: unknown[]) => {
    // Commander adds the options and the command itself behind the arguments.
    const args = all.slice(0, -2) as string[]
    const options = all.at(-2) as Options
    try {
      const run = await row.load()
      const code = await run(readConfig(), options as never, ...args)
      process.exitCode = typeof code === 'number' ? code : exitCodes.done
    } catch (error) {
      // Whoever read the answer has seen enough (`| head`).
      if ((error as { code?: unknown }).code === 'EPIPE') process.exit(exitCodes.done)
      tellFailure(error, options['json'] === true, row.options)
      // The code that `start` and others leave behind must not keep a failed command alive.
      process.exit(error instanceof Misuse ? exitCodes.misused : exitCodes.failed)
    }
  })
}
