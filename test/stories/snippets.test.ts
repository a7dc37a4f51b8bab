/** Runs the code snippets that the console shows for a client. Each snippet must get tokens. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'
import { packageRoot } from '../../src/platform/package-info.js'
import {
  addEntry,
  type ConsoleFixture,
  signInAsAdministrator,
  startConsoleFixture,
} from '../browser/console-fixture.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { freePorts } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let fixture: ConsoleFixture
let tenant: Tenant
let admin: Page
let folder: string
const children: ChildProcess[] = []
const PERSON = { username: 'grace@example.com', password: 'a long first password' }

beforeAll(async () => {
  fixture = await startConsoleFixture()
  tenant = await createTenant(fixture.app)
  const { owner, I } = tenant
  const profile = { name: 'Grace Hopper' }
  const user = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'email', username: PERSON.username, profile }),
    201,
  )
  const password = { type: 'password', name: null, password: PERSON.password }
  expectStatus(await owner.post(`${I}/users/${user.data.id}/verifiers`, password), 201)
  admin = (await fixture.openPage()).page
  await signInAsAdministrator(admin, `${fixture.app.baseUrl}/console/accounts/${tenant.accountId}`)
  await admin.getByRole('heading', { level: 1 }).first().waitFor()
  // The snippets find the libraries that they tell users to install in `node_modules` of this folder.
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-snippets-'))
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'))
}, 60_000)
afterAll(async () => {
  for (const child of children) child.kill()
  await fixture?.close()
  rmSync(folder, { recursive: true, force: true })
})

/**
 * Creates a client in the console.
 * @param kind the name of the application type in the dialog
 * @param callback the redirect URI, if any
 * @returns the code blocks on the page by title, and the secret, which is empty for a public client
 */
async function createClient(
  kind: string,
  callback?: string,
): Promise<{ blocks: Record<string, string>; secret: string }> {
  const { accountId, issuerId } = tenant
  await admin.goto(`${fixture.app.baseUrl}/console/accounts/${accountId}/issuers/${issuerId}/clients?new=1`)
  const dialog = admin.getByRole('dialog', { name: 'Create client' })
  await dialog.getByRole('radio', { name: kind }).click()
  await dialog.getByLabel('Name').fill(kind)
  if (callback) await addEntry(dialog.getByLabel('Redirect URIs', { exact: true }), callback)
  await dialog.getByRole('button', { name: 'Create client' }).click()
  let secret = ''
  if (['Server app', 'Machine-to-machine'].includes(kind)) {
    const shown = admin.getByRole('dialog', { name: 'Client secret' })
    await shown.waitFor()
    secret = (await shown.locator('[data-secret]').allTextContents())[1]!
    await shown.getByRole('button', { name: "I've saved it" }).click()
  }
  await admin.getByRole('heading', { level: 1, name: kind }).waitFor()
  return { secret, blocks: await blocksOf() }
}

async function blocksOf(): Promise<Record<string, string>> {
  const blocks = admin.locator('figure:has(pre)')
  await blocks.first().waitFor()
  const texts = await blocks.evaluateAll((all) =>
    all.map((block) => [
      block.querySelector('figcaption span')?.textContent ?? '',
      block.querySelector('pre')?.textContent ?? '',
    ]),
  )
  return Object.fromEntries(texts)
}

/** Selects the snippet of a framework on the page of a client for a server app. */
async function selectFramework(label: string): Promise<void> {
  await admin.getByRole('combobox', { name: 'Language' }).click()
  await admin.getByRole('option', { name: label, exact: true }).click()
}

