/** The results of conformance plans: which are expected, and how docs/conformance.md shows them. */
import { describe, expect, test } from '@jest/globals'
import { unexpected } from '../../scripts/conformance/expected-results.js'
import { plans } from '../../scripts/conformance/plans.js'
import { conformancePage, countsTable } from '../../scripts/conformance/report.js'
import type { ModuleResult } from '../../scripts/conformance/run-plan.js'

const moduleResult = (module: string, result: string, others: Partial<ModuleResult> = {}): ModuleResult => ({
  module,
  result,
  messages: [],
  seconds: 1,
  ...others,
})

describe('the result of a module is expected', () => {
  test.each([
    ['if it passes and is not in the table', moduleResult('oidcc-server', 'PASSED')],
    [
      'if the table has the same result for the same condition',
      moduleResult('oidcc-scope-profile', 'WARNING', { messages: ['VerifyScopesReturnedInUserInfoClaims: five'] }),
    ],
    [
      'if its picture is the expected page',
      moduleResult('oidcc-prompt-login', 'REVIEW', { pageText: 'Sign in to continue' }),
    ],
  ])('%s', (_, result) => {
    expect(unexpected(result)).toBeUndefined()
  })
})

describe('the result of a module is unexpected', () => {
  test.each([
    [
      'if it fails and is not in the table',
      moduleResult('oidcc-server', 'FAILED', { messages: ['Check: no token'] }),
      'expected PASSED; Check: no token',
    ],
    [
      'if another condition is not met',
      moduleResult('oidcc-scope-profile', 'WARNING', {
        messages: ['VerifyScopesReturnedInUserInfoClaims: five', 'CheckState: no state'],
      }),
      'CheckState: no state',
    ],
    ['if the table has another result', moduleResult('oidcc-scope-profile', 'FAILED'), 'expected WARNING'],
    [
      'if it passes but the table has another result',
      moduleResult('oidcc-scope-profile', 'PASSED'),
      'expected WARNING',
    ],
    [
      'if its picture is another page',
      moduleResult('oidcc-prompt-login', 'REVIEW', { pageText: 'Not found' }),
      'the page does not contain "Sign in": Not found',
    ],
    [
      'if it has no picture',
      moduleResult('oidcc-prompt-login', 'REVIEW'),
      'the page does not contain "Sign in": no page',
    ],
  ])('%s', (_, result, reason) => {
    expect(unexpected(result)).toBe(reason)
  })
})

describe('docs/conformance.md', () => {
  const plan = plans.find(({ id }) => id === 'basic-rs256')!
  const results = [
    moduleResult('oidcc-server', 'PASSED'),
    moduleResult('oidcc-scope-profile', 'WARNING'),
    moduleResult('oidcc-codereuse', 'TIMEOUT', { messages: ['Check: a | b'] }),
  ]

  test('counts the modules of each plan by result, and a module without end as failed', () => {
    const cells = countsTable([{ plan, results }])
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()))
    expect(cells[0]!.slice(1, -1)).toEqual(['Plan', 'Passed', 'Review', 'Warning', 'Skipped', 'Failed'])
    expect(cells[2]!.slice(1, -1)).toEqual(['Basic OP, RS256', '1', '0', '1', '0', '1'])
  })

  test('lists each module that did not pass with its result and the reason', () => {
    const page = conformancePage([{ plan, results }], '5.1.43', new Date('2030-01-02T03:04:05Z'))
    expect(page).toContain('Version 5.1.43 of the suite, 2030-01-02.')
    expect(page).toMatch(/\| `oidcc-scope-profile` +\| WARNING +\| The scope `profile` contains five claims/)
    expect(page).toMatch(/\| `oidcc-codereuse` +\| TIMEOUT +\| Unexpected: expected PASSED; Check: a \\\| b +\|/)
    expect(page).not.toContain('oidcc-server` ')
  })

  test('plans with the same results share a table', () => {
    const other = plans.find(({ id }) => id === 'basic-es256')!
    const date = new Date('2030-01-02T03:04:05Z')
    const headingsOf = (second: ModuleResult[]) =>
      conformancePage(
        [
          { plan, results },
          { plan: other, results: second },
        ],
        '5.1.43',
        date,
      ).match(/^### .*$/gm)
    expect(headingsOf(results)).toEqual(['### Basic OP, RS256; Basic OP, ES256'])
    expect(headingsOf(results.slice(0, 2))).toEqual(['### Basic OP, RS256', '### Basic OP, ES256'])
  })
})
