/**
 * Verifies passkey assertions (WebAuthn level 3, section 7.2): the signed data must contain the challenge, origin and
 * relying party of the sign-in page, and the authenticator must have verified the user. The caller stores the
 * challenges and makes sure that each is used once.
 */
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { parseJson } from '../../kernel/safe-json.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { deletedUserStatuses, type InIssuer } from '../resource-path.js'
import type { PasskeyData } from './passkey-data.js'
import type { SignInUser } from './sign-in.js'
import { base64url } from './verifier-kind.js'

/** The values that an assertion must match. */
export interface Ceremony {
  /** The challenge in base64url. */
  challenge: string
  /** The relying party ID, which is the host name of the sign-in page. */
  rpId: string
  /** The origin of the sign-in page. */
  origin: string
}

export type AssertionDecision =
  /**
   * `reason` is recorded in the event; the browser gets the same response for all reasons. `user` is the owner of the
   * passkey; it is set only for the reason `wrong_assertion`.
   */
  | { outcome: 'refused'; reason: 'malformed' | 'unknown_credential' | 'wrong_assertion'; user?: SignInUser }
  | { outcome: 'verified'; user: SignInUser; used: PasskeyUse }

/** A successful use of a passkey, for `recordPasskeyUse`. */
export interface PasskeyUse {
  verifierId: string
  /** The signature counter that the authenticator reported. */
  signCount: number
  /** The flag BS: whether the passkey is currently backed up. */
  backupState: boolean
}

const assertionRules = z.looseObject({
  id: base64url(1023),
  rawId: base64url(1023),
  type: z.literal('public-key'),
  response: z.looseObject({
    clientDataJSON: base64url(8192),
    authenticatorData: base64url(8192),
    signature: base64url(2048),
    userHandle: base64url(64).nullable().optional(),
  }),
})

interface Row {
  verifierId: string
  userId: string
  username: string
  status: string
  data: PasskeyData
}

/** Returns undefined if `parseJson` rejects the text. */
function parseJsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const credentialText = `
  SELECT v.id AS "verifierId", v.data, u.id AS "userId", u.username, u.status
  FROM verifiers v JOIN users u ON u.id = v.user_id AND u.issuer_id = v.issuer_id
  WHERE v.issuer_id = $1 AND v.credential_id = $2 AND v.type = 'passkey' AND u.status <> ALL($3::text[])`

/**
 * Verifies an assertion without writing to the database. After the outcome `verified`, call `recordPasskeyUse`.
 * @param text AuthenticationResponseJSON from the form
 * @param userId the user who must own the passkey; null if the passkey identifies the user
 */
export async function verifyPasskeyAssertion(
  context: Context,
  { accountId, issuerId }: InIssuer,
  text: string,
  ceremony: Ceremony,
  userId: string | null,
): Promise<AssertionDecision> {
  const parsed = assertionRules.safeParse(parseJsonOrUndefined(text))
  if (!parsed.success) return { outcome: 'refused', reason: 'malformed' }
  const assertion = parsed.data
  const values = [issuerId, assertion.id, deletedUserStatuses]
  const [row] = await context.database.query<Row & Record<string, unknown>>(
    'passkey-credential',
    credentialText,
    values,
  )
  if (!row) return { outcome: 'refused', reason: 'unknown_credential' }
  const user = { accountId, issuerId, id: row.userId, username: row.username, status: row.status }
  const refused = { outcome: 'refused', reason: 'wrong_assertion', user } as const

  // The passkey must belong to the user who signs in. If the user is not known yet, the user handle is required and
  // must be the ID of the passkey's owner. If the user is known, the user handle may be missing, but must not be the ID
  // of another user.
  const handle = assertion.response.userHandle
  const assertedUserId = handle == null ? undefined : Buffer.from(handle, 'base64url').toString()
  if (userId !== null && row.userId !== userId) return refused
  if (assertedUserId === undefined ? userId === null : assertedUserId !== row.userId) return refused

  const info = await verifyResponse(assertion as unknown as AuthenticationResponseJSON, row, ceremony)
  if (!info) return refused
  // The backup eligibility of a passkey (flag BE) never changes.
  const backupEligible = info.credentialDeviceType === 'multiDevice'
  if (row.data.backup_eligible !== null && row.data.backup_eligible !== backupEligible) return refused
  const used = { verifierId: row.verifierId, signCount: info.newCounter, backupState: info.credentialBackedUp }
  return { outcome: 'verified', user, used }
}

