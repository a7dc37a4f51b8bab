import { expect, test } from '@jest/globals'
import { redirectAllowed } from '../../src/idp/redirects.js'

const registered = [
  'https://app.example.com/cb',
  'https://app.example.com/cb?tenant=1',
  'http://127.0.0.1:3000/cb',
  'http://localhost/cb?x=1',
  'http://[::1]:8080/',
  'com.example.app:/cb',
]

/** [requested, may a native public client use it, may any other] */
const table: [string, boolean, boolean][] = [
  ['https://app.example.com/cb', true, true],
  ['https://app.example.com/cb?tenant=1', true, true],
  ['com.example.app:/cb', true, true],
  ['http://127.0.0.1:3000/cb', true, true],
  // The port of a loopback callback is the native application's to choose.
  ['http://127.0.0.1:49152/cb', true, false],
  ['http://127.0.0.1/cb', true, false],
  ['http://localhost:1/cb?x=1', true, false],
  ['http://[::1]/', true, false],
  // Nothing else is.
  ['http://127.0.0.1:49152/cb/', false, false],
  ['http://127.0.0.1:49152/CB', false, false],
  ['http://127.0.0.1:49152/cb?x=1', false, false],
  ['http://127.0.0.1:49152/cb#f', false, false],
  ['http://localhost:3000/cb', false, false],
  ['http://localhost:49152/cb?x=2', false, false],
  ['http://LOCALHOST:49152/cb?x=1', false, false],
  ['https://localhost:49152/cb?x=1', false, false],
  ['http://127.0.0.1:99999/cb', false, false],
  ['http://127.0.0.1:080/cb', false, false],
  ['http://127.0.0.1:/cb', false, false],
  ['http://127.0.0.1:3000@evil.example/cb', false, false],
  ['http://user@127.0.0.1:3000/cb', false, false],
  ['http://127.0.0.1.evil.example:3000/cb', false, false],
  ['http://127.1:3000/cb', false, false],
  ['http://2130706433:3000/cb', false, false],
  ['http://[::ffff:127.0.0.1]:8080/', false, false],
  ['http://[0:0:0:0:0:0:0:1]:8080/', false, false],
  ['http:/\\127.0.0.1:3000/cb', false, false],
  ['http://127.0.0.1:3000\\cb', false, false],
  ['https://app.example.com:443/cb', false, false],
  ['https://app.example.com:8443/cb', false, false],
  ['https://APP.example.com/cb', false, false],
  ['https://app.example.com/cb/', false, false],
  ['https://app.example.com/./cb', false, false],
  ['https://app.example.com/x/../cb', false, false],
  ['https://app.example.com/cb?', false, false],
  ['https://app.example.com/cb#', false, false],
  ['https://app.example.com/cb ', false, false],
  [' https://app.example.com/cb', false, false],
  ['https://app.example.com/c%62', false, false],
  ['https://app.example.com.evil.example/cb', false, false],
  ['https://app.example.com@evil.example/cb', false, false],
  ['//app.example.com/cb', false, false],
  ['javascript:alert(1)', false, false],
  ['com.example.app:/other', false, false],
  ['', false, false],
]

test.each(table)('4.17 redirect rule: %s', (requested, native, other) => {
  expect(redirectAllowed(registered, requested, true)).toBe(native)
  expect(redirectAllowed(registered, requested, false)).toBe(other)
})
