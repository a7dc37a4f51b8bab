/**
 * Redirect URI matching (docs/contract.md#redirect-uri-matching), as a pure function and at the authorization endpoint,
 * where an unregistered URI shows a page and never redirects.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isRedirectUriAllowed } from '../../src/idp/client/redirect-uris.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { Realm, type TestClient } from './realm.js'

const registered = [
  'https://app.example.com/cb',
  'https://app.example.com/cb?tenant=1',
  'http://127.0.0.1:3000/cb',
  'http://localhost/cb?x=1',
  'http://[::1]:8080/',
]
const privateUse = 'com.example.app:/cb'

/** Whether a public native client may use the URI, and whether any other client may. */
type ExpectedResult = readonly [native: boolean, other: boolean]
const bothAllowed: ExpectedResult = [true, true]
const nativeOnly: ExpectedResult = [true, false]
const refusedForAll: ExpectedResult = [false, false]

/** Redirect URIs with their expected results, by the sentence of the contract that they test. */
const rules: Record<string, [ExpectedResult, string[]][]> = {
  'exact match': [
    [bothAllowed, ['https://app.example.com/cb', 'https://app.example.com/cb?tenant=1', 'http://127.0.0.1:3000/cb']],
    [
      refusedForAll,
      [
        'https://app.example.com:443/cb',
        'https://app.example.com:8443/cb',
        'https://APP.example.com/cb',
        'HTTPS://app.example.com/cb',
        'https://app.example.com/cb/',
        'https://app.example.com/CB',
        'https://app.example.com/cb/more',
        'https://app.example.com/',
        'https://app.example.com',
        'https://app.example.com/cb?',
        'https://app.example.com/cb?tenant=2',
        'https://app.example.com/cb?tenant=1&x=1',
        'https://app.example.com/cb?x=1&tenant=1',
        'https://app.example.com/cb#',
        'https://app.example.com/cb#code',
        'http://app.example.com/cb',
        'https://www.app.example.com/cb',
        'https://app.example.com./cb',
        '//app.example.com/cb',
        '/cb',
      ],
    ],
  ],
  'the port may vary for a public native client': [
    [
      nativeOnly,
      [
        'http://127.0.0.1:49152/cb',
        'http://127.0.0.1:1/cb',
        'http://127.0.0.1:65535/cb',
        'http://127.0.0.1/cb',
        'http://localhost:1/cb?x=1',
        'http://[::1]/',
        'http://[::1]:9/',
      ],
    ],
    [
      refusedForAll,
      [
        'http://127.0.0.1:0/cb',
        'http://127.0.0.1:65536/cb',
        'http://127.0.0.1:99999/cb',
        'http://127.0.0.1:080/cb',
        'http://127.0.0.1:/cb',
        'http://127.0.0.1:-1/cb',
        'http://127.0.0.1:3000:3000/cb',
        'http://127.0.0.1:3e3/cb',
      ],
    ],
  ],
  'scheme stays exact': [
    [
      refusedForAll,
      [
        'https://127.0.0.1:49152/cb',
        'https://localhost:49152/cb?x=1',
        'HTTP://127.0.0.1:3000/cb',
        'ws://127.0.0.1:3000/cb',
      ],
    ],
  ],
  'host spelling stays exact': [
    [
      refusedForAll,
      [
        'http://LOCALHOST:49152/cb?x=1',
        'http://localhost.:49152/cb?x=1',
        'http://127.1:3000/cb',
        'http://2130706433:3000/cb',
        'http://0x7f000001:3000/cb',
        'http://127.000.000.001:3000/cb',
        'http://[::ffff:127.0.0.1]:8080/',
        'http://[0:0:0:0:0:0:0:1]:8080/',
        'http://0.0.0.0:3000/cb',
        'http://127.0.0.1.evil.example:3000/cb',
        'http://localhost.evil.example/cb?x=1',
      ],
    ],
  ],
  'path and query stay exact': [
    [
      refusedForAll,
      [
        'http://127.0.0.1:49152/cb/',
        'http://127.0.0.1:49152/CB',
        'http://127.0.0.1:49152/cb?x=1',
        'http://127.0.0.1:49152/cb#f',
        'http://127.0.0.1:49152',
        'http://localhost:49152/cb',
        'http://localhost:49152/cb?x=2',
        'http://[::1]:49152',
        'http://[::1]:49152/cb',
      ],
    ],
  ],
  'the hosts are not interchangeable': [
    [
      refusedForAll,
      [
        'http://localhost:3000/cb',
        'http://[::1]:3000/cb',
        'http://127.0.0.1/cb?x=1',
        'http://[::1]/cb?x=1',
        'http://127.0.0.1:8080/',
        'http://localhost:8080/',
        'http://127.0.0.2:3000/cb',
      ],
    ],
  ],
  'nothing is repaired or decoded first': [
    [
      refusedForAll,
      [
        'https://app.example.com/./cb',
        'https://app.example.com/x/../cb',
        'https://app.example.com/%2e%2e/cb',
        'https://app.example.com//cb',
        'https://app.example.com/c%62',
        'https://app.example.com/cb ',
        ' https://app.example.com/cb',
        'https://app.example.com/cb\n',
        'https://app.example.com/cb\t',
        'https://app.example.com/\tcb',
        'https://app.example.com\\cb',
        'https:\\\\app.example.com\\cb',
        'https:/app.example.com/cb',
        'https:app.example.com/cb',
        'https://app.example.com.evil.example/cb',
        'https://app.example.com@evil.example/cb',
        'https://evil.example/https://app.example.com/cb',
        'https://evil.example\\@app.example.com/cb',
        'https://user@app.example.com/cb',
        'http://127.0.0.1:3000@evil.example/cb',
        'http://user@127.0.0.1:3000/cb',
        'http:/\\127.0.0.1:3000/cb',
        'http://127.0.0.1:3000\\cb',
        'https://app。example.com/cb',
        'https://app.example.com/cb\u200b',
        'javascript:alert(1)',
        'data:text/html,x',
        'file:///etc/passwd',
        'https://',
        'x',
        '*',
      ],
    ],
  ],
}