/** Runs a snippet in the folder with the libraries: a `.sh` file with sh, other files with Node.js. */
function run(file: string, text: string, env: Record<string, string> = {}) {
  writeFileSync(join(folder, file), text)
  const environment = { PATH: process.env['PATH'] ?? '', ...env }
  const [command, args] = file.endsWith('.sh') ? ['sh', [file]] : [process.execPath, [file]]
  const child = spawn(command, args, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const printed = async (pattern: RegExp): Promise<string> => {
    const found = await waitUntil(
      `${file} has printed ${pattern}`,
      () => {
        const match = pattern.exec(output)
        if (!match && child.exitCode !== null) throw new Error(`${file} ended without ${pattern}:\n${output}`)
        return match
      },
      { details: () => output },
    )
    return found![1] ?? found![0]
  }
  return { ended, printed, output: () => output }
}

/** Opens a URL of an application in a new page, as soon as it responds, and signs in at the issuer. */
async function visit(address: string): Promise<Page> {
  const { page } = await fixture.openPage()
  for (let attempt = 0; attempt < 100; attempt++) {
    const isResponding = await page.goto(address).then(
      () => true,
      () => false,
    )
    if (isResponding) break
    await page.waitForTimeout(100)
  }
  await page.getByLabel('Username or email').fill(PERSON.username)
  await page.getByLabel('Password').fill(PERSON.password)
  await page.keyboard.press('Enter')
  return page
}

test.each(['/callback', '/'])('single-page app with the callback path %s', async (callback) => {
  const [port] = await freePorts(1)
  const home = `http://localhost:${port}`
  const { blocks } = await createClient('Single-page app', `${home}${callback}`)
  const modules = {
    '/auth.js': blocks['auth.ts']!,
    '/oidc-client-ts.js': 'oidc-client-ts/dist/esm/oidc-client-ts.js',
    '/jwt-decode.js': 'jwt-decode/build/esm/index.js',
  }
  const imports = '{"imports":{"oidc-client-ts":"/oidc-client-ts.js","jwt-decode":"/jwt-decode.js"}}'
  // The import map replaces a bundler.
  const page = `<!doctype html><script type="importmap">${imports}</script><script type="module" src="/auth.js"></script>`
  const server = createServer((request, response) => {
    const path = request.url!.split('?')[0] as keyof typeof modules
    const found = modules[path]
    if (!found) return response.setHeader('content-type', 'text/html').end(page)
    const text = path === '/auth.js' ? found : readFileSync(join(packageRoot, 'node_modules', found), 'utf8')
    response.setHeader('content-type', 'text/javascript').end(text)
  }).listen(port, 'localhost')
  try {
    const person = await visit(home)
    await person.waitForURL(`${home}/`)
    const keys = 'Object.values(sessionStorage).map((text) => JSON.parse(text)).find((entry) => entry.access_token)'
    const user = await person.evaluate<{ access_token: string; refresh_token: string; profile: { name: string } }>(keys)
    expect(decodeJwt(user.access_token).iss).toContain(tenant.issuerId)
    expect(user.profile.name).toBe('Grace Hopper')
    await person.context().close()
  } finally {
    server.close()
  }
})

test.each(['/callback', '/auth/return'])('server app with the callback path %s', async (path) => {
  const [port] = await freePorts(1)
  const home = `http://localhost:${port}`
  const { blocks, secret } = await createClient('Server app', `${home}${path}`)
  const server = run('server.mjs', blocks['server.mjs']!, { CLIENT_SECRET: secret, COOKIE_SECRET: 'c'.repeat(64) })
  const person = await visit(`${home}/profile`)
  await person.waitForURL(`${home}/profile`)
  expect(JSON.parse((await person.textContent('body'))!)).toMatchObject({ name: 'Grace Hopper' })
  expect(server.output()).toBe('')
  await person.context().close()
})

/** Returns the lines of the files of a relying party, without indentation. */
function linesOfExample(name: string): Set<string> {
  const files = readdirSync(join(packageRoot, 'examples/relying-parties', name), {
    recursive: true,
    withFileTypes: true,
  })
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'))
  return new Set(texts.flatMap((text) => text.split('\n').map((line) => line.trim())))
}

test('server app: the snippets of other frameworks are code of the examples, with the values of the client', async () => {
  const redirectUri = 'http://localhost:8080/callback'
  await createClient('Server app', redirectUri)
  const issuer = `${fixture.app.gatehouse.config.idpUrl}/${tenant.issuerId}`
  const examples = {
    'Next.js': 'next-auth',
    Flask: 'authlib',
    'Spring Boot': 'spring-security',
    'ASP.NET Core': 'aspnet-core',
    Go: 'go-oidc',
  }
  for (const [label, example] of Object.entries(examples)) {
    const lines = linesOfExample(example)
    await selectFramework(label)
    const { Terminal: terminal, ...files } = await blocksOf()
    expect(terminal).toContain(`export ISSUER=${issuer} CLIENT_ID=cli_`)
    expect(Object.keys(files)).not.toEqual([])
    // The examples build the redirect URI from the environment variable PORT.
    const code = Object.values(files)
      .join('\n')
      .replace(`"${redirectUri}"`, example === 'authlib' ? 'f"{home}/callback"' : 'home + "/callback"')
    const other = code.split('\n').filter((line) => !lines.has(line.trim()))
    expect({ label, other }).toEqual({ label, other: [] })
  }
})

test('server app: a snippet says which settings of the client its library needs', async () => {
  await createClient('Server app', 'http://localhost:8080/login/oauth2/code/gatehouse')
  const [clientId] = /cli_\w+/.exec(admin.url())!
  const settings = { openid: { response_signature_alg: 'ES256' } }
  expectStatus(await tenant.owner.patch(`${tenant.I}/clients/${clientId}`, { settings }), 200)
  await admin.reload()
  await selectFramework('Spring Boot')
  const algorithm = admin.getByText('Spring Boot does not accept ES256 by default: set the signing algorithm')
  await algorithm.waitFor()
  expect(await admin.getByText('Add the redirect URI').count()).toBe(0)
  await selectFramework('Next.js')
  await admin.getByText('Add the redirect URI http://localhost:8080/api/auth/callback/gatehouse.').waitFor()
  expect(await algorithm.count()).toBe(0)
})

test('native app: a program that listens on a loopback port', async () => {
  const { blocks } = await createClient('Native app', 'http://127.0.0.1/callback')
  const program = run('sign-in.mjs', blocks['sign-in.mjs']!)
  const person = await visit(await program.printed(/Open (\S+)/))
  await person.getByText('You can close this window.').waitFor()
  await program.printed(/Signed in as usr_/)
  expect(await program.ended).toBe(0)
  await person.context().close()
})

test('machine-to-machine: shell and Node.js', async () => {
  const { blocks, secret } = await createClient('Machine-to-machine')
  const shell = run('token.sh', blocks['Terminal']!, { CLIENT_SECRET: secret })
  await shell.ended
  const { access_token, token_type } = JSON.parse(shell.output())
  expect(token_type).toBe('Bearer')
  expect(decodeJwt(access_token).iss).toContain(tenant.issuerId)
  await admin.getByRole('radiogroup', { name: 'Language' }).getByText('Node.js').click()
  const program = run('token.mjs', (await blocksOf())['token.mjs']!, { CLIENT_SECRET: secret })
  await program.ended
  expect(decodeJwt(program.output().trim()).sub).toMatch(/^cli_/)
})

test('a client without a redirect URI shows a warning', async () => {
  await createClient('Server app')
  await admin.getByText('Users cannot return to the application').waitFor()
})
