/**
 * Hashing and encryption of the three kinds of secrets (docs/contract.md#secret-storage): random secrets are stored as
 * SHA-256 hashes, passwords as Argon2id hashes (or as imported hashes in other formats), and secrets that Gatehouse
 * must read again are encrypted with a key that is not in the database.
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

/** Compares two hashes in constant time. Returns false at once if their lengths differ. */
export const isSameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Compares two strings of any length. The time does not show how much of them is equal. */
export function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}

/**
 * The prefix of password hashes with the current parameters. The condition of the index `verifiers_foreign_hash`
 * contains the same prefix.
 */
const CURRENT_HASH_PREFIX = '$argon2id$v=19$m=19456,t=2,p=1$'

/** Returns true for a hash with the current algorithm and parameters, even if it was imported. */
export const isCurrentHash = (hash: string): boolean => hash.startsWith(CURRENT_HASH_PREFIX)

/** Returns the password in Unicode normalization form NFC, in which it is hashed (docs/contract.md#password-policy). */
const normalizePassword = (password: string): string => password.normalize('NFC')

/** Returns the Argon2id hash of a password in PHC format. */
export const hashPassword = (password: string): Promise<string> =>
  hashThrottled({ password: normalizePassword(password) }) as Promise<string>

let dummyHash: Promise<string> | undefined

/**
 * Verifies a password. Without a hash it verifies the password against a dummy hash and returns false, so that the
 * response for an unknown user takes as long as for a wrong password.
 */
export async function verifyPassword(hash: string | null | undefined, password: string): Promise<boolean> {
  dummyHash ??= hashPassword(randomSecret())
  const comparedHash = hash ?? (await dummyHash)
  const isMatch = async (typed: string) =>
    (await hashThrottled({ password: typed, existingHash: comparedHash })) === true
  const normalized = normalizePassword(password)
  // Imported hashes can be hashes of the password without normalization.
  const matches = (await isMatch(normalized)) || (normalized !== password && (await isMatch(password)))
  return matches && hash !== null && hash !== undefined
}

/**
 * Encrypts secrets that Gatehouse must read again with AES-256-GCM. A ciphertext begins with the ID of its key, so that
 * keys can be rotated.
 */
export interface Encryptor {
  /**
   * The IDs of the configured keys. The first one is the ID of the key that encrypts. An ID is the first eight
   * hexadecimal digits of the key's SHA-256 hash.
   */
  readonly keyIds: readonly string[]
  encrypt(plaintext: string): string
  /** @throws Error when no configured key can decrypt the ciphertext */
  decrypt(ciphertext: string): string
  /**
   * Derives a key for another purpose, such as an HMAC, from each configured key, in the order of `keyIds`. Create
   * values with the first derived key. The other derived keys verify values that were created before a rotation.
   */
  deriveKeys(purpose: string): Buffer[]
}

/** Creates an encryptor from keys of 32 bytes. The first key encrypts; all keys decrypt. */
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
      if (!key || !data) throw new Error(`No configured key decrypts a stored secret (key ${keyId}).`)
      const bytes = Buffer.from(data, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    },
    deriveKeys: (purpose) => [...byId.values()].map((key) => deriveKey(key, purpose)),
  }
}

/** Returns the keys of SECRET_KEY, or without SECRET_KEY the key in DATA_DIR. Creates that key if it does not exist. */
export function loadSecretKeys(config: Config): readonly Buffer[] {
  if (config.secretKeys.length > 0) return config.secretKeys
  const file = join(config.dataDir, 'secret.key')
  createPrivateDirectory(config.dataDir)
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return [Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')]
}
