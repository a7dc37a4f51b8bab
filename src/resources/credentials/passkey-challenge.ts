/**
 * Registration of a passkey (WebAuthn level 3, section 7.1): creates the options with a challenge for the browser, and
 * verifies the browser's response. A challenge is valid for one user, one relying party and one response.
 */
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { invalidField } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { verifiedHostsOf } from '../domains/domains.js'
import { issuerUrl } from '../issuer-url.js'
import type { InUser } from '../resource-path.js'
import { coseAlgorithmOf, passkeyAlgorithms } from './cose.js'
import { consumeEnrollment, createEnrollment } from './enrollments.js'
import { challengeRules } from './new-verifier.js'
import type { NewPasskey, PasskeyData } from './passkey-data.js'
import { lockVerifierOwner, requireVerifierOwner, type VerifierOwner } from './verifier-kind.js'

/** Loads the library on first use, because it has many dependencies. */
const loadWebAuthn = () => import('@simplewebauthn/server')

/** The stored state of a challenge. */
interface StoredChallenge {
  challenge: string
  rp_id: string
  origin: string
}

/** A challenge for the registration of a passkey. Times in Unix milliseconds. */
export interface PasskeyChallenge {
  id: string
  /** The same value as `id`. */
  challengeId: string
  /** PublicKeyCredentialCreationOptionsJSON, for `PublicKeyCredential.parseCreationOptionsFromJSON`. */
  options: object
  expiresAt: bigint
  createdAt: bigint
  updatedAt: bigint
}

/**
 * Creates a challenge for the registration of a passkey. The relying party ID is the host of IDP_URL by default; it can
 * also be a verified domain that is assigned to the issuer.
 * @throws invalid_request, also for any other relying party ID; not_found
 */
