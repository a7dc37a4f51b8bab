import { ArgsType, Field, ID, InputType, Int, InterfaceType, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Prisma } from '../../platform/postgres/database.js'
import { CreatedAt, Description, Id, Metadata, UpdatedAt } from '../common-properties.js'
import { EventTarget, enumType, inputRulesOf, Property, pageOf, updateRulesOf } from '../declaration.js'
import { JSONObject, Timestamp, UserPath } from '../graphql-types.js'

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

const algorithms = '-7 (ES256), -8 (EdDSA) or -257 (RS256)'

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

@ObjectType({
  implements: AnyVerifier,
  description: 'A TOTP verifier that is not confirmed yet. Complete it with `completeEnrollment` within ten minutes.',
})
export class TotpEnrollment extends AnyVerifier {
  @Property(() => ID, {
    description: 'The id of the enrollment, for `completeEnrollment`. Equals id.',
    example: 'enr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    once: true,
  })
  readonly enrollmentId!: string
  @Property(() => String, {
    description: 'The secret in base32. Only the response to `createVerifier` contains it.',
    example: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    once: true,
  })
  readonly secret!: string
  @Property(() => String, {
    description: 'The otpauth URI to display as a QR code. It contains the secret.',
    example: 'otpauth://totp/Acme:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Acme',
    once: true,
  })
  readonly provisioningUri!: string
}

@ObjectType({ implements: AnyVerifier, description: 'A new set of backup codes.' })
export class NewBackupCodes extends AnyVerifier {
  @Property(() => [String], {
    description: 'Ten codes, each of which can be used once. Only the response to `createVerifier` contains them.',
    example: ['7K2M9QX4TB', 'W3N8HZ5RCV'],
    once: true,
  })
  readonly codesPlain!: string[]
}

/** An optional field of `CreateVerifierInput`, whose rules are in verifier-kinds.ts. */
const Optional = (type: () => object, description: string, example?: unknown) =>
  Property(type, { description, nullable: true, ...(example !== undefined && { example }) })

@InputType({ description: 'The fields of a new verifier. Which of them are allowed and required depends on `type`.' })
export class CreateVerifierInput {
  @Property(() => VerifierType, {
    description: 'The kind of the credential: password, temporary_password, passkey, totp_enrollment or backup_codes.',
    example: 'password',
  })
  type!: VerifierType
  @Optional(
    () => String,
    'A name. Required for a password (null means no name) and for a temporary_password (not null).',
    'Password',
  )
  name?: string | null
  @Optional(() => String, 'A description for administrators.')
  description?: string | null
  @Optional(() => JSONObject, 'Data of your own, which Gatehouse does not interpret.')
  metadata?: object | null
  @Optional(
    () => String,
    'For a password or temporary_password: the password, which must meet the password policy of the issuer.',
    'correct-horse-battery-staple',
  )
  password?: string | null
  @Optional(() => Boolean, 'For a password: whether the user must change it at the next sign-in. The default is false.')
  mustChange?: boolean | null
  @Optional(
    () => Timestamp,
    'When the password expires, in Unix milliseconds. Required for a temporary_password, at most 7 days from now.',
    1764500000000,
  )
  expiresAt?: number | null
  @Optional(() => String, 'For a temporary_password: who created it. The default is the id of the caller.')
  createdBy?: string | null
  @Optional(() => String, 'For a totp_enrollment, required: the issuer name in the authenticator app.', 'Acme')
  issuerName?: string | null
  @Optional(() => String, 'For a passkey: the credential ID in base64url.')
  credentialId?: string | null
  @Optional(() => String, 'For a passkey: the public key, a COSE_Key in base64url.')
  publicKey?: string | null
  @Optional(
    () => Int,
    `For a passkey: the COSE algorithm of \`publicKey\`, which is ${algorithms}. If given, it must match the key.`,
    -7,
  )
  algorithm?: number | null
  @Optional(() => Int, 'For a passkey: the signature counter of the authenticator. The default is 0.', 0)
  signCount?: number | null
  @Optional(() => [String], 'For a passkey: the WebAuthn transports of the authenticator.', ['internal', 'hybrid'])
  transports?: string[] | null
  @Optional(() => String, 'For a passkey: the identifier of the authenticator model, a UUID.')
  aaguid?: string | null
  @Optional(() => String, 'For a passkey: the relying party ID, a host.', 'login.example.com')
  rpId?: string | null
  @Optional(() => Boolean, 'For a passkey: whether it may be copied to other devices (WebAuthn flag BE).')
  backupEligible?: boolean | null
  @Optional(() => Boolean, 'For a passkey: whether it is currently backed up (WebAuthn flag BS).')
  backupState?: boolean | null
  @Optional(
    () => JSONObject,
    'For a passkey: the RegistrationResponseJSON (WebAuthn level 3) of the browser. Use it with `challengeId` instead of `credentialId`, `publicKey` and the other fields of the key.',
  )
  credential?: object | null
  @Optional(() => ID, 'For a passkey: the challenge to which `credential` responds.', 'enr_01kb3w8hxv6k8y1f4sn0q3a7pd')
  challengeId?: string | null
}

@ObjectType({ description: 'A challenge for registering a passkey in a browser.' })
export class PasskeyChallenge {
  @Id('challenge', 'enr_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => ID, { description: 'Equals id.', example: 'enr_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly challengeId!: string
  @Property(() => JSONObject, { description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn level 3).' })
  readonly options!: object
  @Property(() => Timestamp, {
    description: 'When the challenge expires, in Unix milliseconds.',
    example: 1763900300000,
  })
  readonly expiresAt!: number
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

@InputType({ description: 'For which host a passkey is registered.' })
export class PasskeyChallengeInput {
  @Property(() => String, {
    description:
      'The relying party ID: the host of the IdP (the default), or a verified domain that is assigned to the issuer.',
    example: 'login.example.com',
    nullable: true,
    rule: fieldSchemas.text(limits.maxHostLength).nullable(),
  })
  rpId?: string | null
}

@InputType({ description: 'A code of the authenticator app, which proves that the app has the secret.' })
export class CompleteEnrollmentInput {
  @Property(() => ID, {
    description: 'The `enrollmentId` of the response to `createVerifier`.',
    example: 'enr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    rule: fieldSchemas.text(limits.maxIdLength),
  })
  enrollmentId!: string
  @Property(() => String, {
    description: 'The code that the authenticator app shows.',
    example: '492039',
    rule: fieldSchemas.text(32),
  })
  code!: string
}

export const challengeRules = inputRulesOf(PasskeyChallengeInput)
export const completeRules = inputRulesOf(CompleteEnrollmentInput)

@ArgsType()
export class VerifierPath extends UserPath {
  @Field(() => ID, { description: 'The id of the verifier.' })
  verifierId!: string
}
