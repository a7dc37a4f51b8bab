/**
 * Backup codes (docs/contract.md#verifier-operations): ten single-use codes for users who lose their other second
 * factor. Creating a new set replaces the old one. docs/decisions/0011 says why a keyed hash is sufficient.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { hmac } from '../../platform/crypto/secrets.js'
import { sql, type User, type Verifier } from '../../platform/postgres/database.js'
import { nameRule } from './verifier.js'
import { defineVerifierKind, descriptionFields, insertVerifier } from './verifier-kind.js'
import { recordVerifierRemoval } from './verifier-removal.js'

/** Characters of a code. Each has 5 random bits, so a code has 50. */
const CODE_LENGTH = 10
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

export const backupCodes = defineVerifierKind({
  rules: z.strictObject({ type: z.literal('backup_codes'), name: nameRule.optional(), ...descriptionFields }),
  async prepare(context, owner, values) {
    const codes = generateBackupCodes()
    const save = prepareBackupCodes(context, codes)
    return async (tx) => ({ ...(await save(tx, owner, values)), codesPlain: codes })
  },
})

/** Generates a set of backup codes in plain text. They must be shown once, and only their hashes may be stored. */
export const generateBackupCodes = (): string[] => Array.from({ length: limits.backupCodesPerUser }, generateCode)

/**
 * Hashes backup codes with a new key.
 * @returns a function that replaces the user's backup codes. Call it in a transaction that has locked the user's row
 *   (`lockVerifierOwner`), so that of two concurrent calls the later one replaces the codes of the earlier one.
 */
export function prepareBackupCodes(context: Context, codes: readonly string[]) {
  const key = randomBytes(32)
  const encryptedKey = context.encryptor.encrypt(key.toString('base64'))
  const codeHashes = codes.map((code) => hmac(key, code))
  return async (
    tx: Context,
    owner: Pick<User, 'accountId' | 'issuerId' | 'id'>,
    fields: {
      name?: string | null | undefined
      description?: string | null | undefined
      metadata?: object | null | undefined
    } = {},
  ): Promise<Verifier> => {
    const before = await tx.db.verifier.findFirst({ where: { userId: owner.id, type: 'backup_codes' } })
    if (before) {
      await tx.db.verifier.deleteMany({ where: { id: before.id } })
      await recordVerifierRemoval(tx, [before], 'replaced')
    }
    return insertVerifier(tx, owner, fields, {
      type: 'backup_codes',
      name: fields.name ?? null,
      encryptedSecret: encryptedKey,
      codeHashes,
    })
  }
}

function generateCode(): string {
  // 256 is a multiple of 32, so the five lower bits of a random byte select each character with the same probability.
  return Array.from(randomBytes(CODE_LENGTH), (byte) => alphabet[byte & 31]).join('')
}

/**
 * Returns an entered code in the form in which codes are hashed; undefined if its length is wrong. Lower case, spaces,
 * hyphens, and the letters O, I and L instead of digits are accepted (Crockford base32).
 */
function normalizeCode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, '').toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1')
  return code.length === CODE_LENGTH ? code : undefined
}

const consumeText = `
  UPDATE verifiers SET code_hashes = array_remove(code_hashes, $2), last_used_at = $3::bigint, updated_at = $3::bigint
  WHERE id = $1 AND $2 = ANY(code_hashes) RETURNING id, cardinality(code_hashes) AS left`

/**
 * Checks and consumes a backup code of the user. Call it in the transaction of the sign-in step.
 * @returns the verifier's ID and the number of unused codes; undefined for a wrong or used code, or if the user has no
 *   backup codes
 */
export async function consumeBackupCode(
  context: Context,
  { issuerId, userId }: { issuerId: string; userId: string },
  text: string,
): Promise<{ verifierId: string; left: number } | undefined> {
  const verifier = await context.db.verifier.findFirst({
    where: { issuerId, userId, type: 'backup_codes' },
    select: { id: true, encryptedSecret: true },
  })
  const code = normalizeCode(text)
  if (!verifier?.encryptedSecret || code === undefined) return undefined
  const key = Buffer.from(context.encryptor.decrypt(verifier.encryptedSecret), 'base64')
  const values = [verifier.id, hmac(key, code), context.now()]
  const [used] = await sql<{ id: string; left: number }>(context.db, consumeText, ...values)
  return used && { verifierId: used.id, left: Number(used.left) }
}
