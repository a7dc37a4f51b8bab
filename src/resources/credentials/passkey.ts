/**
 * Passkeys (WebAuthn level 3, spec 2.7, decisions D13). Registered in two ways: by the public key, for callers who ran
 * the ceremony themselves, and by the browser's answer to a challenge of ours, which is checked here.
 */
import { z } from 'zod'
import { conflict, invalid, invalidField } from '../../kernel/errors.js'
import { rules } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type User, type Verifier } from '../../platform/database.js'
import { algorithmOf, passkeyAlgorithms } from './cose.js'
import { base64url, described, insertVerifier, kindOf, name } from './kind.js'
import { answeredChallenge } from './passkey-challenge.js'

/** What is kept of a passkey besides its credential id and count. */
export interface PasskeyFacts {
  /** COSE_Key in base64url. */
  public_key: string
  algorithm: number
  transports: string[]
  aaguid: string | null
  rp_id: string | null
  /** May it be, and is it, copied to other devices? Null when not said. */
  backup_eligible: boolean | null
  backup_state: boolean | null
}

/** A passkey about to be kept. */
export interface NewPasskey extends PasskeyFacts {
  credential_id: string
  sign_count: number
}

const transports = z
  .array(z.string('must be a string.').regex(/^[a-z-]{1,32}$/, 'must be a transport such as internal.'))
  .max(10, 'must have at most 10 entries.')

const keyFields = {
  credentialId: base64url(1023).optional(),
  publicKey: base64url(2048).optional(),
  algorithm: z.int('must be a whole number.').optional(),
  signCount: z.int('must be a whole number.').min(0, 'must not be negative.').optional(),
  transports: transports.nullable().optional(),
  aaguid: z
    .string('must be a string.')
    .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be a UUID.')
    .nullable()
    .optional(),
  rpId: z
    .string('must be a string.')
    .max(253, 'must have at most 253 characters.')
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a host name in lower case.')
    .nullable()
    .optional(),
  backupEligible: rules.boolean.nullable().optional(),
  backupState: rules.boolean.nullable().optional(),
}
const ceremonyFields = { credential: rules.object.optional(), challengeId: rules.text(64).optional() }

const passkeyRules = z.strictObject({
  type: z.literal('passkey'),
  name: name.optional(),
  ...described,
  ...keyFields,
  ...ceremonyFields,
})
type Values = z.infer<typeof passkeyRules>

export const passkey = kindOf({
  rules: passkeyRules,
  async prepare(context, owner, values) {
    const { accountId, issuerId, id: userId } = owner
    const made = isCeremony(values)
      ? await answeredChallenge(context, { accountId, issuerId, userId }, values.challengeId, values.credential)
      : await byPublicKey(values)
    return (inside) => keepPasskey(inside, owner, made, values)
  },
})

/**
 * Gives a user this passkey. Call it in a transaction.
 * @throws conflict when somebody in the issuer has it already
 */
export async function keepPasskey(
  inside: Context,
  owner: Pick<User, 'accountId' | 'issuerId' | 'id'>,
  made: NewPasskey,
  given: Parameters<typeof insertVerifier>[2] & { name?: string | null | undefined } = {},
): Promise<Verifier> {
  const { credential_id, sign_count, ...data } = made
  const columns = { type: 'passkey', name: given.name ?? null, credentialId: credential_id, signCount: sign_count }
  try {
    return await insertVerifier(inside, owner, given, { ...columns, data: { ...data } })
  } catch (error) {
    if (isDuplicate(error)) throw conflict('A passkey with this credential id is registered in this issuer already.')
    throw error
  }
}

/** Which of the two ways this body goes. @throws invalid_request when it goes both, or one of them half */
function isCeremony(values: Values): values is Values & { credential: object; challengeId: string } {
  const given = (fields: object) => Object.keys(fields).filter((key) => values[key as keyof Values] !== undefined)
  const ceremony = given(ceremonyFields).length > 0
  if (ceremony) {
    const mixed = given(keyFields)
    const message = 'goes not together with credential, which holds it.'
    if (mixed.length > 0) throw invalid(mixed.map((field) => ({ field, code: 'contradiction', message })))
  }
  const needed = ceremony ? (['credential', 'challengeId'] as const) : (['credentialId', 'publicKey'] as const)
  const missing = needed.filter((field) => values[field] === undefined)
  if (missing.length > 0) throw invalid(missing.map((field) => ({ field, code: 'required', message: 'is required.' })))
  return ceremony
}

async function byPublicKey(values: Values): Promise<NewPasskey> {
  const publicKey = values.publicKey ?? ''
  const algorithm = await algorithmOf(Buffer.from(publicKey, 'base64url'))
  if (algorithm === undefined) {
    const message = `must be a COSE_Key of one of the algorithms ${passkeyAlgorithms.join(', ')}.`
    throw invalidField('publicKey', 'invalid_key', message)
  }
  if (values.algorithm !== undefined && values.algorithm !== algorithm) {
    throw invalidField('algorithm', 'contradiction', `must be the algorithm of the key, ${algorithm}.`)
  }
  if (values.backupState && values.backupEligible === false) {
    throw invalidField('backupState', 'contradiction', 'must not be true for a passkey that cannot be backed up.')
  }
  return {
    credential_id: values.credentialId ?? '',
    public_key: publicKey,
    algorithm,
    sign_count: values.signCount ?? 0,
    transports: values.transports ?? [],
    aaguid: values.aaguid?.toLowerCase() ?? null,
    rp_id: values.rpId ?? null,
    backup_eligible: values.backupEligible ?? null,
    backup_state: values.backupState ?? null,
  }
}