const table = Object.entries(rules).flatMap(([rule, rows]) =>
  rows.flatMap(([expected, uris]) => uris.map((uri) => ({ rule, uri, expected }))),
)

test('the table has at least 60 malformed or unregistered URIs', () => {
  expect(table.filter(({ expected }) => expected === refusedForAll).length).toBeGreaterThanOrEqual(60)
})

describe('the function', () => {
  test.each(table)('$rule: $uri', ({ uri, expected: [native, other] }) => {
    expect(isRedirectUriAllowed(registered, uri, true)).toBe(native)
    expect(isRedirectUriAllowed(registered, uri, false)).toBe(other)
  })

  test('exact match: a private-use scheme, and an empty value', () => {
    for (const native of [true, false]) {
      expect(isRedirectUriAllowed([privateUse], privateUse, native)).toBe(true)
      expect(isRedirectUriAllowed([privateUse], 'com.example.app:/other', native)).toBe(false)
      expect(isRedirectUriAllowed([privateUse], 'com.example.app://cb', native)).toBe(false)
      expect(isRedirectUriAllowed(registered, '', native)).toBe(false)
    }
  })
})

describe('the authorization endpoint', () => {
  let app: TestApp
  let realm: Realm
  let native: TestClient
  let others: TestClient[]
  beforeAll(async () => {
    app = await startApp()
    realm = await Realm.create(app)
    const redirect_uris = registered
    native = await realm.createClient({ application_type: 'native', redirect_uris })
    others = [
      await realm.createClient({ application_type: 'spa', redirect_uris }),
      await realm.createClient({ application_type: 'web', redirect_uris }, { confidential: true }),
      // The port on a loopback host may vary only for public clients.
      await realm.createClient({ application_type: 'native', redirect_uris }, { confidential: true }),
    ]
  })
  afterAll(() => app.close())

  /**
   * Sends an authorization request with `prompt=none` and without a session. The response is a redirect to the
   * application with an error, or an error page if the redirect URI is invalid.
   */
  async function authorizationResponse(client: TestClient, redirect_uri: string) {
    const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const response = await fetch(realm.authorizeUrl(client, { redirect_uri, prompt: 'none', ...challenge }), {
      redirect: 'manual',
      headers: { accept: 'text/html' },
    })
    const body = await response.text()
    return { status: response.status, location: response.headers.get('location'), isPage: body.includes('<html') }
  }

  test.each(table)('$rule: $uri', async ({ uri, expected: [forNative, forOthers] }) => {
    for (const client of [native, ...others]) {
      const allowed = client === native ? forNative : forOthers
      const { status, location, isPage } = await authorizationResponse(client, uri)
      if (allowed) {
        expect([status, location?.startsWith(`${uri}${uri.includes('?') ? '&' : '?'}error=login_required`)]).toEqual([
          303,
          true,
        ])
      } else {
        expect([status, location, isPage]).toEqual([400, null, true])
      }
    }
  })

  test('a request without redirect_uri, or with several, is never redirected, even if the client has one redirect URI', async () => {
    const single = await realm.createClient({ application_type: 'spa', redirect_uris: [registered[0]!] })
    const url = new URL(realm.authorizeUrl(single, { redirect_uri: undefined }))
    const twice = `${url.href}&redirect_uri=${encodeURIComponent(registered[0]!)}&redirect_uri=https://evil.example`
    for (const address of [url.href, `${url.href}&redirect_uri=`, twice]) {
      const response = await fetch(address, { redirect: 'manual', headers: { accept: 'text/html' } })
      expect([response.status, response.headers.get('location')]).toEqual([400, null])
    }
  })
})
