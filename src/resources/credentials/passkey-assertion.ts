/**
 * Signing in with a passkey (WebAuthn level 3, section 7.2): is this answer to our challenge signed by a credential of
 * this issuer? The browser's word counts for nothing: what it signed must name our challenge, our origin and our
 * relying party, and the person must have been verified by the authenticator. Who holds the challenges is the caller.
 */
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { parseJson } from '../../kernel/gate.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { goneUser, type InIssuer } from '../place.js'
import { base64url } from './kind.js'
import type { PasskeyFacts } from './passkey.js'
import type { SignInUser } from './sign-in.js'

/** What an answer must be bound to. */
export interface Ceremony {
  /** In base64url. Good for one answer; the caller sees to that. */
  challenge: string
  /** Host of the page, which is the relying party, and its origin. */
  rpId: string
  origin: string
}

export type AssertionVerdict =
  /** For the trail, with whom it concerns, if anybody; the person is told the same whatever it was. */
  | { outcome: 'refused'; reason: 'malformed' | 'unknown_credential' | 'wrong_assertion'; user?: SignInUser }
  | { outcome: 'fits'; user: SignInUser; used: UsedPasskey }

/** What the authenticator says of itself, to be kept by `usePasskey`. */
export interface UsedPasskey {
  verifierId: string
  signCount: number
  backupState: boolean
}

const answerRules = z.looseObject({
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
  data: PasskeyFacts
}

/** Undefined for what is no JSON, or does not pass the input gate. */
function jsonOf(text: string): unknown {
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
 * Checks an answer. Writes nothing: what follows is the caller's, `usePasskey` first.
 * @param text AuthenticationResponseJSON, as a form carries it
 * @param userId whose passkey it must be; null where the credential itself says who signs in
 */
export async function checkAssertion(
  context: Context,
  { accountId, issuerId }: InIssuer,
  text: string,
  ceremony: Ceremony,
  userId: string | null,
): Promise<AssertionVerdict> {
  const parsed = answerRules.safeParse(jsonOf(text))
  if (!parsed.success) return { outcome: 'refused', reason: 'malformed' }
  const answer = parsed.data
  const values = [issuerId, answer.id, goneUser]
  const [row] = await context.tools.query<Row & Record<string, unknown>>('passkey-credential', credentialText, values)
  if (!row) return { outcome: 'refused', reason: 'unknown_credential' }
  const user = { accountId, issuerId, id: row.userId, username: row.username, status: row.status }
  const refused = { outcome: 'refused', reason: 'wrong_assertion', user } as const

  // Steps 5 and 6: the credential belongs to the one who signs in. A discoverable one must say whose it is; where we
  // know already, it may be silent, but must not contradict.
  const handle = answer.response.userHandle
  const named = handle == null ? undefined : Buffer.from(handle, 'base64url').toString()
  if (userId !== null && row.userId !== userId) return refused
  if (named === undefined ? userId === null : named !== row.userId) return refused

  // Steps 10 to 21: type, challenge, origin, relying party, presence, verification, signature.
  const info = await verified(answer as unknown as AuthenticationResponseJSON, row, ceremony)
  if (!info) return refused
  // Step 18: whether a credential can leave its authenticator never changes.
  const eligible = info.credentialDeviceType === 'multiDevice'
  if (row.data.backup_eligible !== null && row.data.backup_eligible !== eligible) return refused
  const used = { verifierId: row.verifierId, signCount: info.newCounter, backupState: info.credentialBackedUp }
  return { outcome: 'fits', user, used }
}

async function verified(response: AuthenticationResponseJSON, { data }: Row, { challenge, origin, rpId }: Ceremony) {
  // Loaded for the first answer: it brings all that certificates need.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    // Nothing of ours may be framed, so nobody signs in from within another page.
    const client = jsonOf(Buffer.from(response.response.clientDataJSON, 'base64url').toString())
    if ((client as { crossOrigin?: unknown } | undefined)?.crossOrigin === true) return undefined
    const { verified: fits, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: Uint8Array.from(Buffer.from(data.public_key, 'base64url')),
        // Compared where it is written: two answers at once must not both be the next one.
        counter: 0,
      },
    })
    return fits ? authenticationInfo : undefined
  } catch {
    // The library throws for whatever does not fit, malformed bytes included; its words are not for callers.
    return undefined
  }
}

const useText = `
  UPDATE verifiers SET sign_count = $4::bigint, last_used_at = $5::bigint, updated_at = $5::bigint,
    data = data || jsonb_build_object('backup_state', $6::boolean)
  WHERE id = $1 AND issuer_id = $2 AND user_id = $3
    AND (coalesce(sign_count, 0) < $4::bigint OR (coalesce(sign_count, 0) = 0 AND $4::bigint = 0))
  RETURNING id`

/**
 * Keeps what the authenticator said (step 22). Call it in the transaction of the step.
 * @returns false when its count did not grow: there may be two of it. Authenticators that do not count say 0 always.
 */
export async function usePasskey(
  context: Context,
  { issuerId, id }: Pick<SignInUser, 'issuerId' | 'id'>,
  { verifierId, signCount, backupState }: UsedPasskey,
): Promise<boolean> {
  const values = [verifierId, issuerId, id, signCount, context.now(), backupState]
  const rows = await sql<{ id: string }>(context.db, useText, ...values)
  return rows.length > 0
}

/** A passkey that a browser may be asked for: PublicKeyCredentialDescriptorJSON. */
export interface KnownPasskey {
  type: 'public-key'
  id: string
  transports: string[]
}

/** The user's passkeys that may be used at this relying party; of some we were not told where they belong. */
export async function passkeysOf(
  context: Context,
  { issuerId, id: userId }: Pick<SignInUser, 'issuerId' | 'id'>,
  rpId: string,
): Promise<KnownPasskey[]> {
  const rows = await context.db.verifier.findMany({
    where: { issuerId, userId, type: 'passkey' },
    select: { credentialId: true, data: true },
    orderBy: { id: 'desc' },
    take: 100,
  })
  return rows.flatMap(({ credentialId, data }) => {
    const { rp_id, transports } = data as unknown as PasskeyFacts
    if (credentialId === null || (rp_id !== null && rp_id !== rpId)) return []
    return [{ type: 'public-key' as const, id: credentialId, transports: transports ?? [] }]
  })
}
