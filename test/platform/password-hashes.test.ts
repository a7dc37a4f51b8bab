/** Kinds of stored password hashes: which are known, what each may cost, and that the password decides. */
import { pbkdf2Sync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { costOf, fitsHash, hashFault, isWeakKind, kindOfHash } from '../../src/platform/password-hashes.js'
import { hashPassword, isOurHash, verifyPassword } from '../../src/platform/secrets.js'

/** Vectors that others published: kind, password, stored form. */
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

test.each(vectors)('%s of %j, as others published it', async (kind, password, hash) => {
  expect(kindOfHash(hash)).toBe(kind)
  expect(hashFault(hash)).toBeUndefined()
  expect(await fitsHash(hash, password)).toBe(true)
  expect(await fitsHash(hash, `${password} `)).toBe(false)
  expect(await verifyPassword(hash, password)).toBe(true)
})

const salt = 'c2FsdHNhbHQ'
const hash = 'aGFzaGhhc2hoYXNoaGFzaA'

test.each([
  ['$argon2id$v=19$m=1048576,t=1,p=1', /more than 131072 KiB/],
  ['$argon2id$v=19$m=65536,t=100,p=1', /too many passes/],
  ['$argon2id$v=19$m=19456,t=2,p=64', /1 to 16 lanes/],
  ['$argon2id$v=19$m=4,t=2,p=1', /does not allow/],
  ['$pbkdf2-sha256$i=2000001', /not 1 to 2000000/],
  ['$pbkdf2-sha256$i=0', /not 1 to 2000000/],
  ['$pbkdf2-whirlpool$i=1000', /does not know/],
  ['$scrypt$ln=20,r=8,p=1', /2\^20/],
  ['$scrypt$ln=14,r=8,p=1000', /2\^20/],
  ['$scrypt$ln=none,r=8,p=1', /does not know/],
  ['$digest-md4$s=prefix', /does not know/],
  ['$digest-sha256$s=prefix', /not as long as a sha256/],
])('%s… is refused before anything is computed, and never fits', async (beginning, reason) => {
  const whole = `${beginning}$${salt}$${hash}`
  expect(hashFault(whole)).toMatch(reason)
  expect(await fitsHash(whole, 'x')).toBe(false)
  expect(await verifyPassword(whole, 'x')).toBe(false)
})

test.each([
  '$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi',
  '$2x$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi',
  '$1$salt$qJH7.N4xYta3aEG/dfqo/0',
  'correct horse',
  '',
])('%j is no hash that can be kept', async (text) => {
  expect(hashFault(text)).toBeDefined()
  expect(await fitsHash(text, 'correct horse')).toBe(false)
})

describe('cost', () => {
  test('a long PBKDF2 key costs no more than its first block: that one is compared', async () => {
    const long = pbkdf2Sync('pw', 'salt', 1000, 512, 'sha256').toString('base64').replaceAll('=', '')
    expect(await fitsHash(`$pbkdf2-sha256$i=1000$c2FsdA$${long}`, 'pw')).toBe(true)
    expect(await fitsHash(`$pbkdf2-sha256$i=1000$c2FsdA$${long}`, 'pW')).toBe(false)
  })

  test('hashes of one cost are known to be so, whatever their salt', async () => {
    const [one, other] = [await hashPassword('a'), await hashPassword('b')]
    expect(costOf(one)).toBe(costOf(other))
    expect(isOurHash(one)).toBe(true)
    const [[, , first], [, , second]] = vectors as [(typeof vectors)[0], (typeof vectors)[0]]
    expect(costOf(first)).toBe('$2a$05$')
    expect(costOf(second)).not.toBe(costOf(first))
    expect(isOurHash(first)).toBe(false)
    expect(['digest', 'hmac', 'bcrypt'].map(isWeakKind)).toEqual([true, true, false])
  })
})
