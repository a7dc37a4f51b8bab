/** docs/commands.md, made from the table: `npm run commands` writes it, a test holds it. */
import { fileURLToPath } from 'node:url'
import type { CommandRow } from './command.js'
import { commands } from './table.js'

const heading = `# Commands

Made from \`src/commands/table.ts\` by \`npm run commands\`; \`gatehouse <command> --help\` says the same.

In the repository \`npm run -s gatehouse -- <command>\` stands for \`gatehouse <command>\`. Every command reads the
settings of the deployment from the environment (see the README) and works on its database, also while Gatehouse runs.
With \`--json\` the answer is one line of JSON on standard output, and a failure one line of JSON on standard error,
\`{"error", "error_description", "details"}\`. Long work shows a bar on standard error when that is a terminal.

| Exit code | Meaning                                                                                                                                 |
| --------- | --------------------------------------------------------------------------------------------------------------------------------------- |
| 0         | done                                                                                                                                    |
| 1         | failed, or the doctor found something broken                                                                                            |
| 2         | wrong words                                                                                                                             |
| 3         | done, but something remains: refused lines of an import, changes of a document that were only planned, secrets that are not sealed anew |
| 130       | interrupted (Ctrl-C, SIGTERM); what was done stays, and long work goes on where it is run again                                         |
`

/** The page, as it is to stand in docs/commands.md. */
export const commandsPage = (rows: readonly CommandRow[]): string => `${heading}\n${rows.map(section).join('\n')}`

function section({ words, about, arguments: given = [], options = [], examples }: CommandRow): string {
  const usage = ['gatehouse', words, ...given.map(([name]) => name), ...(options.length > 0 ? ['[options]'] : [])].join(
    ' ',
  )
  const lines = [
    ...given.map(([name, text, choices]) => `- \`${name}\`: ${text}${choices ? ` (${choices.join(', ')})` : ''}`),
    ...options.map(({ flags, about: text, choices, needed }) => {
      const kinds = choices ? ` (${choices.join(', ')})` : ''
      return `- \`${flags}\`: ${text}${kinds}${needed ? '; needed' : ''}`
    }),
  ]
  const list = lines.length > 0 ? `${lines.join('\n')}\n\n` : ''
  const sentence = `${about[0]!.toUpperCase()}${about.slice(1)}.`
  return `## gatehouse ${words}\n\n${sentence}\n\n\`${usage}\`\n\n${list}\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(commandsPage(commands))
