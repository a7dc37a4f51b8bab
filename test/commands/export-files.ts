/**
 * Creates export files in the formats of other products, and returns the password of each hash. No code of src/ creates
 * the hashes.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto'
import argon2 from 'argon2'
import bcrypt from 'bcrypt'

export interface ExportedUser {
  username: string
  password: string
  /** Matches the hash that Gatehouse stores until the first sign-in. */
  hashPattern: RegExp
}

export interface ExportFile {
  /** The product, as in `users import --from`. */
  source: string
  text: string
  /** Users of the file who can sign in with a password. */
  users: ExportedUser[]
}

const PASSWORD = 'Tr0ub4dor & 3 – ñandú'
const exportedUser = (username: string, kind: RegExp, password = PASSWORD): ExportedUser => ({
  username,
  hashPattern: kind,
  password,
})
const phc = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

/** Creates an indented Keycloak realm export: an object in which other keys precede and follow `users`. */
export async function keycloakRealm(): Promise<ExportFile & { totpSecret: string }> {
  const salt = randomBytes(16)
  const credential = (secretData: object, credentialData: object, more: object = {}) => ({
    id: 'c',
    type: 'password',
    createdDate: 1_700_000_000_000,
    ...more,
    secretData: JSON.stringify(secretData),
    credentialData: JSON.stringify(credentialData),
  })
  const pbkdf2 = (algorithm: string, digest: string, hashIterations: number, length: number) =>
    credential(
      {
        value: pbkdf2Sync(PASSWORD, salt, hashIterations, length, digest).toString('base64'),
        salt: salt.toString('base64'),
        additionalParameters: {},
      },
      { hashIterations, algorithm, additionalParameters: {} },
    )
  const argon = async (type: 0 | 1 | 2, name: string) =>
    credential(
      {
        value: (
          await argon2.hash(PASSWORD, { raw: true, salt, type, memoryCost: 7168, timeCost: 5, parallelism: 1 })
        ).toString('base64'),
        salt: salt.toString('base64'),
        additionalParameters: {},
      },
      {
        hashIterations: 5,
        algorithm: 'argon2',
        additionalParameters: {
          hashLength: ['32'],
          memory: ['7168'],
          type: [name],
          version: ['1.3'],
          parallelism: ['1'],
        },
      },
    )
  const totpSecret = 'Vq2S1DPpEqU7rhR1mMcB'
  const otp = credential(
    { value: totpSecret },
    { subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' },
    { type: 'otp', userLabel: 'phone' },
  )
  const user = (username: string, credentials: object[], more: object = {}) => ({
    id: `kc-${username}`,
    createdTimestamp: 1_600_000_000_000,
    username,
    enabled: true,
    totp: false,
    emailVerified: true,
    firstName: 'Kim',
    lastName: 'Keys',
    email: `${username}@kc.example.com`,
    attributes: { locale: ['de'], department: ['R&D', 'Ops'] },
    credentials,
    requiredActions: [],
    realmRoles: ['default-roles-acme'],
    groups: [],
    ...more,
  })
  const users = [
    user('sha1', [pbkdf2('pbkdf2', 'sha1', 20_000, 64)]),
    user('sha256', [pbkdf2('pbkdf2-sha256', 'sha256', 27_500, 64)]),
    user('sha512', [pbkdf2('pbkdf2-sha512', 'sha512', 21_000, 64)]),
    user('argon2id', [await argon(2, 'id')]),
    user('argon2i', [await argon(1, 'i')]),
    user('argon2d', [await argon(0, 'd')]),
    user('codes', [pbkdf2('pbkdf2-sha256', 'sha256', 27_500, 64), otp]),
    user('gone', [pbkdf2('pbkdf2-sha256', 'sha256', 27_500, 64)], { enabled: false }),
    user('service-account-x', [], { serviceAccountClientId: 'x' }),
    user('key', [{ id: 'w', type: 'webauthn', secretData: '{}', credentialData: '{}' }]),
  ]
  const realm = {
    id: 'acme',
    realm: 'acme',
    roles: { realm: [{ name: 'users', composite: false }] },
    users,
    clients: [{ clientId: 'app' }],
  }
  const at = (name: string) => `${name}@kc.example.com`
  return {
    source: 'keycloak',
    text: JSON.stringify(realm, null, 2),
    users: [
      exportedUser(at('sha1'), /^\$pbkdf2-sha1\$i=20000\$/),
      exportedUser(at('sha256'), /^\$pbkdf2-sha256\$i=27500\$/),
      exportedUser(at('sha512'), /^\$pbkdf2-sha512\$/),
      exportedUser(at('argon2id'), /^\$argon2id\$v=19\$m=7168,t=5,p=1\$/),
      exportedUser(at('argon2i'), /^\$argon2i\$/),
      exportedUser(at('argon2d'), /^\$argon2d\$/),
    ],
    totpSecret,
  }
}

/** Creates an Auth0 bulk import file: an array of users with all hash algorithms of Auth0's schema. */
export async function auth0Array(): Promise<ExportFile> {
  const salt = randomBytes(12)
  const bytes = (...parts: (Buffer | string)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const digest = (name: string, ...parts: (Buffer | string)[]) =>
    createHash(name)
      .update(bytes(...parts))
      .digest('hex')
  const custom = (algorithm: string, hash: object, more: object = {}) => ({
    custom_password_hash: { algorithm, hash, ...more },
  })
  const salted = (position: string) => ({ salt: { value: salt.toString('base64'), encoding: 'base64', position } })
  const rows: [string, object, RegExp][] = [
    ['bcrypt', { password_hash: bcrypt.hashSync(PASSWORD, 10) }, /^\$2b\$10\$/],
    ['bcrypt-2y', { passwordHash: bcrypt.hashSync(PASSWORD, 6).replace('$2b$', '$2y$') }, /^\$2y\$06\$/],
    [
      'argon2',
      custom('argon2', { value: await argon2.hash(PASSWORD, { memoryCost: 4096, timeCost: 3 }), encoding: 'utf8' }),
      /^\$argon2id\$/,
    ],
    ['md5', custom('md5', { value: digest('md5', PASSWORD), encoding: 'hex' }), /^\$digest-md5\$s=prefix\$\$/],
    [
      'sha1',
      custom('sha1', { value: digest('sha1', salt, PASSWORD), encoding: 'hex' }, salted('prefix')),
      /^\$digest-sha1\$/,
    ],
    [
      'sha256',
      custom('sha256', { value: digest('sha256', PASSWORD, salt), encoding: 'hex' }, salted('suffix')),
      /^\$digest-sha256\$s=suffix/,
    ],
    [
      'sha512',
      custom(
        'sha512',
        { value: createHash('sha512').update(Buffer.from(PASSWORD, 'utf16le')).digest('base64'), encoding: 'base64' },
        { password: { encoding: 'utf16le' } },
      ),
      /^\$digest-sha512\$s=prefix,e=utf16le\$/,
    ],
    [
      'hmac',
      custom('hmac', {
        value: createHmac('sha256', 'pepper').update(PASSWORD).digest('hex'),
        encoding: 'hex',
        digest: 'sha256',
        key: { value: 'pepper', encoding: 'utf8' },
      }),
      /^\$hmac-sha256\$/,
    ],
    [
      'ldap',
      custom('ldap', {
        value: `{SSHA}${bytes(createHash('sha1').update(bytes(PASSWORD, salt)).digest(), salt).toString('base64')}`,
        encoding: 'utf8',
      }),
      /^\$digest-sha1\$s=suffix/,
    ],
    [
      'pbkdf2',
      custom('pbkdf2', {
        value: `$pbkdf2-sha512$i=12000,l=64$${phc(salt)}$${phc(pbkdf2Sync(PASSWORD, salt, 12_000, 64, 'sha512'))}`,
        encoding: 'utf8',
      }),
      /^\$pbkdf2-sha512\$i=12000,l=64\$/,
    ],
    [
      'scrypt',
      custom(
        'scrypt',
        { value: scryptSync(PASSWORD, salt, 64, { N: 4096, r: 8, p: 2 }).toString('hex'), encoding: 'hex' },
        { ...salted('prefix'), keylen: 64, cost: 4096, blockSize: 8, parallelization: 2 },
      ),
      /^\$scrypt\$ln=12,r=8,p=2\$/,
    ],
  ]
  const users = rows.map(([name, hash], n) => ({
    user_id: `auth0|${n}`,
    email: `${name}@auth0.example.com`,
    email_verified: n % 2 === 0,
    given_name: 'Avery',
    user_metadata: { theme: 'dark' },
    app_metadata: { plan: 'gold' },
    ...hash,
  }))
  return {
    source: 'auth0',
    text: JSON.stringify(users),
    users: rows.map(([name, , kind]) => exportedUser(`${name}@auth0.example.com`, kind)),
  }
}

/** Creates a file with one row of Logto's table `users` per line, with its hash algorithms. */
export async function logtoLines(): Promise<ExportFile> {
  const hex = (name: string) => createHash(name).update(PASSWORD).digest('hex')
  const rows: [string, string, string, RegExp, string?][] = [
    [
      'Argon2i',
      await argon2.hash(PASSWORD, { type: 1, memoryCost: 8192, timeCost: 8, parallelism: 1 }),
      'argon2i',
      /^\$argon2i\$/,
    ],
    ['Bcrypt', bcrypt.hashSync(PASSWORD, 8), 'bcrypt', /^\$2b\$08\$/],
    ['MD5', hex('md5'), 'md5', /^\$digest-md5/],
    ['SHA1', hex('sha1'), 'sha1', /^\$digest-sha1/],
    ['SHA256', hex('sha256'), 'sha256', /^\$digest-sha256/],
    // The example of Logto's documentation.
    [
      'Legacy',
      '["sha256", ["salt123", "@"], "c465f66c6ac481a7a17e9ed5b4e2e7e7288d892f12bf1c95c140901e9a70436e"]',
      'salted',
      /^\$digest-sha256\$s=prefix\$c2FsdDEyMw\$/,
      'password123',
    ],
    [
      'Legacy',
      JSON.stringify([
        'pbkdf2',
        ['salt123', '1000', '20', 'sha512', '@'],
        pbkdf2Sync(PASSWORD, 'salt123', 1000, 20, 'sha512').toString('hex'),
      ]),
      'derived',
      /^\$pbkdf2-sha512\$i=1000\$/,
    ],
  ]
  const lines = rows.map(([method, hash, name], n) => ({
    tenant_id: 'default',
    id: `logto${n}`,
    username: name,
    primary_email: `${name}@logto.example.com`,
    primary_phone: null,
    password_encrypted: hash,
    password_encryption_method: method,
    name: 'Lou Logto',
    profile: {},
    custom_data: { tier: n },
    mfa_verifications: [],
    is_suspended: false,
  }))
  return {
    source: 'logto',
    text: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    users: rows.map(([, , name, kind, password]) => exportedUser(`${name}@logto.example.com`, kind, password)),
  }
}
