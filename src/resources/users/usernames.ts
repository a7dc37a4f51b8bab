/** Usernames (docs/contract.md#users): formats, normalization and hashing, and the email address of a user. */
import { invalidField } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { hmac } from '../../platform/crypto/secrets.js'
import type { Issuer, User } from '../../platform/postgres/database.js'
import type { UsernameType } from './user.js'

const usernameFormats: Record<UsernameType, { pattern: RegExp; message: string }> = {
  email: {
    pattern: /^[^\s@"<>(),:;\\[\]]{1,64}@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i,
    message: 'must be an email address.',
  },
  phone: { pattern: /^\+[1-9]\d{6,14}$/, message: 'must be a phone number in E.164 form such as +4915112345678.' },
  unique: {
    pattern: /^[^\s\p{Cc}\p{Cf}]{1,128}$/u,
    message: 'must have 1 to 128 characters without spaces, control characters or invisible format characters.',
  },
}

/** Checks the format of a username. @throws invalid_request */
export function checkUsername(type: UsernameType, username: string): void {
  const { pattern, message } = usernameFormats[type]
  if (username.length > 254 || !pattern.test(username)) throw invalidField('username', 'invalid_format', message)
}

/**
 * Returns the normalized username, for comparison and hashing: trimmed, NFKC, lower case
 * (docs/contract.md#common-field-rules).
 */
export const usernameKeyOf = (username: string): string => username.trim().normalize('NFKC').toLowerCase()

/** Returns all columns of a username. */
export function usernameColumns(context: Context, issuer: Issuer, usernameType: UsernameType, username: string) {
  const usernameKey = usernameKeyOf(username)
  return {
    usernameType,
    username: username.trim(),
    usernameKey,
    usernameHash: hashUsername(context, issuer, usernameKey),
  }
}

/**
 * Returns the hashed username for lists (docs/contract.md#common-field-rules): `sha256:` and an HMAC with the issuer's
 * key.
 */
export function hashUsername(context: Context, issuer: Issuer, usernameKey: string): string {
  return `sha256:${hmac(Buffer.from(context.encryptor.decrypt(issuer.usernameKey), 'base64'), usernameKey)}`
}

/** Returns whether a text has the form of an email address. */
export const isEmail = (text: string): boolean => text.length <= 254 && usernameFormats.email.pattern.test(text)

type EmailSource = Pick<User, 'usernameType' | 'username' | 'profile'>

/**
 * Returns the email address of a user without checking its form: the username or the claim `email` of the profile. Must
 * agree with `emailAddressSql`.
 */
export const rawEmailOf = ({ usernameType, username, profile }: EmailSource): unknown =>
  usernameType === 'email' ? username : (profile as { email?: unknown }).email

/** Returns the email address of a user; null if the user has none or if its form is invalid. */
export function emailOf(user: EmailSource): string | null {
  const email = rawEmailOf(user)
  return typeof email === 'string' && isEmail(email) ? email : null
}
