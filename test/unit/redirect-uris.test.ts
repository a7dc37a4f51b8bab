/**
 * Registration and matching of redirect URIs (docs/contract.md#redirect-uri-registration,
 * docs/contract.md#redirect-uri-matching).
 */
import { describe, expect, test } from '@jest/globals'
import { isRedirectUriAllowed } from '../../src/idp/client/redirect-uris.js'
import { type ApplicationType, redirectUriError, redirectUriErrors } from '../../src/resources/clients/redirect-uris.js'

const types: ApplicationType[] = ['web', 'spa', 'native']

describe('registration', () => {
  test.each([
    'https://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/cb?x=1&y=%20',
    'https://app.example.com:8443/cb',
    'https://xn--bcher-kva.example/cb',
    'https://203.0.113.5/cb',
    'https://[2001:db8::1]/cb',
    "https://app.example.com/a-._~:@!$&'()*+,;=",
    'https://app.example.com/...',
    'https://app.example.com/.well-known/cb',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:3000/cb',
    'http://[::1]:3000/cb',
    'http://localhost:3000/cb',
    'https://localhost/cb',
    `https://app.example.com/${'x'.repeat(2024)}`,
  ])('%s is accepted', (uri) => {
    for (const type of types) expect(redirectUriError(type, uri)).toBeUndefined()
  })

  test.each([
    ['', 'absolute'],
    ['/cb', 'absolute'],
    ['app.example.com/cb', 'absolute'],
    ['https:', 'absolute'],
    ['https:///cb', 'host'],
    ['https:app.example.com/cb', 'host'],
    ['https:/app.example.com/cb', 'host'],
    // The scheme and the host must be in lowercase and in canonical form.
    ['HTTPS://app.example.com/cb', 'host'],
    ['https://App.example.com/cb', 'lower case'],
    ['https://bücher.example/cb', 'URI characters'],
    ['https://app.example%2ecom/cb', 'canonical'],
    ['https://127.1/cb', 'canonical'],
    ['https://0x7f.0.0.1/cb', 'canonical'],
    ['https://2130706433/cb', 'canonical'],
    ['https://[0:0:0:0:0:0:0:1]/cb', 'canonical'],
    ['https://*.example.com/cb', 'wildcards'],
    // The port must be valid and in canonical form.
    ['https://app.example.com:/cb', 'canonical'],
    ['https://app.example.com:0443/cb', 'leading zeros'],
    ['https://app.example.com:0/cb', 'leading zeros'],
    ['https://app.example.com:65536/cb', 'absolute'],
    ['https://app.example.com:port/cb', 'absolute'],
    // http is allowed only for loopback hosts.
    ['http://app.example.com/cb', 'https'],
    ['http://127.0.0.2/cb', 'https'],
    ['http://localhost.example.com/cb', 'https'],
    ['http://localhost./cb', 'https'],
    ['http://0.0.0.0/cb', 'https'],
    // Credentials, fragments and dot segments.
    ['https://user@app.example.com/cb', 'username'],
    ['https://user:secret@app.example.com/cb', 'username'],
    ['https://@app.example.com/cb', 'username'],
    ['https://app.example.com/cb#', 'fragment'],
    ['https://app.example.com/cb#token', 'fragment'],
    ['https://app.example.com/a/../cb', 'dot segments'],
    ['https://app.example.com/./cb', 'dot segments'],
    ['https://app.example.com/a/%2e%2E/cb', 'dot segments'],
    ['https://app.example.com/..', 'dot segments'],
    ['https://app.example.com/..?x', 'dot segments'],
    // Whitespace, control characters and backslashes.
    [' https://app.example.com/cb', 'whitespace'],
    ['https://app.example.com/c b', 'whitespace'],
    ['https://app.example.com/cb\n', 'whitespace'],
    ['https://app.example.com/\u0000', 'control characters'],
    ['https://app.example.com/\u00a0', 'whitespace'],
    ['https://app.example.com/\u2028', 'whitespace'],
    ['https:\\\\app.example.com/cb', 'backslashes'],
    ['https://app.example.com\\@evil.example/cb', 'backslashes'],
    // Characters that a URI must not contain (RFC 3986).
    ['https://app.example.com/é', 'URI characters'],
    ['https://app.example.com/%zz', 'URI characters'],
    ['https://app.example.com/%2', 'URI characters'],
    ['https://app.example.com/{id}', 'URI characters'],
    ['https://app.example.com/"x"', 'URI characters'],
    [`https://app.example.com/${'x'.repeat(2025)}`, 'at most 2048 characters'],
  ])('%j is refused: %s', (uri, reason) => {
    for (const type of types) expect(redirectUriError(type, uri)).toContain(reason)
  })

  test.each([
    ['com.example.app:/cb', true],
    ['com.example.app://cb', true],
    ['com.example.my-app:/cb?x=1', true],
    ['example:/cb', false],
    ['myapp://cb', false],
    ['COM.example.app:/cb', false],
    ['com..example:/cb', false],
    ['com.example.app+x:/cb', false],
    ['com.example.app://user@host/cb', false],
    ['com.example.app:/cb#x', false],
    ['javascript:alert(1)', false],
    ['data:text/html,x', false],
    ['file:///etc/passwd', false],
    ['ftp://app.example.com/cb', false],
    ['urn:ietf:wg:oauth:2.0:oob', false],
  ])('%s is accepted for a native client: %s', (uri, accepted) => {
    expect(redirectUriError('native', uri) === undefined).toBe(accepted)
    for (const type of ['web', 'spa'] as const) expect(redirectUriError(type, uri)).toBeDefined()
  })

  test('each error names the index in the list, and machine-to-machine clients may have no redirect URIs', () => {
    const list = ['https://app.example.com/cb', 'http://app.example.com/cb', 'x']
    expect(redirectUriErrors('redirect_uris', 'web', list).map(({ field, code }) => [field, code])).toEqual([
      ['redirect_uris[1]', 'invalid_format'],
      ['redirect_uris[2]', 'invalid_format'],
    ])
    expect(redirectUriErrors('redirect_uris', 'm2m', list)).toMatchObject([
      { field: 'redirect_uris', code: 'not_allowed' },
    ])
    for (const type of [...types, 'm2m'] as const) expect(redirectUriErrors('redirect_uris', type, [])).toEqual([])
  })
})

