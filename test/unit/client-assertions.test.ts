/** The checks of client assertions that do not depend on the client (docs/contract.md#client-assertions). */
import { expect, test } from '@jest/globals'
import { assertionSubject, readAssertion } from '../../src/idp/client/assertions/assertion.js'
import { createClientKey, signAssertion } from '../setup/client-assertions.js'

const ISSUER = 'https://idp.example.com/iss_1'
const isAudience = (audience: string) => audience === ISSUER || audience === `${ISSUER}/token`
const now = Date.now()
const seconds = Math.floor(now / 1000)
const keys = Object.fromEntries(
  ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'].map((alg) => [alg, createClientKey(alg)]),
)

const problemOf = (changes: object, isFapi2: boolean, alg = 'ES256', clientId?: string) => {
  const expected = { clientId, isAudience, isFapi2, now }
  const result = readAssertion(signAssertion(keys[alg]!, 'cli_1', ISSUER, { ...changes }), expected)
  return 'problem' in result ? result.problem : undefined
}

test.each([
  ['ES256', undefined],
  ['EdDSA', undefined],
  ['Ed25519', undefined],
  ['PS256', undefined],
  ['RS256', 'alg of the client assertion must be one of ES256, EdDSA, Ed25519, PS256'],
])('FAPI 2.0 section 5.4.1: the algorithm %s', (alg, problem) => {
  expect(problemOf({}, true, alg)).toBe(problem)
  expect(problemOf({}, false, alg)).toBeUndefined()
})

test('FAPI 2.0 section 5.3.2.1: aud must be a string; other profiles also accept a list', () => {
  const refusal = 'aud of the client assertion must be the issuer identifier'
  expect(problemOf({ aud: [ISSUER] }, true)).toBe(refusal)
  expect(problemOf({ aud: [ISSUER] }, false)).toBeUndefined()
  expect(problemOf({ aud: [ISSUER, `${ISSUER}/token`] }, false)).toBeUndefined()
  expect(problemOf({ aud: [ISSUER, 'https://other.example'] }, false)).toBe(refusal)
  expect(problemOf({ aud: [[ISSUER]] }, false)).toBe(refusal)
})

test.each([
  ['exp', 1, undefined],
  ['exp', 300, undefined],
  ['exp', 302, 'exp of the client assertion must be at most 300 seconds in the future'],
  ['exp', 0, 'the client assertion has expired'],
  ['exp', -1, 'the client assertion has expired'],
  ['iat', 10, undefined],
  ['iat', 30, undefined],
  ['iat', 32, 'iat of the client assertion is in the future'],
  ['iat', -86_400, undefined],
  ['nbf', 30, undefined],
  ['nbf', 32, 'nbf of the client assertion is in the future'],
])('%s %d seconds from now', (claim, offset, problem) => {
  expect(problemOf({ [claim]: seconds + offset }, false)).toBe(problem)
})

test('the result has the jti and the expiry of the assertion', () => {
  const text = signAssertion(keys['ES256']!, 'cli_1', ISSUER, { jti: 'one', exp: seconds + 60 })
  const result = readAssertion(text, { clientId: 'cli_1', isAudience, isFapi2: false, now })
  expect(result).toMatchObject({ id: 'one', expiresAt: (seconds + 60) * 1000 })
})

test('assertionSubject returns sub of signed and unsigned JWTs, and undefined for other texts', () => {
  const text = signAssertion(keys['ES256']!, 'cli_1', ISSUER)
  const [header, claims] = text.split('.')
  expect(assertionSubject(text)).toBe('cli_1')
  expect(assertionSubject(`${header}.${claims}.`)).toBe('cli_1')
  expect(assertionSubject(`${header}.${claims}`)).toBe('cli_1')
  for (const other of ['', 'x', 'x.y', 'x.y.z', `${header}..`, `${header}.bm90IGpzb24.x`, 'a'.repeat(9000)])
    expect(assertionSubject(other)).toBeUndefined()
  expect(assertionSubject(signAssertion(keys['ES256']!, 'cli_1', ISSUER, { sub: 1 }))).toBeUndefined()
})
