import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  InterfaceType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Verifier as VerifierRow } from '../../platform/postgres/database.js'
import {
  enumOf,
  GraphqlOnly,
  IssuerPath,
  idempotencyKeyArg,
  JSONObject,
  Once,
  PageArgs,
  pageType,
  ReturnsSecret,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { createPasskeyChallenge } from './passkey-challenge.js'
import type { PasskeyData } from './passkey-data.js'
import { completeEnrollment } from './totp.js'
import { type VerifierType, verifierTypes } from './verifier-kinds.js'
import { createVerifier, deleteVerifier, getVerifier, listVerifiers, updateVerifier } from './verifiers.js'

export const VerifierTypeEnum = enumOf(verifierTypes)
registerEnumType(VerifierTypeEnum, { name: 'VerifierType' })

/** Fields of all verifiers. `createVerifier` returns the type that has the additional fields of the created kind. */
@InterfaceType({
  description:
    'A credential of a user. Hashes are never returned. A secret is returned only in the response to its creation.',
  resolveType: (value: object) =>
    'codesPlain' in value ? 'NewBackupCodes' : 'enrollmentId' in value ? 'TotpEnrollment' : 'Verifier',
})
abstract class AnyVerifier {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  userId!: string
  @Field(() => VerifierTypeEnum)
  type!: VerifierType
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Boolean)
  mustChange!: boolean
  @Field(() => Timestamp, { nullable: true })
  expiresAt!: number | null
  @Field(() => Timestamp, { nullable: true })
  lastUsedAt!: number | null
  @Field(() => String, { nullable: true })
  createdBy!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType({ implements: AnyVerifier, description: 'A stored credential of a user, without its secret.' })
export class Verifier extends AnyVerifier {}

@ObjectType({
  implements: AnyVerifier,
  description: 'A TOTP verifier that is not confirmed yet. Complete it with `completeEnrollment` within ten minutes.',
})
export class TotpEnrollment extends AnyVerifier {
  @Field(() => ID)
  @Once()
  enrollmentId!: string
  @Field(() => String, { description: 'The secret in base32. Only the response to `createVerifier` contains it.' })
  @Once()
  secret!: string
  @Field(() => String, { description: 'The otpauth URI to display as a QR code. It contains the secret.' })
  @Once()
  provisioningUri!: string
}

@ObjectType({ implements: AnyVerifier, description: 'A new set of backup codes.' })
export class NewBackupCodes extends AnyVerifier {
  @Field(() => [String], {
    description: 'Ten codes, each of which can be used once. Only the response to `createVerifier` contains them.',
  })
  @Once()
  codesPlain!: string[]
}

@ObjectType({ description: 'The public properties of a passkey.' })
class Passkey {
  @Field(() => String, { description: 'The credential ID in base64url.' })
  credentialId!: string
  @Field(() => Int, { description: 'The COSE algorithm of the key: -7 (ES256), -8 (EdDSA) or -257 (RS256).' })
  algorithm!: number
  @Field(() => [String])
  transports!: string[]
  @Field(() => String, { nullable: true, description: 'The identifier of the authenticator model.' })
  aaguid!: string | null
  @Field(() => String, { nullable: true })
  rpId!: string | null
  @Field(() => Boolean, { nullable: true })
  backupEligible!: boolean | null
  @Field(() => Boolean, { nullable: true })
  backupState!: boolean | null
}

@ObjectType({ description: 'A challenge for registering a passkey in a browser.' })
class PasskeyChallenge {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  challengeId!: string
  @Field(() => JSONObject, { description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn level 3).' })
  options!: object
  @Field(() => Timestamp)
  expiresAt!: number
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class VerifierPage extends pageType(Verifier) {}

@ArgsType()
class VerifiersPath extends IssuerPath {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class VerifierPath extends VerifiersPath {
  @Field(() => ID)
  verifierId!: string
}

@InputType()
class CreateVerifierInput {
  @Field(() => VerifierTypeEnum)
  type!: VerifierType
  @Field(() => String, {
    nullable: true,
    description: 'Required for a password (null means no name) and for a temporary_password (not null).',
  })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => String, { nullable: true })
  password?: string | null
  @Field(() => Boolean, { nullable: true })
  mustChange?: boolean | null
  @Field(() => Timestamp, { nullable: true })
  expiresAt?: number | null
  @Field(() => String, { nullable: true })
  createdBy?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'For a totp_enrollment: the issuer name in the authenticator app.',
  })
  issuerName?: string | null
  @Field(() => String, { nullable: true, description: 'For a passkey: the credential ID in base64url.' })
  credentialId?: string | null
  @Field(() => String, { nullable: true, description: 'For a passkey: the public key, a COSE_Key in base64url.' })
  publicKey?: string | null
  @Field(() => Int, {
    nullable: true,
    description:
      'For a passkey: the COSE algorithm of `publicKey`, which is -7 (ES256), -8 (EdDSA) or -257 (RS256). If given, it must match the key.',
  })
  algorithm?: number | null
  @Field(() => Int, { nullable: true })
  signCount?: number | null
  @Field(() => [String], { nullable: true })
  transports?: string[] | null
  @Field(() => String, { nullable: true })
  aaguid?: string | null
  @Field(() => String, { nullable: true })
  rpId?: string | null
  @Field(() => Boolean, { nullable: true })
  backupEligible?: boolean | null
  @Field(() => Boolean, { nullable: true })
  backupState?: boolean | null
  @Field(() => JSONObject, {
    nullable: true,
    description:
      'For a passkey: the RegistrationResponseJSON (WebAuthn level 3) of the browser. Use it with `challengeId` instead of `credentialId`, `publicKey` and the other fields of the key.',
  })
  credential?: object | null
  @Field(() => ID, { nullable: true, description: 'For a passkey: the challenge to which `credential` responds.' })
  challengeId?: string | null
}

@InputType()
class PasskeyChallengeInput {
  @Field(() => String, {
    nullable: true,
    description:
      'The relying party ID: the host of the IdP (the default), or a verified domain that is assigned to the issuer.',
  })
  rpId?: string | null
}

@InputType()
class CompleteEnrollmentInput {
  @Field(() => ID)
  enrollmentId!: string
  @Field(() => String, { description: 'The code that the authenticator app shows.' })
  code!: string
}

@InputType()
class UpdateVerifierInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => String, { nullable: true, description: "A new password. It ends the user's sessions." })
  password?: string | null
  @Field(() => Boolean, { nullable: true })
  mustChange?: boolean | null
  @Field(() => Timestamp, { nullable: true })
  expiresAt?: number | null
}

