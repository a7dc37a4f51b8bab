import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  ID,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { enumOf, IssuerPlace, idempotencyKeyArg, JSONObject, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import {
  createVerifier,
  deleteVerifier,
  getVerifier,
  listVerifiers,
  updateVerifier,
  type VerifierType,
  verifierTypes,
} from './verifiers.js'

export const VerifierTypeEnum = enumOf(verifierTypes)
registerEnumType(VerifierTypeEnum, { name: 'VerifierType' })

@ObjectType({ description: 'A credential of a user (spec 2.7). Secrets and hashes are never shown.' })
export class Verifier {
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

@ObjectType()
class VerifierPage extends pageType(Verifier) {}

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
  @Field(() => String, { nullable: true, description: 'Must be given; null for no name.' })
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

  @Mutation(() => Verifier)
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

  @Mutation(() => Boolean)
  @Scope('issuers.users.verifiers', 'delete')
  async deleteVerifier(@Ctx() context: Context, @Args(() => VerifierPlace) place: VerifierPlace) {
    await deleteVerifier(context, place)
    return true
  }
}
