/**
 * Secrets of API keys and clients, stored as SHA-256. After a rotation, the old secret is valid for another 15 minutes.
 */
import { invalidField } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { isSameHash, randomSecret, sha256 } from '../../platform/crypto/secrets.js'

/** A stored secret of an API key or client. */
export interface StoredSecret {
  /** SHA-256 of the secret. */
  hash: string
  /** Unix milliseconds; null for the current secret. */
  expires_at: number | null
  /** Unix milliseconds. Missing in secrets of API keys that an older version of Gatehouse created. */
  created_at?: number
}

/**
 * Returns the provided secret if it has 32 to 256 printable ASCII characters, or a new random one if none is provided.
 * @throws invalid_request naming `field`
 */
export function resolveSecret(field: string, provided: string | null | undefined): string {
  if (provided === undefined || provided === null) return randomSecret()
  if (!/^[\x21-\x7e]{32,256}$/.test(provided)) {
    throw invalidField(field, 'invalid_format', 'must have 32 to 256 printable ASCII characters without spaces.')
  }
  return provided
}

/** Returns the stored secrets of a new key or client. */
export const initialSecrets = (secret: string, now: number): StoredSecret[] => [
  { hash: sha256(secret), expires_at: null, created_at: now },
]

/**
 * Returns the stored secrets after a rotation: the new secret, and the old ones that are still valid. The secret that
 * was current expires after `secretRotationOverlap`.
 */
export function rotateSecrets(secrets: StoredSecret[], secret: string, now: number): StoredSecret[] {
  const old = secrets
    .filter((entry) => entry.expires_at === null || entry.expires_at > now)
    .map((entry) => ({ ...entry, expires_at: entry.expires_at ?? now + limits.secretRotationOverlap }))
  return [...initialSecrets(secret, now), ...old]
}

/** Returns whether the secret is one of the stored secrets and has not expired. Compares in constant time. */
export function matchesSecret(secrets: readonly StoredSecret[], secret: string, now: number): boolean {
  const hash = sha256(secret)
  let found = false
  for (const entry of secrets) {
    if (isSameHash(entry.hash, hash) && (entry.expires_at === null || entry.expires_at > now)) found = true
  }
  return found
}
