/** The redirect URI rules of an issuer (docs/contract.md#redirect-uri-rules-of-an-issuer). */
import { describe, expect, test } from '@jest/globals'
import {
  type RedirectUriRules,
  redirectUriRulesSchema,
  violatedRule,
} from '../../src/resources/clients/redirect-uri-rules.js'

const refusedBy = (rules: RedirectUriRules | undefined, uri: string) => violatedRule(rules, uri)?.rule

describe('the rule that rejects a URI', () => {
  const hosts = (...allowed_hosts: string[]) => ({ allowed_hosts })
  const APP = 'https://app.example.com/cb'
  const NATIVE = 'com.example.app:/cb'
  test.each<[RedirectUriRules | undefined, string, keyof RedirectUriRules | undefined]>([
    // Without rules, only docs/contract.md#redirect-uri-registration applies.
    [undefined, APP, undefined],
    [undefined, 'http://127.0.0.1/cb', undefined],
    [undefined, NATIVE, undefined],
    [{}, 'http://localhost:3000/cb', undefined],
    [{ allow_loopback: true, allow_private_use_schemes: true, allowed_hosts: null }, NATIVE, undefined],
    // allow_loopback applies to the three loopback hosts, with http and https.
    [{ allow_loopback: false }, 'http://127.0.0.1/cb', 'allow_loopback'],
    [{ allow_loopback: false }, 'http://[::1]:8080/cb', 'allow_loopback'],
    [{ allow_loopback: false }, 'http://localhost:3000/cb?x=1', 'allow_loopback'],
    [{ allow_loopback: false }, 'https://localhost/cb', 'allow_loopback'],
    [{ allow_loopback: false }, APP, undefined],
    [{ allow_loopback: false }, 'https://localhost.example.com/cb', undefined],
    [{ allow_loopback: false }, NATIVE, undefined],
    // allow_private_use_schemes applies to all schemes except http and https.
    [{ allow_private_use_schemes: false }, NATIVE, 'allow_private_use_schemes'],
    [{ allow_private_use_schemes: false }, 'com.example.app://callback', 'allow_private_use_schemes'],
    [{ allow_private_use_schemes: false }, 'http://127.0.0.1/cb', undefined],
    [{ allow_private_use_schemes: false }, APP, undefined],
    // allowed_hosts requires the exact host and allows any port.
    [hosts('app.example.com'), APP, undefined],
    [hosts('app.example.com'), 'https://app.example.com:8443/cb', undefined],
    [hosts('app.example.com'), 'https://example.com/cb', 'allowed_hosts'],
    [hosts('app.example.com'), 'https://x.app.example.com/cb', 'allowed_hosts'],
    [hosts('app.example.com'), 'https://app.example.com.evil.example/cb', 'allowed_hosts'],
    [hosts('app.example.com'), 'https://evil.example/app.example.com', 'allowed_hosts'],
    [hosts('app.example.com'), 'https://app.example.com./cb', 'allowed_hosts'],
    [hosts('a.example', 'app.example.com'), APP, undefined],
    // The rule and the URI are compared in lowercase and with A-labels (RFC 5890).
    [hosts('App.EXAMPLE.com'), APP, undefined],
    [hosts('bücher.example'), 'https://xn--bcher-kva.example/cb', undefined],
    [hosts('*.Bücher.example'), 'https://www.xn--bcher-kva.example/cb', undefined],
    // `*` matches one label.
    [hosts('*.example.com'), APP, undefined],
    [hosts('*.example.com'), 'https://a.b.example.com/cb', 'allowed_hosts'],
    [hosts('*.example.com'), 'https://example.com/cb', 'allowed_hosts'],
    [hosts('*.example.com'), 'https://evilexample.com/cb', 'allowed_hosts'],
    [hosts('*.example.com'), 'https://app.example.com.evil.example/cb', 'allowed_hosts'],
    // IP addresses are allowed as hosts.
    [hosts('203.0.113.5'), 'https://203.0.113.5/cb', undefined],
    [hosts('[2001:DB8::1]'), 'https://[2001:db8::1]:8443/cb', undefined],
    // allowed_hosts does not apply to loopback hosts and private-use schemes.
    [hosts('a.example'), 'http://127.0.0.1/cb', undefined],
    [hosts('a.example'), NATIVE, undefined],
    // An empty list, which validation refuses, would allow no host.
    [hosts(), APP, 'allowed_hosts'],
    [{ allow_loopback: false, allow_private_use_schemes: false, allowed_hosts: ['app.example.com'] }, APP, undefined],
  ])('with %j, %s violates %s', (rules, uri, rule) => expect(refusedBy(rules, uri)).toBe(rule))
})

describe('validation of the rules', () => {
  const isAccepted = (value: unknown) => redirectUriRulesSchema.safeParse(value).success
  test.each<[unknown]>([
    [{}],
    [{ allowed_hosts: null }],
    [{ allow_loopback: false, allow_private_use_schemes: false, allowed_hosts: ['a.example', '*.b.example'] }],
  ])('%j is accepted', (value) => expect(isAccepted(value)).toBe(true))
  test.each<[unknown]>([
    [null],
    [[]],
    ['app.example.com'],
    [{ allow_loopback: 'no' }],
    [{ allow_loopback: null }],
    [{ allow_private_use_schemes: 0 }],
    // An empty list would refuse all hosts. Null allows all hosts.
    [{ allowed_hosts: [] }],
    [{ allowed_hosts: 'app.example.com' }],
    [{ allowed_hosts: {} }],
    [{ allowed_hosts: [1] }],
    [{ allow_http: true }],
    [{ allowed_hosts: Array.from({ length: 101 }, (_, i) => `a${i}.example`) }],
    ...[
      '',
      '*',
      '*.',
      '*.*.example.com',
      'a.*.example.com',
      'app*.example.com',
      '*example.com',
      'https://app.example.com',
      'app.example.com/cb',
      'app.example.com:443',
      'app.example.com:',
      '[::2]:443',
      'user@app.example.com',
      'app.example.com?x',
      'app.example.com#x',
      'app example.com',
      'app.example.com\\',
      'app.%65xample.com',
      'xn--.example',
      '*.203.0.113.5',
      '*.[2001:db8::1]',
      // Loopback hosts are governed by allow_loopback.
      'localhost',
      'LOCALHOST',
      '127.0.0.1',
      '127.1',
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
    ].map((host): [unknown] => [{ allowed_hosts: [host] }]),
  ])('%j is refused', (value) => expect(isAccepted(value)).toBe(false))
})
