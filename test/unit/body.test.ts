/** Reading and parsing request bodies, for all APIs (docs/contract.md#input-checks). */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, test } from '@jest/globals'
import { ApiError } from '../../src/kernel/errors.js'
import {
  firstFormField,
  formField,
  hasBody,
  parseForm,
  parseJsonBody,
  readBody,
  requireContentType,
} from '../../src/platform/http/body.js'

/** Creates a request whose body arrives in these chunks. */
const requestOf = (chunks: (string | Buffer)[], headers: Record<string, string> = {}): IncomingMessage =>
  Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers }) as unknown as IncomingMessage

async function errorOf(work: () => unknown): Promise<Pick<ApiError, 'code' | 'message'>> {
  try {
    await work()
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('The input was accepted.')
}

describe('readBody', () => {
  test.each<[string, (string | Buffer)[], string]>([
    ['no body', [], ''],
    ['one chunk', ['{"a":1}'], '{"a":1}'],
    ['a character split between two chunks', [Buffer.from([0xc3]), Buffer.from([0xa9])], 'é'],
    ['a byte order mark', ['\ufeff{}'], '{}'],
    ['a second byte order mark', ['\ufeff\ufeff'], '\ufeff'],
    ['exactly the limit', ['x'.repeat(8), 'x'.repeat(8)], 'x'.repeat(16)],
  ])('reads %s', async (_, chunks, text) => expect(await readBody(requestOf(chunks), 16)).toBe(text))

  test.each<[string, (string | Buffer)[], Record<string, string>, string, string]>([
    ['one byte above the limit', ['x'.repeat(17)], {}, 'payload_too_large', 'The body is larger than 16 bytes.'],
    [
      'fewer characters but more bytes than the limit',
      ['é'.repeat(9)],
      {},
      'payload_too_large',
      'The body is larger than 16 bytes.',
    ],
    [
      'a Content-Length above the limit, before a byte is read',
      [],
      { 'content-length': '17' },
      'payload_too_large',
      'The body is larger than 16 bytes.',
    ],
    ['invalid UTF-8', [Buffer.from([0x22, 0xff, 0x22])], {}, 'invalid_request', 'The body is not valid UTF-8.'],
    ['a truncated character', [Buffer.from([0xc3])], {}, 'invalid_request', 'The body is not valid UTF-8.'],
    [
      'a surrogate encoded as UTF-8',
      [Buffer.from([0xed, 0xa0, 0x80])],
      {},
      'invalid_request',
      'The body is not valid UTF-8.',
    ],
    [
      'a Content-Encoding',
      ['x'],
      { 'content-encoding': 'gzip', 'content-length': '1' },
      'unsupported_media_type',
      'The body must be sent without Content-Encoding.',
    ],
  ])('refuses %s', async (_, chunks, headers, code, message) =>
    expect(await errorOf(() => readBody(requestOf(chunks, headers), 16))).toEqual({ code, message }),
  )

  test('refuses a request whose connection is closed before the body is complete', async () => {
    const request = requestOf(['x'])
    const error = errorOf(() => readBody(request, 16))
    request.destroy()
    expect(await error).toMatchObject({ message: 'The connection was closed before the body was complete.' })
  })

  test('accepts Content-Encoding: identity, and any Content-Encoding without a body', async () => {
    const identity = { 'content-encoding': 'identity', 'content-length': '1' }
    expect(await readBody(requestOf(['x'], identity), 16)).toBe('x')
    expect(await readBody(requestOf([], { 'content-encoding': 'gzip', 'content-length': '0' }), 16)).toBe('')
  })
})

test.each<[Record<string, string>, boolean]>([
  [{}, false],
  [{ 'content-length': '0' }, false],
  [{ 'content-length': '1' }, true],
  [{ 'transfer-encoding': 'chunked' }, true],
])('hasBody of %j: %s', (headers, expected) => expect(hasBody(requestOf([], headers))).toBe(expected))

describe('requireContentType', () => {
  test.each<['json' | 'form', string]>([
    ['json', 'application/json'],
    ['json', 'Application/JSON ; charset=utf-8'],
    ['json', 'application/merge-patch+json'],
    ['form', 'application/x-www-form-urlencoded'],
    ['form', 'application/x-www-form-urlencoded;charset=UTF-8'],
  ])('%s accepts %s', (type, contentType) =>
    expect(() => requireContentType(requestOf([], { 'content-type': contentType }), type)).not.toThrow(),
  )

  test.each<['json' | 'form', string | undefined]>([
    ['json', undefined],
    ['json', ''],
    ['json', 'text/plain'],
    ['json', 'application/jsonp'],
    ['json', 'text/plain; application/json'],
    ['json', 'application/x-www-form-urlencoded'],
    ['form', undefined],
    ['form', 'multipart/form-data; boundary=x'],
    ['form', 'application/x-www-form-urlencoded-too'],
    ['form', 'application/json'],
  ])('%s refuses %s', async (type, contentType) => {
    const request = requestOf([], contentType === undefined ? {} : { 'content-type': contentType })
    expect(await errorOf(() => requireContentType(request, type))).toMatchObject({ code: 'unsupported_media_type' })
  })
})

describe('parseJsonBody', () => {
  test('returns the value', () => expect(parseJsonBody('{"a":[1,"x",null]}')).toEqual({ a: [1, 'x', null] }))

  // safe-json.test.ts tests all rules.
  test.each<[string, string]>([
    ['', 'The body is not valid JSON.'],
    ['{"a":1', 'The body is not valid JSON.'],
    ['{"a":"\\u0000"}', 'a contains a NUL character or a lone surrogate.'],
    ['{"a":"\\ud800"}', 'a contains a NUL character or a lone surrogate.'],
    ['{"__proto__":1}', 'The key __proto__ is not allowed.'],
  ])('refuses %s', async (text, message) =>
    expect(await errorOf(() => parseJsonBody(text))).toEqual({ code: 'invalid_request', message }),
  )

  test('the caller can set the message for malformed JSON', async () => {
    expect(await errorOf(() => parseJsonBody('{', 'no JSON'))).toMatchObject({ message: 'no JSON' })
    expect(await errorOf(() => parseJsonBody('"\\u0000"', 'no JSON'))).toMatchObject({
      message: 'The input contains a NUL character or a lone surrogate.',
    })
  })
})

describe('parseForm', () => {
  test.each<[string, Record<string, string | string[]>]>([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=x+y%20z&b=%C3%A9', { a: 'x y z', b: 'é' }],
    ['a&b=&=c', { a: '', b: '', '': 'c' }],
    ['a=1&a=2&a=1', { a: ['1', '2', '1'] }],
    ['a=b=c&&d=e', { a: 'b=c', d: 'e' }],
    ['a=%zz&b=%', { a: '%zz', b: '%' }],
    // An encoded surrogate is invalid UTF-8, so its bytes become replacement characters.
    ['a=%ED%A0%80', { a: '\ufffd\ufffd\ufffd' }],
    ['a=__proto__&b=constructor', { a: '__proto__', b: 'constructor' }],
  ])('parses %j', (text, fields) => expect({ ...parseForm(text) }).toEqual(fields))

  test('parses 3000 parameters', () => {
    const text = Array.from({ length: 3000 }, (_, at) => `p${at}=${at}`).join('&')
    expect(Object.keys(parseForm(text))).toHaveLength(3000)
  })

  test.each<[string, string]>([
    ['a=%00', 'a contains a NUL character or a lone surrogate.'],
    ['a=x&a=y%00', 'a[1] contains a NUL character or a lone surrogate.'],
    ['a\0=x', 'The input has a key with a NUL character or a lone surrogate.'],
    ['a=\ud800', 'a contains a NUL character or a lone surrogate.'],
    ['__proto__=x', 'The key __proto__ is not allowed.'],
    ['constructor=x', 'The key constructor is not allowed.'],
  ])('refuses %j', async (text, message) =>
    expect(await errorOf(() => parseForm(text))).toEqual({ code: 'invalid_request', message }),
  )

  test('for a repeated field, formField returns undefined and firstFormField returns the first value', () => {
    const form = parseForm('once=1&twice=1&twice=2&empty=')
    const names = ['once', 'twice', 'empty', 'absent']
    expect(names.map((name) => formField(form, name))).toEqual(['1', undefined, '', undefined])
    expect(names.map((name) => firstFormField(form, name))).toEqual(['1', '1', '', ''])
  })
})
