/** The table of commands: help texts, exit codes, errors, and docs/commands.md, which is generated from the table. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { createProgram } from '../../src/commands/command.js'
import { explainError } from '../../src/commands/errors.js'
import { commandReference } from '../../src/commands/page.js'
import { commands, groups } from '../../src/commands/table.js'
import { packageRoot, version } from '../../src/platform/package-info.js'
import { testSecretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'

test('docs/commands.md is up to date; npm run commands writes it', () => {
  expect(readFileSync(join(packageRoot, 'docs/commands.md'), 'utf8')).toBe(commandReference(commands))
})

test.each(commands.map((row) => [row.name, row] as const))(
  '%s: the help names all options, and the examples use existing options',
  (name, row) => {
    const program = createProgram(commands, groups)
    const find = (path: string[]) =>
      path.reduce((at, word) => at.commands.find((candidate) => candidate.name() === word)!, program)
    const command = find(name.split(' '))
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) })
    command.outputHelp()
    for (const { flags } of row.options ?? []) expect(help).toContain(flags)
    expect(help).toMatch(/Examples?:\n {2}gatehouse /)
    for (const example of row.examples) {
      expect(example).toMatch(new RegExp(`^gatehouse ${name}\\b`))
      for (const [flag] of example.matchAll(/--[a-z-]+/g))
        expect((row.options ?? []).map(({ flags }) => flags.split(' ')[0])).toContain(flag)
    }
    expect(row.description).not.toMatch(/[.!]$/)
  },
)

test('each group has a description, and each command has a unique name', () => {
  const groupedNames = commands.map(({ name }) => name.split(' ')).filter((words) => words.length > 1)
  for (const [group] of groupedNames) expect(Object.keys(groups)).toContain(group)
  expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length)
})

test('the exit code is 0 for help and version, 2 for invalid arguments, and 1 for invalid settings', async () => {
  expect(await runCli(['--version'], {})).toMatchObject({ code: 0, stdout: `${version}\n` })
  expect(await runCli(['--help'], {})).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes') })
  expect(await runCli(['keys', 'list', '--nothing'], {})).toMatchObject({
    code: 2,
    output: expect.stringContaining('--nothing'),
  })
  expect(await runCli(['user', 'import'], {})).toMatchObject({
    code: 2,
    output: expect.stringMatching(/^Unknown command user;/),
  })
  const { code, output } = await runCli(['keys', 'list', '--json'], { PORT: 'eighty' })
  expect(code).toBe(1)
  expect(JSON.parse(output)).toMatchObject({
    error: 'failed',
    error_description: expect.stringContaining('PORT is "eighty"'),
  })
})

test('with --json, invalid arguments are reported as JSON, with exit code 2', async () => {
  for (const [args, message] of [
    [['nothing'], 'Unknown command nothing'],
    [['keys', 'list', '--nothing'], "unknown option '--nothing'"],
    [['migrate', 'nothing'], 'Allowed choices are status'],
    [['billing', 'override', 'acc_x', 'sometimes'], 'gated, ungated, none'],
    [['admin', 'create'], '--email'],
    [['key', 'create', '--account', 'a', '--name', 'n', '--scope', 's', '--expires-in', 'soon'], '--expires-in'],
  ] as const) {
    const { code, output } = await runCli([...args, '--json'], {})
    expect({ code, report: JSON.parse(output) }).toMatchObject({
      code: 2,
      report: { error: 'misused', error_description: expect.stringContaining(message), details: [] },
    })
  }
})

describe('errors name the cause and the fix', () => {
  const url = 'postgres://unknown@127.0.0.1:1/none'
  const SECRET_KEY = testSecretKey

  test.each([
    ['anything else', new Error('as it is'), 'as it is'],
    ['no server', { code: 'ECONNREFUSED', syscall: 'connect', message: 'connect ECONNREFUSED' }, 'Check DATABASE_URL'],
    [
      'no server on two addresses',
      new AggregateError([Object.assign(new Error('connect'), { syscall: 'connect' })]),
      'Check DATABASE_URL',
    ],
    [
      'no such host',
      { code: 'ENOTFOUND', syscall: 'getaddrinfo', message: 'getaddrinfo ENOTFOUND x' },
      'Check DATABASE_URL',
    ],
    ['a wrong password', { code: '28P01', message: 'password authentication failed' }, 'user and password'],
    ['no database', { code: '3D000', message: 'database "x" does not exist' }, 'createdb'],
    [
      'missing privileges',
      { code: '42501', message: 'permission denied for table users' },
      'the owner of the database',
    ],
    [
      'a folder of another user',
      { code: 'EACCES', syscall: 'mkdir', path: '/x', message: 'EACCES' },
      '/x cannot be used',
    ],
  ])('%s', (_, error, expectedText) => {
    expect(explainError(error).message).toContain(expectedText)
  })

  test('in text and in JSON, with exit code 1', async () => {
    const env = { DATABASE_URL: url, SECRET_KEY }
    expect(await runCli(['keys', 'list'], env)).toMatchObject({
      code: 1,
      output: expect.stringContaining('DATABASE_URL'),
    })
    const { code, output } = await runCli(['jobs', '--json'], env)
    expect({ code, report: JSON.parse(output) }).toMatchObject({ code: 1, report: { error: 'database_unreachable' } })
  })
})