async function verifyResponse(
  response: AuthenticationResponseJSON,
  { data }: Row,
  { challenge, origin, rpId }: Ceremony,
) {
  // Loaded on first use, because the library has many dependencies.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    // The sign-in pages forbid framing, so an assertion from a cross-origin iframe does not come from a sign-in page.
    const client = parseJsonOrUndefined(Buffer.from(response.response.clientDataJSON, 'base64url').toString())
    if ((client as { crossOrigin?: unknown } | undefined)?.crossOrigin === true) return undefined
    const { verified: isValid, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: Uint8Array.from(Buffer.from(data.public_key, 'base64url')),
        // With 0 the library does not compare signature counters. `recordUseText` compares them, so that of two
        // concurrent assertions with the same counter value above 0 only one succeeds.
        counter: 0,
      },
    })
    return isValid ? authenticationInfo : undefined
  } catch {
    // The library throws for malformed input and wrong values. For a wrong signature it returns `verified: false`.
    return undefined
  }
}

const recordUseText = `
  UPDATE verifiers SET sign_count = $4::bigint, last_used_at = $5::bigint, updated_at = $5::bigint,
    data = data || jsonb_build_object('backup_state', $6::boolean)
  WHERE id = $1 AND issuer_id = $2 AND user_id = $3
    AND (coalesce(sign_count, 0) < $4::bigint OR (coalesce(sign_count, 0) = 0 AND $4::bigint = 0))
  RETURNING id`

/**
 * Stores the signature counter, the backup state and the time of the use. Call it in the transaction of the sign-in
 * step.
 * @returns the reason of a refusal: `wrong_sign_count` if the counter did not increase, which indicates a cloned
 *   authenticator, `unknown_credential` if the passkey has been deleted since its verification. Authenticators without a
 *   counter always report 0, which is accepted if the stored counter is 0.
 */
export async function recordPasskeyUse(
  context: Context,
  { issuerId, id }: Pick<SignInUser, 'issuerId' | 'id'>,
  { verifierId, signCount, backupState }: PasskeyUse,
): Promise<'recorded' | 'wrong_sign_count' | 'unknown_credential'> {
  const values = [verifierId, issuerId, id, signCount, context.now(), backupState]
  const rows = await sql<{ id: string }>(context.db, recordUseText, ...values)
  if (rows.length > 0) return 'recorded'
  const count = await context.db.verifier.count({ where: { id: verifierId, issuerId, userId: id } })
  return count > 0 ? 'wrong_sign_count' : 'unknown_credential'
}

/** An entry of `allowCredentials` or `excludeCredentials`: PublicKeyCredentialDescriptorJSON. */
export interface PasskeyDescriptor {
  type: 'public-key'
  id: string
  transports: string[]
}

/**
 * Returns the user's passkeys for this relying party and those without a stored relying party ID. Only the newest 100
 * passkeys of the user are considered.
 */
export async function passkeyDescriptorsOf(
  context: Context,
  { issuerId, id: userId }: Pick<SignInUser, 'issuerId' | 'id'>,
  rpId: string,
): Promise<PasskeyDescriptor[]> {
  const rows = await context.db.verifier.findMany({
    where: { issuerId, userId, type: 'passkey' },
    select: { credentialId: true, data: true },
    orderBy: { id: 'desc' },
    take: 100,
  })
  return rows.flatMap(({ credentialId, data }) => {
    const { rp_id, transports } = data as unknown as PasskeyData
    if (credentialId === null || (rp_id !== null && rp_id !== rpId)) return []
    return [{ type: 'public-key' as const, id: credentialId, transports: transports ?? [] }]
  })
}
