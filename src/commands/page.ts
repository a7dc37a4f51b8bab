/** Generates docs/commands.md from the command table. `npm run commands` writes the page; a test checks its content. */
import { fileURLToPath } from 'node:url'
import type { CommandRow } from './command.js'
import { commands } from './table.js'

const heading = `# Commands

Generated from \`src/commands/table.ts\` by \`npm run commands\`. \`gatehouse <command> --help\` prints the same text.

In the repository, run \`npm run -s gatehouse -- <command>\` instead of \`gatehouse <command>\`. Every command reads the
settings of the deployment from the environment (see the README). Commands can use the database while Gatehouse runs.
With \`--json\` the result is JSON on standard output, and an error is one line of JSON on standard error,
\`{"error", "error_description", "details"}\`. Long commands show a progress bar if standard error is a terminal.

| Exit code | Meaning                                                                                                                              |
| --------- | ------------------------------------------------------------------------------------------------------------------------------------ |
| 0         | success                                                                                                                              |
| 1         | failure, or the doctor found a broken check or an ERROR                                                                              |
| 2         | invalid arguments                                                                                                                    |
| 3         | success, but action is required: refused lines of an import, planned changes of a document, values still encrypted with an older key |
| 130       | interrupted (SIGINT, SIGTERM; \`start\` exits with 0); completed changes are kept, and a long command continues when it is run again   |
`

/** Returns the content of docs/commands.md. */
export const commandReference = (rows: readonly CommandRow[]): string => `${heading}\n${rows.map(section).join('\n')}`

function section({
  name: commandName,
  alias,
  description,
  arguments: given = [],
  options = [],
  examples,
}: CommandRow): string {
  const usage = [
    'gatehouse',
    commandName,
    ...given.map(([name]) => name),
    ...(options.length > 0 ? ['[options]'] : []),
  ].join(' ')
  const lines = [
    ...given.map(([name, text, choices]) => `- \`${name}\`: ${text}${choices ? ` (${choices.join(', ')})` : ''}`),
    ...options.map(({ flags, description: text, choices, required }) => {
      const kinds = choices ? ` (${choices.join(', ')})` : ''
      return `- \`${flags}\`: ${text}${kinds}${required ? '; required' : ''}`
    }),
  ]
  const list = lines.length > 0 ? `${lines.join('\n')}\n\n` : ''
  const sentence = `${description[0]!.toUpperCase()}${description.slice(1)}.`
  const aliasNote = alias
    ? ` Also available as \`gatehouse ${[...commandName.split(' ').slice(0, -1), alias].join(' ')}\`, its name in older versions.`
    : ''
  return `## gatehouse ${commandName}\n\n${sentence}${aliasNote}\n\n\`${usage}\`\n\n${list}\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(commandReference(commands))
