#!/usr/bin/env node
/** The entry point of the command line. src/commands/table.ts lists the commands, which are in src/commands. */
import 'reflect-metadata'
import { CommanderError } from 'commander'
import { createProgram, exitCodes } from './commands/command.js'
import { printError, UsageError } from './commands/errors.js'
import { commands, groups } from './commands/table.js'

// If the reader of a pipe ends, as in `gatehouse start | head`, the write error must not end the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const program = createProgram(commands, groups)

// Commander would treat an unknown command as an argument of the default command.
const [commandName = '-'] = process.argv.slice(2)
if (
  !commandName.startsWith('-') &&
  commandName !== 'help' &&
  !program.commands.some((command) => command.name() === commandName)
) {
  printError(
    new UsageError(`Unknown command ${commandName}; gatehouse --help lists the commands.`),
    process.argv.includes('--json'),
  )
  process.exit(exitCodes.usageError)
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.usageError)
  printError(error, process.argv.includes('--json'))
  process.exit(exitCodes.failed)
})