@Resolver(() => Verifier)
export class VerifierResolver {
  @Query(() => VerifierPage, { nullable: true })
  @Scope('issuers.users.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Args(() => VerifiersPath) path: VerifiersPath,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listVerifiers(context, path, page)
  }

  @Query(() => Verifier, { nullable: true })
  @Scope('issuers.users.verifiers', 'read')
  verifier(@Ctx() context: Context, @Args(() => VerifierPath) path: VerifierPath) {
    return getVerifier(context, path)
  }

  @Mutation(() => AnyVerifier)
  @Scope('issuers.users.verifiers', 'write')
  @ReturnsSecret(({ type }) => (type === 'backup_codes' ? 'never' : type === 'totp_enrollment' ? 'encrypted' : 'plain'))
  createVerifier(
    @Ctx() context: Context,
    @Args(() => VerifiersPath) path: VerifiersPath,
    @Arg('input', () => CreateVerifierInput) input: CreateVerifierInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createVerifier(context, path, input)
  }

  @Mutation(() => Verifier)
  @Scope('issuers.users.verifiers', 'write')
  updateVerifier(
    @Ctx() context: Context,
    @Args(() => VerifierPath) path: VerifierPath,
    @Arg('input', () => UpdateVerifierInput) input: UpdateVerifierInput,
  ) {
    return updateVerifier(context, path, input)
  }

  @Mutation(() => PasskeyChallenge, { description: 'Starts the registration of a passkey in a browser.' })
  @Scope('issuers.users.verifiers', 'write')
  challengePasskey(
    @Ctx() context: Context,
    @Args(() => VerifiersPath) path: VerifiersPath,
    @Arg('input', () => PasskeyChallengeInput, { nullable: true }) input?: PasskeyChallengeInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createPasskeyChallenge(context, path, input)
  }

  @Mutation(() => Verifier, {
    description:
      'Completes a TOTP enrollment and returns the TOTP verifier. After five wrong codes the enrollment is invalid.',
  })
  @Scope('issuers.users.verifiers', 'write')
  @ReturnsSecret()
  completeEnrollment(
    @Ctx() context: Context,
    @Args(() => VerifiersPath) path: VerifiersPath,
    @Arg('input', () => CompleteEnrollmentInput) input: CompleteEnrollmentInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return completeEnrollment(context, path, input)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.users.verifiers', 'delete')
  async deleteVerifier(@Ctx() context: Context, @Args(() => VerifierPath) path: VerifierPath) {
    await deleteVerifier(context, path)
    return true
  }

  @FieldResolver(() => Passkey, { nullable: true, description: 'The properties of a passkey; null for other types.' })
  @GraphqlOnly()
  passkey(@Root() verifier: VerifierRow): Passkey | null {
    if (verifier.type !== 'passkey') return null
    const { algorithm, transports, aaguid, ...facts } = verifier.data as unknown as PasskeyData
    return {
      credentialId: verifier.credentialId ?? '',
      algorithm,
      transports,
      aaguid,
      rpId: facts.rp_id,
      backupEligible: facts.backup_eligible,
      backupState: facts.backup_state,
    }
  }
}
