/**
 * The registration ceremony of a passkey (WebAuthn level 3, section 7.1): options with a challenge for the browser, and
 * the check of its answer. A challenge is bound to the user and the relying party and good for one answer.
 */
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { invalidField } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/database.js'
import { verifiedHostsOf } from '../domains/domains.js'
import { issuerUrl } from '../issuer-url.js'
import { algorithmOf, passkeyAlgorithms } from './cose.js'
import { beginEnrollment, takeEnrollment } from './enrollments.js'
import { lockOwner, type Owner, requireOwner, type VerifiersPlace } from './kind.js'
import type { NewPasskey, PasskeyFacts } from './passkey.js'

const CHALLENGE_LIFE = 5 * MINUTE

/** Its library, with all that certificates need, is loaded for the first ceremony. */
const webauthn = () => import('@simplewebauthn/server')

const challengeRules = z.strictObject({ rpId: rules.text(253).nullable().optional() })

/** What is remembered of a challenge. */
interface Challenge {
  challenge: string
  rp_id: string
  origin: string
}

/** What the browser gets. Times in Unix milliseconds. */
export interface PasskeyChallenge {
  id: string
  challengeId: string
  /** PublicKeyCredentialCreationOptionsJSON, as `PublicKeyCredential.parseCreationOptionsFromJSON` takes it. */
  options: object
  expiresAt: bigint
  createdAt: bigint
  updatedAt: bigint
}

/**
 * Begins a registration. The relying party is the host that the issuer's pages are served under: the IdP's own, or a
 * verified domain assigned to the issuer.
 * @throws invalid_request for another relying party, not_found
 */
