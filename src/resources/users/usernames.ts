/** Usernames (spec 2.6): what each type must look like, how two are compared, and how they are stored and found. */
import { invalidField } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import type { Issuer, User } from '../../platform/database.js'
import { hmac } from '../../platform/secrets.js'

export const usernameTypes = ['email', 'phone', 'unique'] as const
export type UsernameType = (typeof usernameTypes)[number]

const forms: Record<UsernameType, { form: RegExp; message: string }> = {
  email: {
    form: /^[^\s@"<>(),:;\\[\]]{1,64}@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i,
    message: 'must be an email address.',
  },
  phone: { form: /^\+[1-9]\d{6,14}$/, message: 'must be a phone number in E.164 form such as +4915112345678.' },
  unique: { form: /^[^\s\p{Cc}\p{Cf}]{1,128}$/u, message: 'must have 1 to 128 characters without spaces.' },
}

/** @throws invalid_request */
export function checkUsername(type: UsernameType, username: string): void {
  const { form, message } = forms[type]
  if (username.length > 254 || !form.test(username)) throw invalidField('username', 'invalid_format', message)
}

/** The form in which usernames are compared and hashed (decisions D27): NFKC, lower case. */
export const usernameKeyOf = (username: string): string => username.trim().normalize('NFKC').toLowerCase()

/** The columns of a username. */
export function usernameColumns(context: Context, issuer: Issuer, usernameType: UsernameType, username: string) {
  const usernameKey = usernameKeyOf(username)
  return {
    usernameType,
    username: username.trim(),
    usernameKey,
    usernameHash: hashedUsername(context, issuer, usernameKey),
  }
}

/** What lists show instead of the username (decisions D27): `sha256:` and a keyed hash, one key per issuer. */
export function hashedUsername(context: Context, issuer: Issuer, usernameKey: string): string {
  return `sha256:${hmac(Buffer.from(context.sealer.open(issuer.usernameKey), 'base64'), usernameKey)}`
}

/** Has this the form of an email address? */
export const isEmail = (text: string): boolean => text.length <= 254 && forms.email.form.test(text)

type Addressed = Pick<User, 'usernameType' | 'username' | 'profile'>

/** The address that mail of a user goes to, in whatever form it stands in the profile: what `addressSql` says. */
export const addressOf = ({ usernameType, username, profile }: Addressed): unknown =>
  usernameType === 'email' ? username : (profile as { email?: unknown }).email

/** Where mail reaches a user: the username, or else the address of the profile; null without either. */
export function emailOf(user: Addressed): string | null {
  const email = addressOf(user)
  return typeof email === 'string' && isEmail(email) ? email : null
}
