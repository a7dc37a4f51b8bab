/** Loopback hosts (docs/contract.md#request-bodies) and resource indicators (RFC 8707, section 2). */
import { expect, test } from '@jest/globals'
import { isLoopback, isResourceUri } from '../../src/kernel/uri.js'

test.each<[string, boolean]>([
  ['127.0.0.1', true],
  ['[::1]', true],
  ['localhost', true],
  ['LOCALHOST', false],
  ['localhost.', false],
  ['localhost.example.com', false],
  ['127.0.0.2', false],
  ['127.1', false],
  ['127.0.0.1:80', false],
  ['::1', false],
  ['[0:0:0:0:0:0:0:1]', false],
  ['[::ffff:127.0.0.1]', false],
  ['0.0.0.0', false],
  ['', false],
])('%j is a loopback host: %s', (host, expected) => expect(isLoopback(host)).toBe(expected))

test.each<[string, boolean]>([
  ['https://api.example.com', true],
  ['https://api.example.com/', true],
  ['https://api.example.com/orders?tenant=1', true],
  ['http://127.0.0.1:8080/x', true],
  ['HTTPS://api.example.com', true],
  ['urn:example:api', true],
  ['URN:example:api', true],
  ['com.example.app:/x', true],
  ['api://orders', true],
  ['', false],
  ['orders', false],
  ['/orders', false],
  ['//api.example.com', false],
  ['1https://api.example.com', false],
  [':x', false],
  ['https://', false],
  ['https://api.example.com#', false],
  ['https://api.example.com#part', false],
  ['urn:example:api#part', false],
  ['https://api.example.com\\x', false],
  ['https://api.example.com/a b', false],
  [' https://api.example.com', false],
  ['https://api.example.com\n', false],
  ['https://api.example.com/\u0000', false],
  ['https://api.example.com/\u007f', false],
])('%j is a resource indicator: %s', (text, expected) => expect(isResourceUri(text)).toBe(expected))
