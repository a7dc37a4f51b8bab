/** The declaration of what callers send and receive when they create a verifier, also in two steps. */
import { ID, InputType, Int, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { inputRulesOf, Property } from '../declaration.js'
import { JSONObject, Timestamp } from '../graphql-types.js'
import { AnyVerifier, algorithms, VerifierType } from './verifier.js'

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
