#!/usr/bin/env node
/** The command line. Its commands are rows of src/commands/table.ts, each with a file of its own. */
import 'reflect-metadata'
import { CommanderError } from 'commander'
import { exitCodes, programOf } from './commands/command.js'
import { Misuse, tellFailure } from './commands/failures.js'
import { commands, groups } from './commands/table.js'

// A reader that went away (`gatehouse start | head`) must not take the process with it.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const program = programOf(commands, groups)

// Commander would take a word that it does not know for an argument of the default command.
const [word = '-'] = process.argv.slice(2)
if (!word.startsWith('-') && word !== 'help' && !program.commands.some((command) => command.name() === word)) {
  tellFailure(new Misuse(`There is no command ${word}; gatehouse --help lists them.`), process.argv.includes('--json'))
  process.exit(exitCodes.misused)
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.misused)
  tellFailure(error, process.argv.includes('--json'))
  process.exit(exitCodes.failed)
})
