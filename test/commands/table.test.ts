/** The command table: what help says, and the page that is made from it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { programOf } from '../../src/commands/command.js'
import { commandsPage } from '../../src/commands/page.js'
import { commands, groups } from '../../src/commands/table.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { runCli } from '../setup/process.js'

test('docs/commands.md says what the table says (npm run commands)', () => {
  expect(readFileSync(join(packageRoot, 'docs/commands.md'), 'utf8')).toBe(commandsPage(commands))
})

test.each(commands.map((row) => [row.words, row] as const))(
  '%s: help names every option and has an example that parses',
  (words, row) => {
    const program = programOf(commands, groups)
    const find = (path: string[]) => path.reduce((at, word) => at.commands.find((one) => one.name() === word)!, program)
    const command = find(words.split(' '))
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) })
    command.outputHelp()
    for (const { flags } of row.options ?? []) expect(help).toContain(flags)
    expect(help).toMatch(/Examples?:\n {2}gatehouse /)
    for (const example of row.examples) {
      expect(example).toMatch(new RegExp(`^gatehouse ${words}\\b`))
      for (const [flag] of example.matchAll(/--[a-z-]+/g))
        expect((row.options ?? []).map(({ flags }) => flags.split(' ')[0])).toContain(flag)
    }
    expect(row.about).not.toMatch(/[.!]$/)
  },
)

test('every group has its line, and every command its own words', () => {
  const firsts = commands.map(({ words }) => words.split(' ')).filter((words) => words.length > 1)
  for (const [first] of firsts) expect(Object.keys(groups)).toContain(first)
  expect(new Set(commands.map(({ words }) => words)).size).toBe(commands.length)
})

test('exit codes: 0 for help, 2 for wrong words, 1 for settings that are wrong, also as JSON', async () => {
  expect(await runCli(['--help'], {})).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes') })
  expect(await runCli(['keys', 'list', '--nothing'], {})).toMatchObject({
    code: 2,
    output: expect.stringContaining('--nothing'),
  })
  expect(await runCli(['user', 'import'], {})).toMatchObject({
    code: 2,
    output: expect.stringMatching(/^There is no command user;/),
  })
  const { code, output } = await runCli(['keys', 'list', '--json'], { PORT: 'eighty' })
  expect(code).toBe(1)
  expect(JSON.parse(output)).toMatchObject({
    error: 'failed',
    error_description: expect.stringContaining('PORT is "eighty"'),
  })
})
