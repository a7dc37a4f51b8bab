/**
 * Backup codes (spec 2.7, decisions D13): ten codes for the day when the other factor is lost, each good once. Making
 * them again replaces all of them. Why a keyed hash is enough is told in docs/decisions.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../../platform/context.js'
import { sql, type User, type Verifier } from '../../platform/database.js'
import { hmac } from '../../platform/secrets.js'
import { described, insertVerifier, kindOf, name } from './kind.js'
import { recordRemoval } from './removal.js'

const COUNT = 10
/** 50 random bits each. */
const LENGTH = 10
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

export const backupCodes = kindOf({
  rules: z.strictObject({ type: z.literal('backup_codes'), name: name.optional(), ...described }),
  async prepare(context, owner, values) {
    const codes = newBackupCodes()
    const keep = keepBackupCodes(context, codes)
    return async (inside) => ({ ...(await keep(inside, owner, values)), codesPlain: codes })
  },
})

/** A set of codes, as people are shown them, once. */
export const newBackupCodes = (): string[] => Array.from({ length: COUNT }, newCode)

/**
 * What keeps these codes for a user, in place of those there were. Call the result in a transaction that holds the
 * user's row locked (`lockOwner`), so that of two that come at once the later one replaces the earlier one.
 */
export function keepBackupCodes(context: Context, codes: readonly string[]) {
  const key = randomBytes(32)
  const sealed = context.sealer.seal(key.toString('base64'))
  const codeHashes = codes.map((code) => hmac(key, code))
  return async (
    inside: Context,
    owner: Pick<User, 'accountId' | 'issuerId' | 'id'>,
    given: {
      name?: string | null | undefined
      description?: string | null | undefined
      metadata?: object | null | undefined
    } = {},
  ): Promise<Verifier> => {
    const before = await inside.db.verifier.findFirst({ where: { userId: owner.id, type: 'backup_codes' } })
    if (before) {
      await inside.db.verifier.deleteMany({ where: { id: before.id } })
      await recordRemoval(inside, [before], 'replaced')
    }
    return insertVerifier(inside, owner, given, { type: 'backup_codes', name: given.name ?? null, sealed, codeHashes })
  }
}

/** Each byte gives five bits; 256 is a multiple of 32, so no character is likelier than another. */
function newCode(): string {
  return Array.from(randomBytes(LENGTH), (byte) => alphabet[byte & 31]).join('')
}

/** As people type it: any case, with spaces or hyphens, and the letters that look like digits (Crockford). */
function normalCode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, '').toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1')
  return code.length === LENGTH ? code : undefined
}

const useText = `
  UPDATE verifiers SET code_hashes = array_remove(code_hashes, $2), last_used_at = $3::bigint, updated_at = $3::bigint
  WHERE id = $1 AND $2 = ANY(code_hashes) RETURNING id, cardinality(code_hashes) AS left`

/**
 * Is this one of the user's backup codes that are left? Uses it up in the same statement. Call it in the transaction of
 * the step.
 * @returns the verifier's id and how many codes are left, or undefined
 */
export async function useBackupCode(
  context: Context,
  { issuerId, userId }: { issuerId: string; userId: string },
  text: string,
): Promise<{ verifierId: string; left: number } | undefined> {
  const verifier = await context.db.verifier.findFirst({
    where: { issuerId, userId, type: 'backup_codes' },
    select: { id: true, sealed: true },
  })
  const code = normalCode(text)
  if (!verifier?.sealed || code === undefined) return undefined
  const key = Buffer.from(context.sealer.open(verifier.sealed), 'base64')
  const values = [verifier.id, hmac(key, code), context.now()]
  const [used] = await sql<{ id: string; left: number }>(context.db, useText, ...values)
  return used && { verifierId: used.id, left: Number(used.left) }
}
