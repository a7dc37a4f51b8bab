/** Pages at the address of an issuer and at addresses without an endpoint (docs/contract.md#pages-for-browsers). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startApp, type TestApp } from '../setup/start-app.js'
import { Realm } from './realm.js'

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const headingOf = (html: string) => /<h1>(.*?)<\/h1>/.exec(html)?.[1]
const UNKNOWN = `iss_${'0'.repeat(26)}`

let app: TestApp
let realm: Realm
let deleted: string
let branded: Realm

beforeAll(async () => {
  app = await startApp({
    env: { RATE_LIMITS: JSON.stringify({ metadata: { quota: 60, window: 600 } }), TRUST_PROXY: '1' },
  })
  realm = await Realm.create(app, 'Northwind')
  branded = await Realm.create(app, 'Contoso')
  await branded.tenant.owner.patch(branded.tenant.I, {
    settings: { branding: { display_name: '<b>Contoso</b> & Sons', logo_url: 'https://cdn.example.com/logo.png' } },
  })
  const gone = await Realm.create(app, 'Secret project')
  await gone.tenant.owner.delete(gone.tenant.I)
  deleted = gone.tenant.issuerId
})
afterAll(() => app.close())

let callers = 0
async function get(path: string, headers: Record<string, string> = { accept: BROWSER_ACCEPT }, method = 'GET') {
  const ip = headers['x-forwarded-for'] ?? `198.51.100.${++callers}`
  const response = await fetch(`${app.idpUrl}${path}`, { method, headers: { ...headers, 'x-forwarded-for': ip } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('GET /{issuer_id}', () => {
  test.each(['', '/', '?ui_locales=fr', '/?a=1&a=2'])(
    'a browser gets the page of the issuer (200): %j',
    async (rest) => {
      const { status, headers, text } = await get(`/${realm.tenant.issuerId}${rest}`)
      expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
      expect(headingOf(text)).toBe('Sign-in service')
      expect(text).toContain('Northwind')
      expect(text).toContain(`href="${realm.url}/.well-known/openid-configuration"`)
      expect(text).toContain(`href="${app.gatehouse.config.baseUrl}/docs"`)
    },
  )

  test('the page has the security headers of hosted pages', async () => {
    const { headers } = await get(`/${branded.tenant.issuerId}`)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data: https:\/\/cdn\.example\.com; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('vary')).toContain('Accept')
  })

  test('the page has the branding and the language of the issuer, escaped', async () => {
    const { text } = await get(`/${branded.tenant.issuerId}?ui_locales=de`)
    expect(headingOf(text)).toBe('Anmeldedienst')
    expect(text).toContain('&lt;b&gt;Contoso&lt;/b&gt; &amp; Sons')
    expect(text).not.toContain('<b>Contoso')
  })

  test.each([undefined, '*/*', 'application/json', 'application/json, text/html'])(
    'every other caller gets 404 with an OAuthError: Accept %j',
    async (accept) => {
      for (const path of [`/${realm.tenant.issuerId}`, `/${realm.tenant.issuerId}/`]) {
        const { status, headers, text } = await get(path, accept === undefined ? {} : { accept })
        expect({ status, body: JSON.parse(text) }).toEqual({
          status: 404,
          body: { error: 'not_found', error_description: 'There is no endpoint at this path.' },
        })
        expect(headers.get('vary')).toContain('Accept')
      }
    },
  )

  test('only GET and HEAD are served', async () => {
    expect(await get(`/${realm.tenant.issuerId}`, { accept: BROWSER_ACCEPT }, 'HEAD')).toMatchObject({
      status: 200,
      text: '',
    })
    expect((await get(`/${realm.tenant.issuerId}`, { accept: BROWSER_ACCEPT }, 'POST')).status).toBe(404)
  })
})

describe('addresses without a page', () => {
  test('a browser gets a page with the branding of the issuer (404)', async () => {
    for (const rest of ['/autorize', '/login', '/.well-known/webfinger', '/interaction/x']) {
      const { status, text } = await get(`/${realm.tenant.issuerId}${rest}`)
      expect({ rest, status, heading: headingOf(text) }).toEqual({
        rest,
        status: 404,
        heading: 'There is no page at this address',
      })
      expect(text).toContain('Northwind')
      expect(text).not.toContain(rest)
    }
  })

  test('a browser at an endpoint for applications gets a page with status 405 and Allow', async () => {
    const { status, headers, text } = await get(`/${realm.tenant.issuerId}/token`)
    expect({ status, allow: headers.get('allow'), heading: headingOf(text) }).toEqual({
      status: 405,
      allow: 'POST, OPTIONS',
      heading: 'There is no page at this address',
    })
  })

  test('the pages of unknown and deleted issuers are the same, with no branding', async () => {
    const pages = await Promise.all(
      [UNKNOWN, deleted].flatMap((id) =>
        ['', '/', '/authorize', '/x', '/.well-known/openid-configuration'].map((rest) => get(`/${id}${rest}`)),
      ),
    )
    const others = await Promise.all(
      ['/', '/favicon', '/iss_', '/%00', `/${realm.tenant.issuerId}x`].map((path) => get(path)),
    )
    for (const { status } of [...pages, ...others]) expect(status).toBe(404)
    expect(new Set([...pages, ...others].map(({ text }) => text)).size).toBe(1)
    expect(pages[0]!.text).not.toContain('Secret project')
    expect(pages[0]!.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('machines get 404 with an OAuthError', async () => {
    for (const path of ['/', `/${UNKNOWN}`, `/${UNKNOWN}/authorize`, `/${realm.tenant.issuerId}/login`]) {
      const { status, headers, text } = await get(path, { accept: 'application/json' })
      expect({ path, status, error: JSON.parse(text).error }).toEqual({ path, status: 404, error: 'not_found' })
      expect(headers.get('content-type')).toContain('application/json')
    }
  })

  test('the issuer is looked up within the rate limit of the documents', async () => {
    const headers = { accept: BROWSER_ACCEPT, 'x-forwarded-for': '203.0.113.9' }
    for (let n = 0; n < 60; n++) expect((await get(`/${UNKNOWN}`, headers)).status).toBe(404)
    const refused = await get(`/${realm.tenant.issuerId}`, headers)
    expect(refused.status).toBe(429)
    expect(headingOf(refused.text)).toBe('Something went wrong')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
