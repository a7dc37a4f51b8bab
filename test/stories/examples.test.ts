/** Runs the examples without pages. test/browser/examples.test.ts runs the examples with pages. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { createExampleRunner, type ExampleRunner, type RunningExample } from '../setup/examples.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let runner: ExampleRunner

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'], env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  runner = createExampleRunner(app)
})
afterAll(async () => {
  await app?.close()
  runner?.remove()
})

/** Signs Anna in at the authorization URL that the example prints. */
async function signIn(example: RunningExample): Promise<void> {
  const [, address = ''] = await example.waitForOutput(/(http\S+\/authorize\?\S+)/)
  const browser = new TestBrowser()
  const page = await browser.open(address)
  await browser.submit(page, { username: 'anna@example.com', password: 'a long first password' })
}

async function waitForExit(example: RunningExample): Promise<string> {
  expect([await example.exitCode, example.output()]).toEqual([0, expect.any(String)])
  return example.output()
}

test('native: a loopback application signs a user in and verifies the ID token', async () => {
  const example = runner.run('native')
  await signIn(example)
  expect(await waitForExit(example)).toMatch(/ID token verified: {[^}]*"sub": "usr_/)
})

test('machine: a client credentials token with one scope lists the users of the issuer', async () => {
  expect(await waitForExit(runner.run('machine'))).toMatch(/scope issuers\.users:read\n1 user: usr_/)
})

test('agent: gets a token for five minutes with a signature of its wallet', async () => {
  const output = await waitForExit(runner.run('agent'))
  expect(output).toContain('wants you to sign in with your Ethereum account:')
  expect(output).toMatch(/A token for 300 seconds: {[^}]*sub: 'agt_[^}]*amr: \[ 'hwk' \]/)
})

test('token-exchange: the exchanged token contains the user, the actor, the organization and one scope', async () => {
  const example = runner.run('token-exchange')
  await signIn(example)
  const output = await waitForExit(example)
  const { stock } = JSON.parse(output.slice(output.indexOf('Response of orders:') + 19))
  expect(stock).toEqual({
    tulips: 40,
    token: {
      sub: expect.stringMatching(/^usr_/),
      act: { sub: expect.stringMatching(/^cli_/) },
      org_id: expect.stringMatching(/^org_/),
      scope: 'stock:read',
      seconds: 60,
    },
  })
})

test.each([
  ['mcp', /The client id is cli_/],
  ['mcp-document', /The client id is http:\/\/localhost:\d+\/assistant\/client\.json/],
])(
  '%s: an MCP client finds the issuer, gets a token for the MCP server after consent, and calls a tool',
  async (name, clientId) => {
    const [port] = await freePorts(1)
    const example = runner.run(name, port)
    const [, address = ''] = await example.waitForOutput(/(http\S+\/authorize\?\S+)/)
    expect(new URL(address).searchParams.get('resource')).toBe(`http://localhost:${port}/mcp`)
    const browser = new TestBrowser()
    const signInPage = await browser.open(address)
    const consentPage = await browser.submit(signInPage, {
      username: 'anna@example.com',
      password: 'a long first password',
    })
    expect(consentPage.html).toContain('notes:read')
    await browser.submit(consentPage, { consent: 'yes' })
    const output = await waitForExit(example)
    expect(output).toMatch(clientId)
    expect(output).toMatch(/The tool answered: Notes of usr_\w+ for \S+: buy tulips/)
  },
)

test('webhooks: the receiver accepts signed requests and prints events', async () => {
  const [port] = await freePorts(1)
  for (let run = 0; run < 2; run++) {
    const example = runner.run('webhooks', port)
    await example.waitForOutput(/issuer\.updated evt_/)
    await example.stop()
  }
})

test('rest: the shell script uses /v1 with Idempotency-Key and If-Match', async () => {
  const output = await waitForExit(runner.run('rest'))
  expect(output).toMatch(
    /requested twice, created once[\s\S]*with the old ETag was refused[\s\S]*"user\.created"[\s\S]*deleted {2}iss_/,
  )
})

test('typescript-client: lists, changes and deletes resources', async () => {
  expect(await waitForExit(runner.run('typescript-client'))).toMatch(
    /users {4}3\nchanged {2}dora@example\.com is named Dora\n304 {6}true\nerror {4}412 precondition_failed\ndeleted {2}iss_/,
  )
})

test('an unknown name and an unreachable Gatehouse cause exit code 1 and a message with the fix', async () => {
  const example = runner.run('nothing')
  expect([await example.exitCode, example.output()]).toEqual([1, expect.stringContaining('npm run example -- <name>')])
  const [port] = await freePorts(1)
  const config = { ...app.gatehouse.config, baseUrl: `http://127.0.0.1:${port}` }
  const unreachableRunner = createExampleRunner({ ...app, gatehouse: { ...app.gatehouse, config } })
  const other = unreachableRunner.run('machine')
  expect([await other.exitCode, other.output()]).toEqual([1, expect.stringContaining('Start it with: npm start')])
  unreachableRunner.remove()
})
