/**
 * HTTP behavior of the Core API and the IdP: Strict-Transport-Security, and request bodies that are refused before they
 * are read.
 */
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTenant, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const MiB = 1024 * 1024
let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
})
afterAll(() => app.close())

test('Strict-Transport-Security is on every response of a server with an https public address, and on no other', async () => {
  const secure = await startApp({ env: { BASE_URL: 'https://api.example.com', IDP_URL: 'https://login.example.com' } })
  try {
    const created = await createTenant(secure)
    const headerOf = async (url: string, init: RequestInit = {}) =>
      (await fetch(url, { redirect: 'manual', ...init })).headers.get('strict-transport-security')
    const paths = [
      ...['/', '/healthz', '/readyz', '/metrics', '/v1/accounts', '/v1/nothing', '/graphql', '/console', '/setup'],
      ...['/docs', '/openapi.json', '/playground', '/.well-known/oauth-protected-resource', '/nothing', '/%'],
    ].map((path) => [secure.baseUrl, path])
    const issuer = `/${created.issuerId}`
    const idpPaths = [
      ...['/', '/healthz', '/nothing', `${issuer}/.well-known/openid-configuration`, `${issuer}/jwks.json`],
      ...[`${issuer}/authorize`, `${issuer}/token`, `${issuer}/userinfo`, `${issuer}/logout`, `${issuer}/nothing`],
    ].map((path) => [secure.idpUrl, path])
    for (const [base, path] of [...paths, ...idpPaths]) {
      for (const method of ['GET', 'POST']) {
        const observed = { path, method, header: await headerOf(`${base}${path}`, { method }) }
        expect(observed).toEqual({ path, method, header: 'max-age=31536000' })
      }
    }
    expect(await headerOf(`${app.baseUrl}/healthz`)).toBeNull()
    expect(await headerOf(`${app.idpUrl}/${tenant.issuerId}/jwks.json`)).toBeNull()
  } finally {
    await secure.close()
  }
})

/** Endpoints that read a request body: name, URL, request headers and maximum size in bytes. */
const readers = (): [string, string, Record<string, string>, number][] => {
  const key = { authorization: tenant.owner.authorization! }
  const json = { 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const issuer = `${app.idpUrl}/${tenant.issuerId}`
  return [
    ['/v1', `${app.baseUrl}${tenant.A}/issuers`, { ...key, ...json }, MiB],
    ['GraphQL', `${app.baseUrl}/graphql`, { ...key, ...json }, 256 * 1024],
    ['the setup page', `${app.baseUrl}/setup`, form, 64 * 1024],
    ['/token', `${issuer}/token`, form, 64 * 1024],
    ['/revoke', `${issuer}/revoke`, form, 64 * 1024],
    ['a hosted page', `${issuer}/logout`, form, 64 * 1024],
    ['/check-session', `${issuer}/check-session`, json, 16 * 1024],
  ]
}
const places = [0, 1, 2, 3, 4, 5, 6]

const head = (url: string, headers: Record<string, string>): string => {
  const { host, pathname } = new URL(url)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Sends the whole request before it reads the response, as Python's urllib does. Returns the raw response. */
async function sendAllThenRead(url: string, text: string, body: Buffer[]): Promise<string> {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.pause()
  const failed = new Promise<never>((_, fail) => socket.once('error', fail))
  const sent = (async () => {
    for (const part of [Buffer.from(text), ...body])
      await new Promise<void>((done, fail) => socket.write(part, (error) => (error ? fail(error) : done())))
    // Waits for a server that would close the connection too early, so that reading the response would fail.
    await sleep(50)
    let response = ''
    socket.on('data', (chunk) => (response += chunk.toString('latin1')))
    socket.resume()
    await once(socket, 'end')
    socket.destroy()
    return response
  })()
  return Promise.race([sent, failed])
}

const slices = (bytes: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes / 65_536) }, () => Buffer.alloc(65_536, 'x'))
const chunked = (bytes: number): Buffer[] => [
  ...slices(bytes).flatMap((slice) => [Buffer.from('10000\r\n'), slice, Buffer.from('\r\n')]),
  Buffer.from('0\r\n\r\n'),
]

