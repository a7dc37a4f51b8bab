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
import type { Verifier as VerifierRow } from '../../platform/database.js'
import { enumOf, IssuerPlace, idempotencyKeyArg, JSONObject, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import { type VerifierType, verifierTypes } from './kinds.js'
import type { PasskeyFacts } from './passkey.js'
import { challengePasskey } from './passkey-challenge.js'
import { completeEnrollment } from './totp.js'
import { createVerifier, deleteVerifier, getVerifier, listVerifiers, updateVerifier } from './verifiers.js'

export const VerifierTypeEnum = enumOf(verifierTypes)
registerEnumType(VerifierTypeEnum, { name: 'VerifierType' })

/** What all of them have. A creation answers with the type that its kind shows something more by, once. */
@InterfaceType({
  description: 'A credential of a user (spec 2.7). Secrets and hashes are never shown, but for what is shown once.',
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

@ObjectType({ implements: AnyVerifier, description: 'A verifier as it stands.' })
export class Verifier extends AnyVerifier {}

@ObjectType({ implements: AnyVerifier, description: 'A totp in the making: complete it within ten minutes.' })
export class TotpEnrollment extends AnyVerifier {
  @Field(() => ID)
  enrollmentId!: string
  @Field(() => String, { description: 'In base32; shown once.' })
  secret!: string
  @Field(() => String, { description: 'To be shown as a QR code; shown once.' })
  provisioningUri!: string
}

@ObjectType({ implements: AnyVerifier, description: 'Backup codes in the answer that made them.' })
export class NewBackupCodes extends AnyVerifier {
  @Field(() => [String], { description: 'Ten codes, each good once; shown once.' })
  codesPlain!: string[]
}

@ObjectType({ description: 'The public facts of a passkey.' })
class Passkey {
  @Field(() => String, { description: 'In base64url.' })
  credentialId!: string
  @Field(() => Int, { description: 'A COSE algorithm: -7 ES256, -8 EdDSA, -257 RS256.' })
  algorithm!: number
  @Field(() => [String])
  transports!: string[]
  @Field(() => String, { nullable: true, description: 'The make of the authenticator.' })
  aaguid!: string | null
  @Field(() => String, { nullable: true })
  rpId!: string | null
  @Field(() => Boolean, { nullable: true })
  backupEligible!: boolean | null
  @Field(() => Boolean, { nullable: true })
  backupState!: boolean | null
}

@ObjectType({ description: 'A challenge for the browser that registers a passkey.' })
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
class VerifiersPlace extends IssuerPlace {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class VerifierPlace extends VerifiersPlace {
  @Field(() => ID)
  verifierId!: string
}

@InputType()
class CreateVerifierInput {
  @Field(() => VerifierTypeEnum)
  type!: VerifierType
  @Field(() => String, {
    nullable: true,
    description: 'Must be given; null for no name, but for a temporary_password.',
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
  @Field(() => String, { nullable: true, description: 'Of a totp_enrollment: what the app calls this issuer.' })
  issuerName?: string | null
  @Field(() => String, { nullable: true, description: 'Of a passkey, as all that follows: in base64url.' })
  credentialId?: string | null
  @Field(() => String, { nullable: true, description: 'A COSE_Key in base64url.' })
  publicKey?: string | null
  @Field(() => Int, { nullable: true, description: 'If given, that of the key: -7, -8 or -257.' })
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
    description: 'RegistrationResponseJSON (WebAuthn level 3), instead of a key.',
  })
  credential?: object | null
  @Field(() => ID, { nullable: true, description: 'The challenge that `credential` answers.' })
  challengeId?: string | null
}

@InputType()
class PasskeyChallengeInput {
  @Field(() => String, {
    nullable: true,
    description: "The host that the issuer is served under; the IdP's own if not given.",
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
  @Field(() => String, { nullable: true, description: "A new password ends the user's sessions." })
  password?: string | null
  @Field(() => Boolean, { nullable: true })
  mustChange?: boolean | null
  @Field(() => Timestamp, { nullable: true })
  expiresAt?: number | null
}

@Resolver(() => Verifier)
export class VerifierResolver {
  @Query(() => VerifierPage)
  @Scope('issuers.users.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Args(() => VerifiersPlace) place: VerifiersPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listVerifiers(context, place, page)
  }

  @Query(() => Verifier)
  @Scope('issuers.users.verifiers', 'read')
  verifier(@Ctx() context: Context, @Args(() => VerifierPlace) place: VerifierPlace) {
    return getVerifier(context, place)
  }

  @Mutation(() => AnyVerifier)
  @Scope('issuers.users.verifiers', 'write')
  createVerifier(
    @Ctx() context: Context,
    @Args(() => VerifiersPlace) place: VerifiersPlace,
    @Arg('input', () => CreateVerifierInput) input: CreateVerifierInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createVerifier(context, place, input)
  }

  @Mutation(() => Verifier)
  @Scope('issuers.users.verifiers', 'write')
  updateVerifier(
    @Ctx() context: Context,
    @Args(() => VerifierPlace) place: VerifierPlace,
    @Arg('input', () => UpdateVerifierInput) input: UpdateVerifierInput,
  ) {
    return updateVerifier(context, place, input)
  }

  @Mutation(() => PasskeyChallenge, { description: 'Begins the registration of a passkey in a browser.' })
  @Scope('issuers.users.verifiers', 'write')
  challengePasskey(
    @Ctx() context: Context,
    @Args(() => VerifiersPlace) place: VerifiersPlace,
    @Arg('input', () => PasskeyChallengeInput, { nullable: true }) input?: PasskeyChallengeInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return challengePasskey(context, place, input)
  }

  @Mutation(() => Verifier, { description: 'The totp verifier; five wrong codes end the enrolment.' })
  @Scope('issuers.users.verifiers', 'write')
  completeEnrollment(
    @Ctx() context: Context,
    @Args(() => VerifiersPlace) place: VerifiersPlace,
    @Arg('input', () => CompleteEnrollmentInput) input: CompleteEnrollmentInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return completeEnrollment(context, place, input)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.users.verifiers', 'delete')
  async deleteVerifier(@Ctx() context: Context, @Args(() => VerifierPlace) place: VerifierPlace) {
    await deleteVerifier(context, place)
    return true
  }

  @FieldResolver(() => Passkey, { nullable: true, description: 'Null for other kinds.' })
  passkey(@Root() verifier: VerifierRow): Passkey | null {
    if (verifier.type !== 'passkey') return null
    const { algorithm, transports, aaguid, ...facts } = verifier.data as unknown as PasskeyFacts
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
