/** Secrets of API keys and clients: SHA-256 only, the old one good for 15 minutes after a rotation (spec 5.1 rule 3). */
import { invalidField } from '../../kernel/errors.js'
import { MINUTE } from '../../kernel/time.js'
import { randomSecret, sameHash, sha256 } from '../../platform/secrets.js'

/** One secret in force. Times in milliseconds; the current one has no `expires_at`. */
export interface StoredSecret {
  hash: string
  expires_at: number | null
  /** Absent of API keys older than this member. */
  created_at?: number
}

export const OVERLAP = 15 * MINUTE

/**
 * The secret to use: the caller's own if it is 32 to 256 printable characters, else a new random one.
 * @throws invalid_request naming `field`
 */
export function chosenSecret(field: string, own: string | null | undefined): string {
  if (own === undefined || own === null) return randomSecret()
  if (!/^[\x21-\x7e]{32,256}$/.test(own)) {
    throw invalidField(field, 'invalid_format', 'must have 32 to 256 printable ASCII characters without spaces.')
  }
  return own
}

/** The list for a first secret. */
export const firstSecret = (secret: string, now: number): StoredSecret[] => [
  { hash: sha256(secret), expires_at: null, created_at: now },
]

/** The list after a rotation: the new one current, each old one good for its remaining overlap. */
export function rotated(secrets: StoredSecret[], secret: string, now: number): StoredSecret[] {
  const old = secrets
    .filter((entry) => entry.expires_at === null || entry.expires_at > now)
    .map((entry) => ({ ...entry, expires_at: entry.expires_at ?? now + OVERLAP }))
  return [...firstSecret(secret, now), ...old]
}

/** Is this one of the secrets in force? Compares in constant time. */
export function fits(secrets: readonly StoredSecret[], secret: string, now: number): boolean {
  const hash = sha256(secret)
  let found = false
  for (const entry of secrets) {
    if (sameHash(entry.hash, hash) && (entry.expires_at === null || entry.expires_at > now)) found = true
  }
  return found
}
