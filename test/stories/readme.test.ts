import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parseSetCookie, stringifyCookie } from 'cookie'
import { packageRoot } from '../../src/platform/package-info.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../setup/process.js'

let folder: string
let server: GatehouseProcess

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'))
  server = await startProcess({ DATA_DIR: folder })
})
afterAll(async () => {
  await stopProcess(server)
  rmSync(folder, { recursive: true, force: true })
})

/** Returns the shell commands of a section of README.md, with the URLs of the test server. */
function shellLinesOf(heading: string): string {
  const text = readFileSync(join(packageRoot, 'README.md'), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(heading))!
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block)
  return blocks
    .join('\n')
    .replaceAll('http://localhost:3000', server.baseUrl)
    .replaceAll('http://localhost:4000', server.idpUrl)
}

test('the commands of "First steps" in README.md print a verified ID token', async () => {
  const shell = spawn('bash', ['-e'], { cwd: packageRoot, env: { ...process.env, ...server.env, NODE_OPTIONS: '' } })
  let output = ''
  let page: Promise<void> | undefined
  const read = (chunk: Buffer) => {
    output += chunk
    const address = /http\S+\/authorize\?\S+/.exec(output)?.[0]
    if (address && !page) page = signIn(address)
  }
  shell.stdout.on('data', read)
  shell.stderr.on('data', read)
  shell.stdin.end(shellLinesOf('First steps'))
  const code = await new Promise((done) => shell.on('close', done))
  await page
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('ID token verified:') })
  const claims = JSON.parse(output.slice(output.indexOf('ID token verified:') + 18))
  expect(claims).toMatchObject({ iss: expect.stringContaining(server.idpUrl), sub: expect.stringMatching(/^usr_/) })
  expect(output).toContain('"type":"api_key"')
}, 60_000)

/** Signs in as a browser does: opens the URL, submits the form, and follows the redirects to the application. */
async function signIn(address: string): Promise<void> {
  const jar = new Map<string, string>()
  const visit = async (url: string, form?: URLSearchParams): Promise<{ url: string; html: string }> => {
    const response = await fetch(url, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      headers: { cookie: stringifyCookie(Object.fromEntries(jar), { encode: String }) },
      ...(form && { body: form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const { name, value = '' } = parseSetCookie(line, { decode: String })
      jar.set(name, value)
    }
    const next = response.headers.get('location')
    return next ? visit(new URL(next, url).href) : { url, html: await response.text() }
  }
  const { url, html } = await visit(address)
  const form = new URLSearchParams()
  for (const [, name, value] of html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g))
    form.set(name!, value!)
  form.set('username', 'anna@example.com')
  form.set('password', 'a long first password')
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1]
  await visit(new URL(action ?? '', url).href, form)
}
