/** Passwords (spec 2.7, decisions D9, D13): one per user, and temporary ones that must be changed at sign-in. */
import { z } from 'zod'
import { invalidField } from '../../kernel/errors.js'
import { rules } from '../../kernel/input.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { Verifier } from '../../platform/database.js'
import { hashPassword } from '../../platform/secrets.js'
import { described, insertVerifier, kindOf, name, type Owner } from './kind.js'
import { checkPassword, passwordPolicyOf } from './password-policy.js'

/** A temporary password lives this long at most (decisions D13). */
export const TEMPORARY_LIFE = 7 * DAY

/** What a new password looks like on the wire; the policy decides the rest. */
export const passwordRule = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(1024, 'must have at most 1,024 characters.')

export const password = kindOf({
  rules: z.strictObject({
    type: z.literal('password'),
    name,
    ...described,
    password: passwordRule,
    mustChange: rules.boolean.optional(),
    expiresAt: rules.moment.nullable().optional(),
  }),
  async prepare(context, owner, values) {
    const hash = await checkedHash(context, owner, values.password)
    return (inside) =>
      insertVerifier(inside, owner, values, {
        type: 'password',
        name: values.name,
        hash,
        secretSetAt: inside.now(),
        mustChange: values.mustChange ?? false,
        expiresAt: values.expiresAt ?? null,
      })
  },
})

export const temporaryPassword = kindOf({
  rules: z.strictObject({
    type: z.literal('temporary_password'),
    // Unlike that of a password it may not be null (spec 2.7).
    name: rules.name,
    ...described,
    password: passwordRule,
    expiresAt: rules.moment,
    createdBy: rules.text(200).nullable().optional(),
  }),
  async prepare(context, owner, values) {
    const now = context.now()
    if (values.expiresAt <= now || values.expiresAt > now + TEMPORARY_LIFE) {
      throw invalidField('expiresAt', 'out_of_range', 'must lie in the future, at most 7 days from now.')
    }
    const hash = await checkedHash(context, owner, values.password)
    return (inside) =>
      insertVerifier(inside, owner, values, {
        type: 'temporary_password',
        name: values.name,
        hash,
        secretSetAt: inside.now(),
        mustChange: true,
        expiresAt: values.expiresAt,
        createdBy: values.createdBy ?? null,
      })
  },
})

async function checkedHash(context: Context, owner: Owner, text: string): Promise<string> {
  await checkPassword(context, passwordPolicyOf(owner.issuer), text, owner)
  return hashPassword(text)
}

/** The columns of a newly set password, after the policy has agreed. @throws invalid_request */
export async function newSecret(context: Context, owner: Owner, verifier: Verifier, text: string) {
  const policy = passwordPolicyOf(owner.issuer)
  const hashes = [...(verifier.hash ? [verifier.hash] : []), ...verifier.previousHashes]
  const previousHashes = hashes.slice(0, policy.history)
  await checkPassword(context, policy, text, { ...owner, previousHashes })
  return { hash: await hashPassword(text), previousHashes, secretSetAt: context.now(), mustChange: false }
}
