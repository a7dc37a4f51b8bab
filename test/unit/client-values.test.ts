/** Values of clients in the console: string literals in snippets, and values that recent errors offer to add. */
import { describe, expect, test } from '@jest/globals'
import { isAddable } from '../../src/console/pages/clients/addable-values.js'
import { doubleQuotedString, javascriptString, shellWord } from '../../src/console/pages/clients/string-literals.js'

describe('literals keep the value and add no code', () => {
  const values = [
    'https://app.example.com/callback',
    "https://app.example.com/'+alert(1)+'",
    'https://app.example.com/"+alert(1)+"',
    'https://app.example.com/\\',
    'https://app.example.com/\n$(id)`id`',
    "https://app.example.com/$'$&",
  ]
  test.each(values)('JavaScript: %j', (value) => {
    expect(new Function(`return ${javascriptString(value)}`)()).toBe(value)
    expect(JSON.parse(doubleQuotedString(value))).toBe(value)
  })

  test('single quotes are used if nothing needs an escape sequence', () => {
    expect(javascriptString('https://app.example.com/')).toBe("'https://app.example.com/'")
  })

  test.each([
    ['http://localhost:8080/iss_1', 'http://localhost:8080/iss_1'],
    ['a;id', "'a;id'"],
    ["a'$(id)", "'a'\\''$(id)'"],
    ['', "''"],
  ])('shell: %j', (value, word) => expect(shellWord(value)).toBe(word))
})

describe('values that recent errors offer to add', () => {
  const settings = {
    openid: {
      redirect_uris: ['https://app.example.com/callback', 'com.example.app:/callback'],
      post_logout_redirect_uris: ['https://www.example.com:8443/'],
    },
  }
  const redirectUris = 'settings.openid.redirect_uris'
  test.each<[string, string, boolean]>([
    ['settings.scopes', 'orders:read stock:read', true],
    ['settings.scopes', 'svc:all', false],
    ['settings.scopes', 'orders:read issuers.users:read', false],
    ['settings.scopes', 'accounts:manage', false],
    [redirectUris, 'https://app.example.com/signin-oidc', true],
    [redirectUris, 'https://www.example.com:8443/cb', true],
    [redirectUris, 'com.example.app:/cb', true],
    [redirectUris, 'http://localhost:3000/cb', true],
    [redirectUris, 'http://127.0.0.1/cb', true],
    [redirectUris, 'https://evil.example/callback', false],
    [redirectUris, 'https://app.example.com.evil.example/callback', false],
    [redirectUris, 'https://app.example.com@evil.example/callback', false],
    [redirectUris, 'https://app.example.com:444/callback', false],
    [redirectUris, 'http://app.example.com/callback', false],
    [redirectUris, 'com.evil.app:/callback', false],
    [redirectUris, 'javascript://localhost/%0aalert(1)', false],
    [redirectUris, 'no URI', false],
    ['settings.openid.post_logout_redirect_uris', 'https://evil.example/', false],
    ['settings.openid.post_logout_redirect_uris', 'https://app.example.com/', true],
    ['settings.openid.allowed_resources', 'https://api.example', true],
  ])('%s %s: %s', (setting, value, expected) => expect(isAddable(setting, value, settings)).toBe(expected))
})
