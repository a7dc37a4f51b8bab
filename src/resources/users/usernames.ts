/** Usernames (spec 2.6): what each type must look like, and how two are compared. */
import { invalidField } from '../../kernel/errors.js'

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

/** Has this the form of an email address? */
export const isEmail = (text: string): boolean => text.length <= 254 && forms.email.form.test(text)
