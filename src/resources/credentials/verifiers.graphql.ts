import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Verifier as VerifierRow } from '../../platform/postgres/database.js'
import { Input, UpdateInput } from '../declaration.js'
import { IdempotencyKey, NullableQuery, PageArgs, ReturnsSecret, Scope, trueAfter, UserPath } from '../graphql-types.js'
import {
  CompleteEnrollmentInput,
  CreateVerifierInput,
  PasskeyChallenge,
  PasskeyChallengeInput,
} from './new-verifier.js'
import { createPasskeyChallenge } from './passkey-challenge.js'
import type { PasskeyData } from './passkey-data.js'
import { completeEnrollment } from './totp.js'
import { AnyVerifier, type Passkey, Verifier, VerifierPage, VerifierPath } from './verifier.js'
import { createRules } from './verifier-kinds.js'
import { createVerifier, deleteVerifier, getVerifier, listVerifiers, updateVerifier } from './verifiers.js'

@Resolver(() => Verifier)
export class VerifierResolver {
  @NullableQuery(() => VerifierPage, 'Lists the credentials of a user, newest first.')
  @Scope('issuers.users.verifiers', 'read')
  verifiers(@Ctx() context: Context, @Args() path: UserPath, @Args() page: PageArgs) {
    return listVerifiers(context, path, page)
  }

  @NullableQuery(
    () => Verifier,
    'Returns a credential of a user, without its secret. Null with an error for an unknown id.',
  )
  @Scope('issuers.users.verifiers', 'read')
  verifier(@Ctx() context: Context, @Args() path: VerifierPath) {
    return getVerifier(context, path)
  }

  @Mutation(() => AnyVerifier, {
    description:
      'Creates a credential. The response for a totp_enrollment has the type TotpEnrollment, and for backup_codes NewBackupCodes; only these responses contain the secrets.',
  })
  @IdempotencyKey()
  @Scope('issuers.users.verifiers', 'write')
  @ReturnsSecret(({ type }) => (type === 'backup_codes' ? 'never' : type === 'totp_enrollment' ? 'encrypted' : 'plain'))
  createVerifier(
    @Ctx() context: Context,
    @Args() path: UserPath,
    @Input(CreateVerifierInput, { rules: createRules }) input: object,
  ) {
    return createVerifier(context, path, input)
  }

  @Mutation(() => Verifier, {
    description:
      'Changes the given fields of a credential. Only passwords have more fields than the name, description and metadata that can be changed.',
  })
  @Scope('issuers.users.verifiers', 'write')
  updateVerifier(@Ctx() context: Context, @Args() path: VerifierPath, @UpdateInput(Verifier) input: object) {
    return updateVerifier(context, path, input)
  }

  @Mutation(() => PasskeyChallenge, {
    description:
      'Starts the registration of a passkey in a browser. `createVerifier` takes the response of the browser.',
  })
  @IdempotencyKey()
  @Scope('issuers.users.verifiers', 'write')
  challengePasskey(
    @Ctx() context: Context,
    @Args() path: UserPath,
    @Input(PasskeyChallengeInput, { nullable: true }) input?: object | null,
  ) {
    return createPasskeyChallenge(context, path, input)
  }

  @Mutation(() => Verifier, {
    description:
      'Completes a TOTP enrollment and returns the TOTP verifier. After five wrong codes the enrollment is invalid.',
  })
  @IdempotencyKey()
  @Scope('issuers.users.verifiers', 'write')
  @ReturnsSecret()
  completeEnrollment(@Ctx() context: Context, @Args() path: UserPath, @Input(CompleteEnrollmentInput) input: object) {
    return completeEnrollment(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Deletes a credential. The user can no longer sign in with it.' })
  @Scope('issuers.users.verifiers', 'delete')
  deleteVerifier(@Ctx() context: Context, @Args() path: VerifierPath) {
    return trueAfter(deleteVerifier(context, path))
  }

  @FieldResolver()
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
