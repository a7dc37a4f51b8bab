/** Passwords and temporary passwords (docs/contract.md#credentials, docs/contract.md#verifier-operations). */
import { z } from 'zod'
import { invalidField } from '../../kernel/errors.js'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { hashPassword } from '../../platform/crypto/secrets.js'
import type { Verifier } from '../../platform/postgres/database.js'
import { checkNewPassword, passwordPolicyOf } from './password-policy.js'
import { nameRule, passwordRule } from './verifier.js'
import { defineVerifierKind, descriptionFields, insertVerifier, type VerifierOwner } from './verifier-kind.js'

export const password = defineVerifierKind({
  rules: z.strictObject({
    type: z.literal('password'),
    name: nameRule,
    ...descriptionFields,
    password: passwordRule,
    mustChange: fieldSchemas.boolean.optional(),
    expiresAt: fieldSchemas.timestamp.nullable().optional(),
  }),
  async prepare(context, owner, values) {
    const hash = await checkAndHashPassword(context, owner, values.password)
    return (tx) =>
      insertVerifier(tx, owner, values, {
        type: 'password',
        name: values.name,
        hash,
        secretSetAt: tx.now(),
        mustChange: values.mustChange ?? false,
        expiresAt: values.expiresAt ?? null,
      })
  },
})

export const temporaryPassword = defineVerifierKind({
  rules: z.strictObject({
    type: z.literal('temporary_password'),
    // The name of a temporary password cannot be null, unlike that of a password (docs/contract.md#credentials).
    name: fieldSchemas.name,
    ...descriptionFields,
    password: passwordRule,
    expiresAt: fieldSchemas.timestamp,
    createdBy: fieldSchemas.text(limits.maxNameLength).nullable().optional(),
  }),
  async prepare(context, owner, values) {
    const now = context.now()
    if (values.expiresAt <= now || values.expiresAt > now + limits.temporaryPasswordLifetime) {
      throw invalidField(
        'expiresAt',
        'out_of_range',
        `must be in the future and at most ${limits.temporaryPasswordLifetime / DAY} days from now.`,
      )
    }
    const hash = await checkAndHashPassword(context, owner, values.password)
    return (tx) =>
      insertVerifier(tx, owner, values, {
        type: 'temporary_password',
        name: values.name,
        hash,
        secretSetAt: tx.now(),
        mustChange: true,
        expiresAt: values.expiresAt,
        createdBy: values.createdBy ?? null,
      })
  },
})

async function checkAndHashPassword(context: Context, owner: VerifierOwner, text: string): Promise<string> {
  await checkNewPassword(context, passwordPolicyOf(owner.issuer), text, owner)
  return hashPassword(text)
}

/**
 * Checks a new password against the policy of the issuer and hashes it.
 * @param verifier the verifier whose password is replaced
 * @returns the columns to update
 * @throws the errors of `checkNewPassword`
 */
export async function newPasswordColumns(context: Context, owner: VerifierOwner, verifier: Verifier, text: string) {
  const policy = passwordPolicyOf(owner.issuer)
  const hashes = [...(verifier.hash ? [verifier.hash] : []), ...verifier.previousHashes]
  const previousHashes = hashes.slice(0, policy.history)
  await checkNewPassword(context, policy, text, { ...owner, previousHashes })
  return { hash: await hashPassword(text), previousHashes, secretSetAt: context.now(), mustChange: false }
}
