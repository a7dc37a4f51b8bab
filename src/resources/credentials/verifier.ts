import { ArgsType, Field, ID, Int, InterfaceType, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Prisma } from '../../platform/postgres/database.js'
import { CreatedAt, Description, Id, Metadata, UpdatedAt } from '../common-properties.js'
import { EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { Timestamp, UserPath } from '../graphql-types.js'

export const VerifierType = enumType('VerifierType', 'The kind of a credential.', {
  password: 'A password. A user has at most one.',
  temporary_password: 'A password of at most 7 days, which the user must change at the first sign-in.',
  passkey: 'A passkey (WebAuthn).',
  totp_enrollment:
    'An authenticator app that is not confirmed yet. Completing the enrollment creates a `totp` verifier.',
  totp: 'An authenticator app with one-time codes (RFC 6238). A user has at most one.',
  backup_codes: 'Ten codes for users who lose their other second factor. Each can be used once.',
  oauth: 'An account at an upstream identity provider, which a sign-in at the provider links.',
})
export type VerifierType = keyof typeof VerifierType

/**
 * Rule of a verifier's name; null means no name. docs/contract.md#credentials says for which types a name is required.
 */
export const nameRule = z
  .string('must be a string or null.')
  .max(limits.maxNameLength, `must have at most ${limits.maxNameLength} characters.`)
  .nullable()

/** Rule of a password. `checkNewPassword` checks the password policy of the issuer. */
export const passwordRule = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(limits.maxPasswordLength, `must have at most ${limits.maxPasswordLength.toLocaleString('en-US')} characters.`)

/** Fields of all verifiers. `createVerifier` returns the type that has the additional fields of the created kind. */
@EventTarget('verifier')
@InterfaceType({
  description:
    'A credential of a user. Hashes are never returned. A secret is returned only in the response to its creation.',
  resolveType: (value: object) =>
    'codesPlain' in value ? 'NewBackupCodes' : 'enrollmentId' in value ? 'TotpEnrollment' : 'Verifier',
})
export abstract class AnyVerifier {
  @Id('verifier', 'vrf_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => ID, { description: 'The user who has the verifier.', example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly userId!: string
  @Property(() => VerifierType, { description: 'The kind of the credential.', example: 'password' })
  readonly type!: VerifierType
  @Property(() => String, {
    description: 'A name, so that the user can distinguish several verifiers. Null for no name.',
    example: 'Laptop',
    nullable: true,
    rule: nameRule,
    update: true,
  })
  name!: string | null
  @Description()
  description!: string | null
  @Metadata('replace')
  metadata!: Prisma.InputJsonObject
  @Property(() => Boolean, {
    description: 'Whether the user must change the password at the next sign-in. Only passwords can have it.',
    update: true,
  })
  mustChange!: boolean
  @Property(() => Timestamp, {
    description: 'When the password or enrollment expires, in Unix milliseconds. Null if it does not expire.',
    example: 1764500000000,
    nullable: true,
    rule: fieldSchemas.timestamp.nullable(),
    update: true,
  })
  expiresAt!: number | null
  @Property(() => Timestamp, {
    description: 'When the verifier was last used for a sign-in, in Unix milliseconds. Null if it was never used.',
    example: 1763900000000,
    nullable: true,
  })
  readonly lastUsedAt!: number | null
  @Property(() => String, {
    description: 'Who created the verifier: the id of the user or of another caller.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly createdBy!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

/** The COSE algorithms of passkeys, for descriptions. */
export const algorithms = '-7 (ES256), -8 (EdDSA) or -257 (RS256)'

@ObjectType({ description: 'The public properties of a passkey.' })
export class Passkey {
  @Property(() => String, { description: 'The credential ID in base64url.', example: 'o0mXbFv7W1xX2mSQ' })
  readonly credentialId!: string
  @Property(() => Int, { description: `The COSE algorithm of the key: ${algorithms}.`, example: -7 })
  readonly algorithm!: number
  @Property(() => [String], {
    description: 'How the browser can reach the authenticator (WebAuthn transports).',
    example: ['internal', 'hybrid'],
  })
  readonly transports!: string[]
  @Property(() => String, {
    description: 'The identifier of the authenticator model. Null if unknown.',
    nullable: true,
  })
  readonly aaguid!: string | null
  @Property(() => String, {
    description: 'The relying party ID: the host for which the passkey works. Null if unknown.',
    example: 'login.example.com',
    nullable: true,
  })
  readonly rpId!: string | null
  @Property(() => Boolean, {
    description: 'Whether the passkey may be copied to other devices (WebAuthn flag BE). Null if unknown.',
    nullable: true,
  })
  readonly backupEligible!: boolean | null
  @Property(() => Boolean, {
    description: 'Whether the passkey is currently backed up (WebAuthn flag BS). Null if unknown.',
    nullable: true,
  })
  readonly backupState!: boolean | null
}

@ObjectType({ implements: AnyVerifier, description: 'A stored credential of a user, without its secret.' })
export class Verifier extends AnyVerifier {
  @Property(() => Passkey, {
    description: 'The properties of a passkey; null for other types.',
    nullable: true,
    graphqlOnly: true,
  })
  readonly passkey!: Passkey | null
  @Property(() => String, {
    description: "A new password. It ends the user's sessions.",
    writeOnly: true,
    rule: passwordRule,
    update: true,
  })
  password!: string
}

export const VerifierPage = pageOf(Verifier)
export const updateRules = updateRulesOf(Verifier)

@ArgsType()
export class VerifierPath extends UserPath {
  @Field(() => ID, { description: 'The id of the verifier.' })
  verifierId!: string
}