export async function challengePasskey(
  context: Context,
  place: VerifiersPlace,
  input: unknown,
): Promise<PasskeyChallenge> {
  const { rpId } = check(challengeRules, input ?? {})
  const owner = await requireOwner(context, place)
  const { rp_id, origin } = await relyingParty(context, owner, rpId ?? undefined)
  const present = await context.db.verifier.findMany({
    where: { userId: owner.id, type: 'passkey' },
    select: { credentialId: true, data: true },
  })
  const { generateRegistrationOptions } = await webauthn()
  const options = await generateRegistrationOptions({
    ...alwaysAsked,
    rpName: brandOf(owner),
    rpID: rp_id,
    userName: owner.username,
    userID: Uint8Array.from(Buffer.from(owner.id)),
    userDisplayName: displayNameOf(owner),
    excludeCredentials: present.map(({ credentialId, data }) => ({
      id: credentialId ?? '',
      transports: (data as unknown as PasskeyFacts).transports,
    })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  })
  return transaction(context, async (inside) => {
    await lockOwner(inside, owner)
    const data = { challenge: options.challenge, rp_id, origin } satisfies Challenge
    const { id, expiresAt, createdAt } = await beginEnrollment(inside, place, 'passkey', CHALLENGE_LIFE, { data })
    return { id, challengeId: id, options, expiresAt, createdAt, updatedAt: createdAt }
  })
}

const alwaysAsked = {
  timeout: CHALLENGE_LIFE,
  attestationType: 'none',
  supportedAlgorithmIDs: passkeyAlgorithms,
} as const

/** Somebody who is to have an account together with the passkey. */
export interface Newcomer {
  /** The id that the account will have. */
  id: string
  username: string
  /** What people call the issuer. */
  brand: string
  rpId: string
  /** In base64url. */
  challenge: string
}

/**
 * What the browser of a newcomer is asked for, PublicKeyCredentialCreationOptionsJSON: a passkey that says itself whose
 * it is, for it is the way in.
 */
export async function newcomerOptions({ id, username, brand, rpId, challenge }: Newcomer): Promise<object> {
  const { generateRegistrationOptions } = await webauthn()
  return generateRegistrationOptions({
    ...alwaysAsked,
    rpName: brand,
    rpID: rpId,
    userName: username,
    userID: Uint8Array.from(Buffer.from(id)),
    userDisplayName: username,
    challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** @throws invalid_request for a host that the issuer is not served under */
async function relyingParty(context: Context, owner: Owner, asked: string | undefined) {
  const idp = new URL(context.config.idpUrl)
  if (asked === undefined || asked === idp.hostname) return { rp_id: idp.hostname, origin: idp.origin }
  const hosts = await verifiedHostsOf(context, owner)
  if (hosts.includes(asked)) {
    return { rp_id: asked, origin: new URL(issuerUrl(context.config, owner.issuerId, asked)).origin }
  }
  throw invalidField('rpId', 'unknown_relying_party', 'must be the host that this issuer is served under.')
}

const brandOf = ({ issuer }: Owner): string =>
  (issuer.settings as { branding?: { display_name?: string } }).branding?.display_name || issuer.name

function displayNameOf({ profile, username }: Owner): string {
  const { name } = profile as { name?: unknown }
  return typeof name === 'string' && name !== '' ? name : username
}

/**
 * Checks a browser's answer. The challenge is consumed first, whatever the answer is worth.
 * @throws invalid_request when the challenge is unknown, expired or used, or the answer does not fit it
 */
export async function answeredChallenge(
  context: Context,
  place: VerifiersPlace,
  challengeId: string,
  credential: object,
): Promise<NewPasskey> {
  const enrollment = await takeEnrollment(context, place, 'passkey', challengeId)
  if (!enrollment) {
    throw invalidField('challengeId', 'unknown_challenge', 'is unknown, expired or used; ask for another challenge.')
  }
  const made = await registeredBy(credential, enrollment.data as unknown as Challenge)
  if (made) return made
  throw invalidField('credential', 'invalid_credential', 'does not answer the challenge; begin anew with another one.')
}

/** The passkey that an answer to this challenge makes; undefined where it does not fit. */
export async function registeredBy(credential: object, challenge: Challenge): Promise<NewPasskey | undefined> {
  const info = await verified(credential, challenge)
  const { credential: made, aaguid, credentialDeviceType, credentialBackedUp } = info ?? {}
  const algorithm = made && (await algorithmOf(made.publicKey))
  if (!made || algorithm === undefined || Buffer.from(made.id, 'base64url').length > 1023) return undefined
  return {
    credential_id: made.id,
    public_key: Buffer.from(made.publicKey).toString('base64url'),
    algorithm,
    sign_count: made.counter,
    transports: wordsIn(made.transports),
    aaguid: aaguid ?? null,
    rp_id: challenge.rp_id,
    backup_eligible: credentialDeviceType === 'multiDevice',
    backup_state: credentialBackedUp ?? false,
  }
}

/** The library hands on what the browser said, whatever it is. */
const wordsIn = (said: unknown): string[] =>
  Array.isArray(said) ? said.filter((one) => typeof one === 'string' && /^[a-z-]{1,32}$/.test(one)).slice(0, 10) : []

async function verified(credential: object, { challenge, rp_id, origin }: Challenge) {
  const { verifyRegistrationResponse } = await webauthn()
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: await withoutAttestation(credential as RegistrationResponseJSON),
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rp_id,
      requireUserVerification: true,
      supportedAlgorithmIDs: passkeyAlgorithms,
    })
    return registrationInfo
  } catch {
    // The library throws for whatever does not fit, malformed CBOR included; its words are not for callers.
    return undefined
  }
}

/**
 * The answer with an empty statement of its maker. None was asked for, so none is believed; and a certificate in it
 * could name a revocation list, which the library would fetch from wherever it says.
 */
async function withoutAttestation(credential: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const bytes = isoBase64URL.toBuffer(credential.response.attestationObject)
  const authData = isoCBOR.decodeFirst<Map<string, Uint8Array<ArrayBuffer>>>(bytes).get('authData')
  if (!(authData instanceof Uint8Array)) throw new Error('no authenticator data')
  const bare = new Map<string, string | Uint8Array<ArrayBuffer> | Map<string, string>>()
  bare.set('fmt', 'none').set('attStmt', new Map<string, string>()).set('authData', authData)
  const attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(bare))
  return { ...credential, response: { ...credential.response, attestationObject } }
}
