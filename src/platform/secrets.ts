/**
 * Secrets in their three kinds (security rule 19): random ones are compared by SHA-256, typed ones hashed with Argon2id
 * on a bounded number of threads, recoverable ones sealed with a key from outside the database.
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
import type { Config } from '../config.js'
import { makeFolder } from './folders.js'
import { hashInTurn } from './hashing.js'

/** SHA-256 in lower-case hexadecimal. */
export const sha256 = (text: string): string => hash('sha256', text)

/** HMAC-SHA256 in lower-case hexadecimal. */
export const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** A new secret of 256 random bits, in base64url (43 characters). */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

/** Are these hashes, of one length, the same? Takes the same time wherever they differ. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Are these texts the same? Takes the same time wherever they differ. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}

/** How hashes of ours begin. The index verifiers_foreign_hash says the same. */
const OURS = '$argon2id$v=19$m=19456,t=2,p=1$'

/** Is this a hash as we make them now? Others came with an import, or from before the cost was raised. */
export const isOurHash = (hash: string): boolean => hash.startsWith(OURS)

/** Passwords are compared in NFC, however they were typed (decisions D9). */
const normal = (password: string): string => password.normalize('NFC')

/** An Argon2id hash in PHC form. */
export const hashPassword = (password: string): Promise<string> =>
  hashInTurn({ password: normal(password) }) as Promise<string>

let dummy: Promise<string> | undefined

/**
 * Does the password fit the hash? Without a hash it works as long and answers false, so that an unknown user takes the
 * same time as a wrong password.
 */
export async function verifyPassword(hash: string | null | undefined, password: string): Promise<boolean> {
  dummy ??= hashPassword(randomSecret())
  const against = hash ?? (await dummy)
  // Other products hash what was typed, whatever its form.
  const typed = isOurHash(against) ? normal(password) : password
  const fits = await hashInTurn({ password: typed, against })
  return fits === true && hash !== null && hash !== undefined
}

/** Encrypts what must be read back: AES-256-GCM, with the id of the key in front, so that keys can rotate. */
export interface Sealer {
  /** What keys go by, the one that seals first: eight hexadecimal digits of their SHA-256. */
  readonly keyIds: readonly string[]
  seal(plain: string): string
  /** @throws Error when no configured key fits */
  open(sealed: string): string
  /**
   * Keys for another purpose, derived from every key, the first one's first: the others know again what was made before a
   * rotation.
   */
  deriveEach(purpose: string): Buffer[]
}

/** Makes the sealer of a list of 32-byte keys: the first one seals, all of them open. */
export function makeSealer(keys: readonly Buffer[]): Sealer {
  const byId = new Map(keys.map((key) => [createHash('sha256').update(key).digest('hex').slice(0, 8), key]))
  const [[id, first]] = [...byId] as [[string, Buffer]]
  const derived = (key: Buffer, purpose: string) => createHmac('sha256', key).update(`gatehouse:${purpose}`).digest()
  return {
    keyIds: [...byId.keys()],
    seal(plain) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', first, iv)
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `${id}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`
    },
    open(sealed) {
      const [keyId, data] = sealed.split('.')
      const key = byId.get(keyId ?? '')
      if (!key || !data) throw new Error(`No SECRET_KEY fits a stored secret (key ${keyId}).`)
      const bytes = Buffer.from(data, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    },
    deriveEach: (purpose) => [...byId.values()].map((key) => derived(key, purpose)),
  }
}

/** The keys of the configuration, or the one kept in DATA_DIR, made there at first start. */
export function secretKeysOf(config: Config): readonly Buffer[] {
  if (config.secretKeys.length > 0) return config.secretKeys
  const file = join(config.dataDir, 'secret.key')
  makeFolder(config.dataDir)
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return [Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')]
}