describe('an oversized body gets its 413 with a lingering close', () => {
  test.each(places)('Content-Length, by a client that sends the whole body first (%i)', async (at) => {
    const [, url, headers] = readers()[at]!
    const body = slices(6 * MiB)
    const response = await sendAllThenRead(url, head(url, { ...headers, 'content-length': String(6 * MiB) }), body)
    expect(response).toMatch(/^HTTP\/1\.1 413 /)
    expect(response.toLowerCase()).toContain('connection: close')
    expect(response).toMatch(/payload_too_large|PAYLOAD_TOO_LARGE|larger than|larger|<html/)
  })

  test.each(places)('chunked, by a client that sends the whole body first (%i)', async (at) => {
    const [, url, headers] = readers()[at]!
    const response = await sendAllThenRead(
      url,
      head(url, { ...headers, 'transfer-encoding': 'chunked' }),
      chunked(6 * MiB),
    )
    expect(response).toMatch(/^HTTP\/1\.1 413 /)
    expect(response.toLowerCase()).toContain('connection: close')
  })

  test('fetch reads the response', async () => {
    for (const [, url, headers] of readers()) {
      const response = await fetch(url, { method: 'POST', headers, body: 'x'.repeat(3 * MiB) })
      expect([url, response.status]).toEqual([url, 413])
      await response.text()
    }
  })

  test('the connection is closed while a client keeps sending an oversized body', async () => {
    const [, url, headers] = readers()[0]!
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined).resume()
    socket.write(head(url, { ...headers, 'content-length': String(1024 * MiB) }))
    let sent = 0
    const slice = Buffer.alloc(MiB, 'x')
    const closed = new Promise((done) => socket.once('close', () => done('closed')))
    while (sent < 200 * MiB && !socket.destroyed) {
      sent += MiB
      if (!socket.write(slice)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
    }
    expect(await closed).toBe('closed')
    expect(sent).toBeLessThan(100 * MiB)
  })

  test('an error before the body is read also has a lingering close: 401 to a client with Connection: close', async () => {
    const [, url] = readers()[0]!
    const headers = { 'content-type': 'application/json', connection: 'close', 'content-length': String(6 * MiB) }
    expect(await sendAllThenRead(url, head(url, headers), slices(6 * MiB))).toMatch(/^HTTP\/1\.1 401 /)
  })
})

describe('Expect: 100-continue', () => {
  const ask = (url: string, headers: Record<string, string | number>): ClientRequest =>
    httpRequest(url, { method: 'POST', agent: false, headers: { ...headers, expect: '100-continue' } })

  test.each(places)('an oversized body is refused without 100 Continue (%i)', async (at) => {
    const [, url, headers] = readers()[at]!
    const sent = ask(url, { ...headers, 'content-length': 6 * MiB })
    let continued = false
    sent.on('continue', () => {
      continued = true
    })
    sent.flushHeaders()
    const [response] = await once(sent, 'response')
    expect([response.statusCode, continued, response.headers.connection]).toEqual([413, false, 'close'])
    sent.destroy()
  })

  test('an accepted body gets 100 Continue', async () => {
    const [, url, headers] = readers()[0]!
    const body = JSON.stringify({ name: 'Continued' })
    const sent = ask(url, { ...headers, 'content-length': body.length })
    sent.on('continue', () => sent.end(body))
    sent.flushHeaders()
    const [response] = await once(sent, 'response')
    response.resume()
    expect(response.statusCode).toBe(201)
  })

  test('a request without a credential is refused before its body', async () => {
    const [, url] = readers()[0]!
    const sent = ask(url, { 'content-type': 'application/json', 'content-length': 10 })
    sent.flushHeaders()
    const [response] = await once(sent, 'response')
    expect(response.statusCode).toBe(401)
    sent.destroy()
  })
})

describe('Content-Encoding', () => {
  test.each(places)(
    'an encoded body is 415 and names the accepted encodings; identity is accepted (%i)',
    async (at) => {
      const [, url, headers] = readers()[at]!
      for (const encoding of ['gzip', 'br', 'x', 'identity, gzip', 'GZIP']) {
        const response = await fetch(url, {
          method: 'POST',
          headers: { ...headers, 'content-encoding': encoding },
          body: '{}',
        })
        expect([encoding, response.status, response.headers.get('accept-encoding')]).toEqual([
          encoding,
          415,
          'identity',
        ])
        await response.text()
      }
      for (const encoding of ['identity', 'Identity']) {
        const response = await fetch(url, {
          method: 'POST',
          headers: { ...headers, 'content-encoding': encoding },
          body: '{}',
        })
        expect(response.status).not.toBe(415)
        await response.text()
      }
    },
  )

  test('a request without a body may have the header', async () => {
    const response = await tenant.owner.get(tenant.A, { 'content-encoding': 'gzip' })
    expect(response.status).toBe(200)
  })
})

test('a form of another type is 415 at the setup page', async () => {
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json']) {
    const response = await fetch(`${app.baseUrl}/setup`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: 'token=x',
    })
    expect([type, response.status]).toEqual([type, 415])
  }
})
