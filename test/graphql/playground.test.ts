/** The files of the playground, and its handling of credentials, examples and event streams. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import Koa from 'koa'
import { readEvents } from '../../src/graphql/playground/client.js'
import { readCredential } from '../../src/graphql/playground/credential.js'
import { collectIds, fillPlaceholders } from '../../src/graphql/playground/examples.js'
import { mountPlayground } from '../../src/graphql/playground.js'

const servers: Server[] = []

async function serve(folder?: string): Promise<number> {
  const app = new Koa()
  app.use(mountPlayground(folder))
  const server = createServer(app.callback())
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

afterAll(() => {
  for (const server of servers) server.close()
})

interface ReceivedResponse {
  status: number
  headers: NodeJS.Dict<string | string[]>
  body: Buffer
}

/** Sends a request without changing the path. `fetch` would normalize `..`. */
function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<ReceivedResponse> {
  return new Promise((done, fail) => {
    request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        done({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
      .on('error', fail)
      .end()
  })
}

describe('files', () => {
  let port: number
  let page: ReceivedResponse
  let script: string

  beforeAll(async () => {
    port = await serve()
    page = await get(port, '/playground')
    script = /src="([^"]+)"/.exec(page.body.toString())![1]!
  })

  test('browsers revalidate the page on each load, and the Content-Security-Policy blocks other origins', async () => {
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['cache-control']).toBe('no-cache')
    expect(page.headers['x-content-type-options']).toBe('nosniff')
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe-eval')
    expect(page.body.toString()).not.toMatch(/<script(?![^>]*src=)|https?:/)
    const again = await get(port, '/playground', { 'If-None-Match': String(page.headers['etag']) })
    expect(again.status).toBe(304)
    expect(again.body).toHaveLength(0)
    expect((await get(port, '/playground/')).body).toEqual(page.body)
  })

  test('other files are cached permanently, and compressed if the client accepts gzip', async () => {
    const plain = await get(port, script)
    expect(plain.status).toBe(200)
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.headers['vary']).toBe('Accept-Encoding')
    expect(plain.headers['content-length']).toBe(String(plain.body.length))
    const small = await get(port, script, { 'Accept-Encoding': 'gzip, deflate, br' })
    expect(small.headers['content-encoding']).toBe('gzip')
    expect(small.headers['content-type']).toBe(plain.headers['content-type'])
    expect(small.body.length).toBeLessThan(plain.body.length / 2)
    expect(gunzipSync(small.body)).toEqual(plain.body)
    expect((await get(port, script, { 'Accept-Encoding': 'gzip;q=0' })).headers['content-encoding']).toBeUndefined()
  })

  test('HEAD returns the headers without a body, and other methods are refused', async () => {
    const head = await get(port, script, {}, 'HEAD')
    const full = await get(port, script)
    expect(head.status).toBe(200)
    expect(head.body).toHaveLength(0)
    for (const name of ['content-length', 'content-type', 'cache-control']) {
      expect(head.headers[name]).toBe(full.headers[name])
    }
    const post = await get(port, '/playground', {}, 'POST')
    expect(post.status).toBe(405)
    expect(post.headers['allow']).toBe('GET, HEAD')
  })

  test.each([
    '/playground/..%2f..%2fpackage.json',
    '/playground/..%2Fsrc%2Fmain.js',
    '/playground/%2e%2e/src/main.js',
    '/playground/../../package.json',
    '/playground/..\\src\\main.js',
    '/playground/assets/',
    '/playground/assets',
    '/playground//index.html',
    '/playground/index.html.gz',
    '/playground/index.html%00',
    '/playground/%ff',
    '/playground/constructor',
    '/playgroundindex.html',
  ])('%s is not found', async (path) => {
    const { status, headers } = await get(port, path)
    expect(status).toBe(404)
    expect(headers['cache-control']).toBe('no-store')
  })
})

test('without the built files, the page is 503 with the command of the build', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'gatehouse-no-playground-'))
  const port = await serve(empty)
  const { status, body } = await get(port, '/playground')
  expect(status).toBe(503)
  expect(body.toString()).toContain('npm run build')
  expect((await get(port, '/playground/assets/x.js')).status).toBe(404)
  rmSync(empty, { recursive: true })
})

test.each([
  ['ak_1:sécret', { authorization: `Basic ${Buffer.from('ak_1:sécret').toString('base64')}` }],
  ['  ak_1:with:colon\n', { authorization: `Basic ${Buffer.from('ak_1:with:colon').toString('base64')}` }],
  ['eyJh.eyJz.c2ln', { authorization: 'Bearer eyJh.eyJz.c2ln' }],
  ['bearer abc', { authorization: 'Bearer abc' }],
  ['Authorization: Basic YTpi', { authorization: 'Basic YTpi' }],
  ['', { error: expect.stringContaining('Paste') }],
  ['ak_1', { error: expect.stringContaining('secret is missing') }],
  ['two words', { error: expect.stringContaining('neither') }],
  ['tökén', { error: expect.stringContaining('neither') }],
])('readCredential(%j)', (pasted, expected) => {
  expect(readCredential(pasted)).toEqual(expected)
})

test('ids and versions of a response replace the placeholders in variables', () => {
  const id = (prefix: string, end: string) => `${prefix}_${'0'.repeat(25)}${end}`
  const known = collectIds({
    issuers: { data: [{ id: id('iss', 'a'), updatedAt: 7, accountId: id('acc', 'a') }, { id: id('iss', 'b') }] },
    note: 'usr_…',
  })
  expect(known).toEqual({ iss: { id: id('iss', 'a'), version: '7' }, acc: { id: id('acc', 'a') } })
  expect(fillPlaceholders('{"i":"iss_…","m":"\\"iss_version…\\"","u":"usr_…","a":"acc_version…"}', known)).toBe(
    `{"i":"${id('iss', 'a')}","m":"\\"7\\"","u":"usr_…","a":"acc_version…"}`,
  )
})

test('an event stream is parsed with any chunk sizes', async () => {
  const text =
    'event: next\r\ndata: {"data":{"n":1}}\r\n\r\n:\n\nevent: next\ndata: {"data":\ndata: {"n":"…"}}\n\nevent: complete\ndata:\n\nevent: next\ndata: {}\n\n'
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 7, bytes.length]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
        controller.close()
      },
    })
    const seen = []
    for await (const message of readEvents(body)) seen.push(message)
    expect(seen).toEqual([{ data: { n: 1 } }, { data: { n: '…' } }])
  }
})