export async function createPasskeyChallenge(
  context: Context,
  path: InUser,
  input: unknown,
): Promise<PasskeyChallenge> {
  const { rpId } = checkInput(challengeRules, input ?? {})
  const owner = await requireVerifierOwner(context, path)
  const { rp_id, origin } = await requireRelyingParty(context, owner, rpId ?? undefined)
  const existing = await context.db.verifier.findMany({
    where: { userId: owner.id, type: 'passkey' },
    select: { credentialId: true, data: true },
  })
  const { generateRegistrationOptions } = await loadWebAuthn()
  const options = await generateRegistrationOptions({
    ...commonOptions,
    rpName: issuerDisplayName(owner),
    rpID: rp_id,
    userName: owner.username,
    userID: Uint8Array.from(Buffer.from(owner.id)),
    userDisplayName: userDisplayName(owner),
    excludeCredentials: existing.map(({ credentialId, data }) => ({
      id: credentialId ?? '',
      transports: (data as unknown as PasskeyData).transports,
    })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  })
  return transaction(context, async (tx) => {
    await lockVerifierOwner(tx, owner)
    const data = { challenge: options.challenge, rp_id, origin } satisfies StoredChallenge
    const { id, expiresAt, createdAt } = await createEnrollment(tx, path, 'passkey', limits.passkeyChallengeLifetime, {
      data,
    })
    return { id, challengeId: id, options, expiresAt, createdAt, updatedAt: createdAt }
  })
}

const commonOptions = {
  timeout: limits.passkeyChallengeLifetime,
  attestationType: 'none',
  supportedAlgorithmIDs: passkeyAlgorithms,
} as const

/** A new user who registers a passkey at sign-up or at the setup of the deployment. */
export interface PasskeySignUp {
  /** The ID that the new user will have. */
  id: string
  username: string
  /** Display name of the issuer. */
  issuerName: string
  /** The relying party ID. */
  rpId: string
  /** The challenge in base64url. */
  challenge: string
}

/**
 * Creates the options (PublicKeyCredentialCreationOptionsJSON) for the passkey of a new user. The passkey must be
 * discoverable, so that the user can sign in without entering a username.
 */
export async function signUpPasskeyOptions({
  id,
  username,
  issuerName,
  rpId,
  challenge,
}: PasskeySignUp): Promise<object> {
  const { generateRegistrationOptions } = await loadWebAuthn()
  return generateRegistrationOptions({
    ...commonOptions,
    rpName: issuerName,
    rpID: rpId,
    userName: username,
    userID: Uint8Array.from(Buffer.from(id)),
    userDisplayName: username,
    challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** @throws invalid_request if the requested host is neither that of IDP_URL nor a verified domain of the issuer */
async function requireRelyingParty(context: Context, owner: VerifierOwner, requested: string | undefined) {
  const idp = new URL(context.config.idpUrl)
  if (requested === undefined || requested === idp.hostname) return { rp_id: idp.hostname, origin: idp.origin }
  const hosts = await verifiedHostsOf(context, owner)
  if (hosts.includes(requested)) {
    return { rp_id: requested, origin: new URL(issuerUrl(context.config, owner.issuerId, requested)).origin }
  }
  throw invalidField(
    'rpId',
    'unknown_relying_party',
    'must be the host of the IdP or a verified domain that is assigned to this issuer.',
  )
}

const issuerDisplayName = ({ issuer }: VerifierOwner): string =>
  (issuer.settings as { branding?: { display_name?: string } }).branding?.display_name || issuer.name

function userDisplayName({ profile, username }: VerifierOwner): string {
  const { name } = profile as { name?: unknown }
  return typeof name === 'string' && name !== '' ? name : username
}

/**
 * Verifies the browser's response to a challenge. The challenge is consumed first, even if the response is invalid.
 * @throws invalid_request if the challenge is unknown, expired, used or of another user, or the response is invalid
 */
export async function consumePasskeyChallenge(
  context: Context,
  path: InUser,
  challengeId: string,
  credential: object,
): Promise<NewPasskey> {
  const enrollment = await consumeEnrollment(context, path, 'passkey', challengeId)
  if (!enrollment) {
    throw invalidField('challengeId', 'unknown_challenge', 'is unknown, expired or used. Request a new challenge.')
  }
  const registered = await verifyRegistration(credential, enrollment.data as unknown as StoredChallenge)
  if (registered) return registered
  throw invalidField(
    'credential',
    'invalid_credential',
    'is not a valid response to the challenge. Request a new challenge.',
  )
}

/**
 * Verifies a registration response.
 * @param credential RegistrationResponseJSON
 * @returns the passkey that the response registers; undefined if the response is invalid, if `coseAlgorithmOf` rejects
 *   the key, or if the credential ID is longer than 1023 bytes
 */
export async function verifyRegistration(
  credential: object,
  challenge: StoredChallenge,
): Promise<NewPasskey | undefined> {
  const info = await verifyResponse(credential, challenge)
  const { credential: registered, aaguid, credentialDeviceType, credentialBackedUp } = info ?? {}
  const algorithm = registered && (await coseAlgorithmOf(registered.publicKey))
  if (!registered || algorithm === undefined || Buffer.from(registered.id, 'base64url').length > 1023) return undefined
  return {
    credential_id: registered.id,
    public_key: Buffer.from(registered.publicKey).toString('base64url'),
    algorithm,
    sign_count: registered.counter,
    transports: validTransports(registered.transports),
    aaguid: aaguid ?? null,
    rp_id: challenge.rp_id,
    backup_eligible: credentialDeviceType === 'multiDevice',
    backup_state: credentialBackedUp ?? false,
  }
}

/** Returns the valid transports, at most ten. The library does not validate them. */
const validTransports = (values: unknown): string[] =>
  Array.isArray(values)
    ? values.filter((one) => typeof one === 'string' && /^[a-z-]{1,32}$/.test(one)).slice(0, 10)
    : []

async function verifyResponse(credential: object, { challenge, rp_id, origin }: StoredChallenge) {
  const { verifyRegistrationResponse } = await loadWebAuthn()
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
    // The library and `withoutAttestation` throw for every invalid input, including malformed CBOR.
    return undefined
  }
}

/**
 * Replaces the attestation statement with an empty one. Attestation is not requested, so a statement would not be
 * trusted, and the library would fetch certificate revocation lists from URLs in the certificates of the statement.
 */
async function withoutAttestation(credential: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const bytes = isoBase64URL.toBuffer(credential.response.attestationObject)
  const authData = isoCBOR.decodeFirst<Map<string, Uint8Array<ArrayBuffer>>>(bytes).get('authData')
  if (!(authData instanceof Uint8Array)) throw new Error('The attestation object has no authenticator data.')
  const attestation = new Map<string, string | Uint8Array<ArrayBuffer> | Map<string, string>>()
  attestation.set('fmt', 'none').set('attStmt', new Map<string, string>()).set('authData', authData)
  const attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(attestation))
  return { ...credential, response: { ...credential.response, attestationObject } }
}
