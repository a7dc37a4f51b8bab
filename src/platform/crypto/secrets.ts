/**
 * Handles the three kinds of secrets (docs/contract.md#secret-storage): random secrets are stored as SHA-256 hashes,
 * passwords as Argon2id hashes, and recoverable secrets encrypted with a key that is not in the database.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.js'
import { createPrivateDirectory } from '../directories.js'
import { hashThrottled } from './hashing.js'

/** Returns the SHA-256 hash in lowercase hexadecimal. */
export const sha256 = (text: string): string => hash('sha256', text)

/** Returns the HMAC-SHA256 in lowercase hexadecimal. */
export const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** Creates a secret of 256 random bits in base64url (43 characters). */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

/** Compares two hashes of equal length in constant time. */
export const isSameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Compares two strings of any length in constant time. */
export function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}

/** The prefix of hashes with the current parameters. The index `verifiers_foreign_hash` contains the same prefix. */
const CURRENT_HASH_PREFIX = '$argon2id$v=19$m=19456,t=2,p=1$'

/** Returns false for imported hashes and for hashes with older cost parameters. */
export const isCurrentHash = (hash: string): boolean => hash.startsWith(CURRENT_HASH_PREFIX)

/** Passwords are hashed in Unicode normalization form NFC (docs/contract.md#password-policy). */
const normalizePassword = (password: string): string => password.normalize('NFC')

/** Hashes a password with Argon2id, in PHC format. */
export const hashPassword = (password: string): Promise<string> =>
  hashThrottled({ password: normalizePassword(password) }) as Promise<string>

let dummyHash: Promise<string> | undefined

/**
 * Verifies a password. Without a hash it verifies against a dummy hash and returns false, so that an unknown user takes
 * as long as a wrong password.
 */
export async function verifyPassword(hash: string | null | undefined, password: string): Promise<boolean> {
  dummyHash ??= hashPassword(randomSecret())
  const comparedHash = hash ?? (await dummyHash)
  // Other products hash the password without normalization.
  const typed = isCurrentHash(comparedHash) ? normalizePassword(password) : password
  const isMatch = await hashThrottled({ password: typed, existingHash: comparedHash })
  return isMatch === true && hash !== null && hash !== undefined
}

/**
 * Encrypts secrets that must be readable again (others are hashed) with AES-256-GCM. The ciphertext begins with the key
 * ID, so that keys can be rotated.
 */
export interface Encryptor {
  /** The key IDs, the encryption key first: the first eight hexadecimal digits of the key's SHA-256. */
  readonly keyIds: readonly string[]
  encrypt(plaintext: string): string
  /** @throws Error when no configured key matches */
  decrypt(ciphertext: string): string
  /**
   * Derives one key per configured key for another purpose, in the same order. The keys after the first verify values
   * created before a rotation.
   */
  deriveKeys(purpose: string): Buffer[]
}

/** Creates an encryptor from 32-byte keys: the first one encrypts, all of them decrypt. */
export function createEncryptor(keys: readonly Buffer[]): Encryptor {
  const byId = new Map(keys.map((key) => [createHash('sha256').update(key).digest('hex').slice(0, 8), key]))
  const [[id, primaryKey]] = [...byId] as [[string, Buffer]]
  const deriveKey = (key: Buffer, purpose: string) => createHmac('sha256', key).update(`gatehouse:${purpose}`).digest()
  return {
    keyIds: [...byId.keys()],
    encrypt(plaintext) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', primaryKey, iv)
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      return `${id}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`
    },
    decrypt(ciphertext) {
      const [keyId, data] = ciphertext.split('.')
      const key = byId.get(keyId ?? '')
      if (!key || !data) throw new Error(`No key in SECRET_KEY decrypts a stored secret (key ${keyId}).`)
      const bytes = Buffer.from(data, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    },
    deriveKeys: (purpose) => [...byId.values()].map((key) => deriveKey(key, purpose)),
  }
}

/** Returns the configured keys, or the key in DATA_DIR, which is created at first start. */
export function loadSecretKeys(config: Config): readonly Buffer[] {
  if (config.secretKeys.length > 0) return config.secretKeys
  const file = join(config.dataDir, 'secret.key')
  createPrivateDirectory(config.dataDir)
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return [Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')]
}