describe('matching', () => {
  test.each<[registered: string, requested: string]>([
    ['https://app.example.com/cb', 'https://app.example.com/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/cb'],
    ['com.example.app:/cb', 'com.example.app:/cb'],
  ])('%s allows %s', (registered, requested) => {
    expect(isRedirectUriAllowed(['https://other.example/', registered], requested, false)).toBe(true)
    expect(isRedirectUriAllowed([registered], requested, true)).toBe(true)
  })

  test.each<[registered: string, requested: string]>([
    ['https://app.example.com/cb', 'https://app.example.com/cb/'],
    ['https://app.example.com/cb', 'https://app.example.com/CB'],
    ['https://app.example.com/cb', 'https://app.example.com/cb?x=1'],
    ['https://app.example.com/cb', 'https://app.example.com/cb#'],
    ['https://app.example.com/cb', 'https://app.example.com:443/cb'],
    ['https://app.example.com/cb', 'https://app.example.com:8443/cb'],
    ['https://app.example.com/cb', 'HTTPS://app.example.com/cb'],
    ['https://app.example.com/cb', 'https://app.example.com/cb '],
    ['https://app.example.com/cb', 'https://app.example.com/x/../cb'],
    ['https://app.example.com/cb', ''],
    ['https://app.example.com', 'https://app.example.com/'],
    // Different loopback hosts do not match, and only the port of http loopback URIs may vary.
    ['http://127.0.0.1/cb', 'http://localhost/cb'],
    ['http://127.0.0.1/cb', 'http://[::1]/cb'],
    ['http://127.0.0.1/cb', 'https://127.0.0.1:3000/cb'],
    ['https://localhost/cb', 'https://localhost:3000/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:3000/other'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:3000/cb?x=1'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:3000'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:03000/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:0/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:65536/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:/cb'],
    ['http://127.0.0.1/cb', 'http://user@127.0.0.1:3000/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:3000@evil.example/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1.evil.example:3000/cb'],
    ['http://127.0.0.2/cb', 'http://127.0.0.2:3000/cb'],
  ])('%s does not allow %s', (registered, requested) => {
    for (const portMayVary of [false, true])
      expect(isRedirectUriAllowed([registered], requested, portMayVary)).toBe(false)
  })

  test.each<[registered: string, requested: string]>([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:3000/cb'],
    ['http://127.0.0.1:8080/cb', 'http://127.0.0.1:3000/cb'],
    ['http://127.0.0.1:8080/cb', 'http://127.0.0.1/cb'],
    ['http://127.0.0.1/cb?x=1', 'http://127.0.0.1:65535/cb?x=1'],
    ['http://[::1]/cb', 'http://[::1]:1/cb'],
    ['http://localhost/cb', 'http://localhost:3000/cb'],
    ['http://127.0.0.1', 'http://127.0.0.1:3000'],
  ])('%s allows %s only if the port may vary', (registered, requested) => {
    expect(isRedirectUriAllowed(['http://[::1]/other', registered], requested, true)).toBe(true)
    expect(isRedirectUriAllowed([registered], requested, false)).toBe(false)
  })

  test('an empty list allows no URI', () => expect(isRedirectUriAllowed([], '', true)).toBe(false))
})
