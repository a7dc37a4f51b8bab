/** The formats of password hashes: verification, cost limits and rejected formats. */
import { pbkdf2Sync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  hashCost,
  hashFormatOf,
  isWeakHashFormat,
  matchesPasswordHash,
  passwordHashError,
} from '../../src/platform/crypto/password-hashes.js'
import { hashPassword, isCurrentHash, verifyPassword } from '../../src/platform/crypto/secrets.js'

/** Published test vectors: format, password, stored hash. */
const vectors: [string, string, string][] = [
  // crypt_blowfish 1.3, wrapper.c
  ['bcrypt', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt', 'U*U*', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK'],
  // RFC 6070, 4096 iterations
  [
    'pbkdf2',
    'password',
    `$pbkdf2-sha1$i=4096$c2FsdA$${Buffer.from('4b007901b765489abead49d926f721d065a429c1', 'hex').toString('base64').replace('=', '')}`,
  ],
  // RFC 7914 section 12: N 1024, r 8, p 16
  [
    'scrypt',
    'password',
    `$scrypt$ln=10,r=8,p=16$TmFDbA$${Buffer.from('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640', 'hex').toString('base64').replaceAll('=', '')}`,
  ],
  // The Argon2 reference implementation, test.c: 2 passes, 2^16 KiB
  ['argon2', 'password', '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'],
  ['argon2', 'password', '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA'],
  // FIPS 180 and RFC 4231 (case 2)
  [
    'digest',
    'abc',
    `$digest-sha256$s=prefix$$${Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex').toString('base64').replace('=', '')}`,
  ],
  [
    'hmac',
    'what do ya want for nothing?',
    `$hmac-sha256$$${Buffer.from('Jefe').toString('base64').replaceAll('=', '')}$${Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex').toString('base64').replace('=', '')}`,
  ],
]

test.each(vectors)('published test vector: %s of %j', async (kind, password, hash) => {
  expect(hashFormatOf(hash)).toBe(kind)
  expect(passwordHashError(hash)).toBeUndefined()
  expect(await matchesPasswordHash(hash, password)).toBe(true)
  expect(await matchesPasswordHash(hash, `${password} `)).toBe(false)
  expect(await verifyPassword(hash, password)).toBe(true)
})

const salt = 'c2FsdHNhbHQ'
const hash = 'aGFzaGhhc2hoYXNoaGFzaA'

test.each([
  ['$argon2id$v=19$m=1048576,t=1,p=1', /more than 131072 KiB/],
  ['$argon2id$v=19$m=65536,t=100,p=1', /too many iterations/],
  ['$argon2id$v=19$m=19456,t=2,p=64', /parallelism of 1 to 16/],
  ['$argon2id$v=19$m=4,t=2,p=1', /does not allow/],
  ['$pbkdf2-sha256$i=2000001', /1 to 2000000 iterations/],
  ['$pbkdf2-sha256$i=0', /1 to 2000000 iterations/],
  ['$pbkdf2-whirlpool$i=1000', /unknown format/],
  ['$scrypt$ln=20,r=8,p=1', /2\^20/],
  ['$scrypt$ln=14,r=8,p=1000', /2\^20/],
  ['$scrypt$ln=none,r=8,p=1', /unknown format/],
  ['$digest-md4$s=prefix', /unknown format/],
  ['$digest-sha256$s=prefix', /length of a sha256 digest/],
])('%s… is rejected', async (beginning, reason) => {
  const storedHash = `${beginning}$${salt}$${hash}`
  expect(passwordHashError(storedHash)).toMatch(reason)
  expect(await matchesPasswordHash(storedHash, 'x')).toBe(false)
  expect(await verifyPassword(storedHash, 'x')).toBe(false)
})

test.each([
  '$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi',
  '$2x$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi',
  '$1$salt$qJH7.N4xYta3aEG/dfqo/0',
  'correct horse',
  '',
])('%j is not an accepted hash', async (text) => {
  expect(passwordHashError(text)).toBeDefined()
  expect(await matchesPasswordHash(text, 'correct horse')).toBe(false)
})

describe('cost', () => {
  test('of a long PBKDF2 key, the first block is compared', async () => {
    const long = pbkdf2Sync('pw', 'salt', 1000, 512, 'sha256').toString('base64').replaceAll('=', '')
    expect(await matchesPasswordHash(`$pbkdf2-sha256$i=1000$c2FsdA$${long}`, 'pw')).toBe(true)
    expect(await matchesPasswordHash(`$pbkdf2-sha256$i=1000$c2FsdA$${long}`, 'pW')).toBe(false)
  })

  test('hashes with the same parameters have the same cost, and weak formats are known', async () => {
    const [one, other] = [await hashPassword('a'), await hashPassword('b')]
    expect(hashCost(one)).toBe(hashCost(other))
    expect(isCurrentHash(one)).toBe(true)
    const [[, , first], [, , second]] = vectors as [(typeof vectors)[0], (typeof vectors)[0]]
    expect(hashCost(first)).toBe('$2a$05$')
    expect(hashCost(second)).not.toBe(hashCost(first))
    expect(isCurrentHash(first)).toBe(false)
    expect(['digest', 'hmac', 'bcrypt'].map(isWeakHashFormat)).toEqual([true, true, false])
  })
})
