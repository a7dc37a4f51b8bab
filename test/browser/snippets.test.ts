/** The snippets that the console shows, copied as they stand and run: each ends in tokens. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'
import { packageRoot } from '../../src/platform/package-root.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { freePorts } from '../setup/start-app.js'
import { type ConsoleWorld, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let tenant: Tenant
let admin: Page
let folder: string
const children: ChildProcess[] = []
const PERSON = { username: 'grace@example.com', password: 'a long first password' }

beforeAll(async () => {
  world = await startConsole()
  tenant = await makeTenant(world.app)
  const { owner, I } = tenant
  const profile = { name: 'Grace Hopper' }
  const user = must(await owner.post(`${I}/users`, { username_type: 'email', username: PERSON.username, profile }), 201)
  const password = { type: 'password', name: null, password: PERSON.password }
  must(await owner.post(`${I}/users/${user.data.id}/verifiers`, password), 201)
  admin = (await world.open()).page
  await signIn(admin, `${world.app.baseUrl}/console/accounts/${tenant.accountId}`)
  await admin.getByRole('heading', { level: 1 }).first().waitFor()
  // Where the libraries are found that the snippets say how to install.
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-snippets-'))
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'))
}, 60_000)
afterAll(async () => {
  for (const child of children) child.kill()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Registers a client in the console. @returns what its page shows to be copied, by title, and the secret it got */
async function register(kind: string, callback?: string): Promise<{ blocks: Record<string, string>; secret: string }> {
  const { accountId, issuerId } = tenant
  await admin.goto(`${world.app.baseUrl}/console/accounts/${accountId}/issuers/${issuerId}/clients?new=1`)
  const dialog = admin.getByRole('dialog', { name: 'New client' })
  await dialog.getByRole('radio', { name: kind }).click()
  await dialog.getByLabel('Name').fill(kind)
  if (callback) {
    await dialog.getByLabel('Callbacks').fill(callback)
    await admin.keyboard.press('Enter')
  }
  await dialog.getByRole('button', { name: 'Make client' }).click()
  let secret = ''
  if (['Server app', 'Machine'].includes(kind)) {
    const shown = admin.getByRole('dialog', { name: 'Your client’s secret' })
    await shown.waitFor()
    secret = (await shown.locator('[data-secret]').allTextContents())[1]!
    await shown.getByRole('button', { name: 'I have kept it' }).click()
  }
  await admin.getByRole('heading', { level: 1, name: kind }).waitFor()
  return { secret, blocks: await blocksOf() }
}

async function blocksOf(): Promise<Record<string, string>> {
  const blocks = admin.locator('figure:has(pre)')
  await blocks.first().waitFor()
  const texts = await blocks.evaluateAll((all) =>
    all.map((one) => [
      one.querySelector('figcaption span')?.textContent ?? '',
      one.querySelector('pre')?.textContent ?? '',
    ]),
  )
  return Object.fromEntries(texts)
}

/** Runs a program beside the libraries. */
function run(file: string, text: string, env: Record<string, string> = {}) {
  writeFileSync(join(folder, file), text)
  const given = { PATH: process.env['PATH'] ?? '', ...env }
  const [command, args] = file.endsWith('.sh') ? ['sh', [file]] : [process.execPath, [file]]
  const child = spawn(command, args, { cwd: folder, env: given, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const printed = async (pattern: RegExp): Promise<string> => {
    for (let look = 0; look < 300; look++) {
      const found = pattern.exec(output)
      if (found) return found[1] ?? found[0]
      if (child.exitCode !== null) break
      await new Promise((done) => setTimeout(done, 50))
    }
    throw new Error(`${file} never printed ${pattern}:\n${output}`)
  }
  return { ended, printed, output: () => output }
}

/** Somebody with a browser of their own signs in where an application has led them. */
async function visit(address: string): Promise<Page> {
  const { page } = await world.open()
  for (let look = 0; look < 100; look++) {
    const answers = await page.goto(address).then(
      () => true,
      () => false,
    )
    if (answers) break
    await page.waitForTimeout(100)
  }
  await page.getByLabel('Username or email').fill(PERSON.username)
  await page.getByLabel('Password').fill(PERSON.password)
  await page.keyboard.press('Enter')
  return page
}

test('single-page app', async () => {
  const [port] = await freePorts(1)
  const home = `http://localhost:${port}`
  const { blocks } = await register('Single-page app', `${home}/callback`)
  const modules = {
    '/auth.js': blocks['auth.ts']!,
    '/oidc-client-ts.js': 'oidc-client-ts/dist/esm/oidc-client-ts.js',
    '/jwt-decode.js': 'jwt-decode/build/esm/index.js',
  }
  const imports = '{"imports":{"oidc-client-ts":"/oidc-client-ts.js","jwt-decode":"/jwt-decode.js"}}'
  // What a bundler does in life.
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
    const keys = 'Object.values(sessionStorage).map((text) => JSON.parse(text)).find((one) => one.access_token)'
    const user = await person.evaluate<{ access_token: string; refresh_token: string; profile: { name: string } }>(keys)
    expect(decodeJwt(user.access_token).iss).toContain(tenant.issuerId)
    expect(user.profile.name).toBe('Grace Hopper')
    await person.context().close()
  } finally {
    server.close()
  }
})

test.each(['/callback', '/auth/came-back'])('server app, whose callback is %s', async (path) => {
  const [port] = await freePorts(1)
  const home = `http://localhost:${port}`
  const { blocks, secret } = await register('Server app', `${home}${path}`)
  const server = run('server.mjs', blocks['server.mjs']!, { CLIENT_SECRET: secret, COOKIE_SECRET: 'c'.repeat(64) })
  const person = await visit(`${home}/profile`)
  await person.waitForURL(`${home}/profile`)
  expect(JSON.parse((await person.textContent('body'))!)).toMatchObject({ name: 'Grace Hopper' })
  expect(server.output()).toBe('')
  await person.context().close()
})

test('native app: a program that waits on a port of its own', async () => {
  const { blocks } = await register('Native app', 'http://127.0.0.1/callback')
  const program = run('sign-in.mjs', blocks['sign-in.mjs']!)
  const person = await visit(await program.printed(/Open (\S+)/))
  await person.getByText('You can close this window.').waitFor()
  await program.printed(/Signed in as usr_/)
  expect(await program.ended).toBe(0)
  await person.context().close()
})

test('machine: by a line of shell, and in Node.js', async () => {
  const { blocks, secret } = await register('Machine')
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

test('a client without a callback says that nobody can come back to it yet', async () => {
  await register('Server app')
  await admin.getByText('Nobody can come back to the application.').waitFor()
})
