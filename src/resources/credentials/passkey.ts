/**
 * Passkeys (WebAuthn level 3, docs/contract.md#verifier-operations). A caller of the API registers a passkey in one of
 * two ways: with the public key, if the caller has verified the registration, or with the browser's response to a
 * challenge from `challengePasskey`, which passkey-challenge.ts verifies.
 */

import { z } from 'zod'
import { conflict, invalidField, invalidFields } from '../../kernel/errors.js'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { type User, type Verifier } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { coseAlgorithmOf, passkeyAlgorithms } from './cose.js'
import { consumePasskeyChallenge } from './passkey-challenge.js'
import type { NewPasskey } from './passkey-data.js'
import { nameRule } from './verifier.js'
import { base64url, defineVerifierKind, descriptionFields, insertVerifier } from './verifier-kind.js'

const transports = z
  .array(z.string('must be a string.').regex(/^[a-z-]{1,32}$/, 'must be a WebAuthn transport such as internal.'))
  .max(limits.maxPasskeyTransports, `must have at most ${limits.maxPasskeyTransports} entries.`)

const keyFields = {
  credentialId: base64url(1023).optional(),
  publicKey: base64url(2048).optional(),
  algorithm: z.int('must be a whole number.').optional(),
  signCount: z
    .int('must be a whole number.')
    .min(0, 'must not be negative.')
    // The largest value of the GraphQL type Int.
    .max(2_147_483_647, 'must be at most 2147483647.')
    .optional(),
  transports: transports.nullable().optional(),
  aaguid: z
    .string('must be a string.')
    .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be a UUID.')
    .nullable()
    .optional(),
  rpId: z
    .string('must be a string.')
    .max(limits.maxHostLength, `must have at most ${limits.maxHostLength} characters.`)
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a host name in lower case.')
    .nullable()
    .optional(),
  backupEligible: fieldSchemas.boolean.nullable().optional(),
  backupState: fieldSchemas.boolean.nullable().optional(),
}
const ceremonyFields = {
  credential: fieldSchemas.object.optional(),
  challengeId: fieldSchemas.text(limits.maxIdLength).optional(),
}

const passkeyRules = z.strictObject({
  type: z.literal('passkey'),
  name: nameRule.optional(),
  ...descriptionFields,
  ...keyFields,
  ...ceremonyFields,
})
type Values = z.infer<typeof passkeyRules>

export const passkey = defineVerifierKind({
  rules: passkeyRules,
  async prepare(context, owner, values) {
    const { accountId, issuerId, id: userId } = owner
    const newPasskey = usesRegistrationResponse(values)
      ? await consumePasskeyChallenge(context, { accountId, issuerId, userId }, values.challengeId, values.credential)
      : await passkeyFromPublicKey(values)
    return (tx) => savePasskey(tx, owner, newPasskey, values)
  },
})

/**
 * Stores a passkey of a user. Call it in a transaction.
 * @param input the name, description and metadata of the passkey
 * @throws conflict if the issuer already has a passkey with this credential id
 */
export async function savePasskey(
  tx: Context,
  owner: Pick<User, 'accountId' | 'issuerId' | 'id'>,
  newPasskey: NewPasskey,
  input: Parameters<typeof insertVerifier>[2] & { name?: string | null | undefined } = {},
): Promise<Verifier> {
  const { credential_id, sign_count, ...data } = newPasskey
  const columns = { type: 'passkey', name: input.name ?? null, credentialId: credential_id, signCount: sign_count }
  try {
    return await insertVerifier(tx, owner, input, { ...columns, data: { ...data } })
  } catch (error) {
    if (isDuplicate(error)) throw conflict('This issuer already has a passkey with this credential id.')
    throw error
  }
}

/**
 * Returns whether the input has a registration response instead of a public key.
 * @throws invalid_request if the input has both, neither, or only a part of one
 */
function usesRegistrationResponse(values: Values): values is Values & { credential: object; challengeId: string } {
  const presentFields = (fields: object) =>
    Object.keys(fields).filter((key) => values[key as keyof Values] !== undefined)
  const usesCeremony = presentFields(ceremonyFields).length > 0
  if (usesCeremony) {
    const conflicting = presentFields(keyFields)
    const message = 'must be omitted if credential or challenge_id is given, because credential determines the passkey.'
    if (conflicting.length > 0)
      throw invalidFields(conflicting.map((field) => ({ field, code: 'contradiction', message })))
  }
  const requiredFields = usesCeremony
    ? (['credential', 'challengeId'] as const)
    : (['credentialId', 'publicKey'] as const)
  const missing = requiredFields.filter((field) => values[field] === undefined)
  if (missing.length > 0)
    throw invalidFields(missing.map((field) => ({ field, code: 'required', message: 'is required.' })))
  return usesCeremony
}

async function passkeyFromPublicKey(values: Values): Promise<NewPasskey> {
  const publicKey = values.publicKey ?? ''
  const algorithm = await coseAlgorithmOf(Buffer.from(publicKey, 'base64url'))
  if (algorithm === undefined) {
    const message = `must be a valid COSE_Key with one of the algorithms ${passkeyAlgorithms.join(', ')}. An RSA key must have at least ${limits.minPasskeyRsaKeyBytes * 8} bits.`
    throw invalidField('publicKey', 'invalid_key', message)
  }
  if (values.algorithm !== undefined && values.algorithm !== algorithm) {
    throw invalidField('algorithm', 'contradiction', `must be the algorithm of the key, ${algorithm}.`)
  }
  if (values.backupState && values.backupEligible === false) {
    throw invalidField('backupState', 'contradiction', 'must not be true if backup_eligible is false.')
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
