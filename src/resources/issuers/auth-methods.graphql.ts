import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { AuthMethod as AuthMethodRow } from '../../platform/database.js'
import {
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import {
  type AuthMethodKind,
  authMethodKinds,
  createAuthMethod,
  deleteAuthMethod,
  getAuthMethod,
  listAuthMethods,
  notReady,
  shownSettings,
  updateAuthMethod,
} from './auth-methods.js'
import { callbackUrl, isUpstreamKind } from './upstream-settings.js'

export const AuthMethodKindEnum = enumOf(authMethodKinds)
registerEnumType(AuthMethodKindEnum, { name: 'AuthMethodKind' })

@ObjectType({ description: 'How people sign in at an issuer (spec 2.4).' })
export class AuthMethod {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => String)
  name!: string
  @Field(() => AuthMethodKindEnum)
  method!: AuthMethodKind
  @Field(() => Boolean)
  enabledLogin!: boolean
  @Field(() => Boolean)
  enabledSignup!: boolean
  @Field(() => Boolean)
  featured!: boolean
  @Field(() => Boolean)
  firstFactorOnly!: boolean
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class AuthMethodPage extends pageType(AuthMethod) {}

@ArgsType()
class AuthMethodPlace extends IssuerPlace {
  @Field(() => ID)
  methodId!: string
}

@InputType()
class CreateAuthMethodInput {
  @Field(() => String)
  name!: string
  @Field(() => AuthMethodKindEnum)
  method!: AuthMethodKind
  @Field(() => Boolean, { nullable: true })
  enabledLogin?: boolean | null
  @Field(() => Boolean, { nullable: true })
  enabledSignup?: boolean | null
  @Field(() => Boolean, { nullable: true })
  featured?: boolean | null
  @Field(() => Boolean, {
    nullable: true,
    description: 'true for oidc, oauth2, apple and github; absent for the others.',
  })
  firstFactorOnly?: boolean | null
  @Field(() => JSONObject, { nullable: true, description: 'Required for oidc, oauth2, apple and github.' })
  settings?: object | null
}

@InputType()
class UpdateAuthMethodInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => AuthMethodKindEnum, { nullable: true, description: 'Cannot be changed.' })
  method?: AuthMethodKind | null
  @Field(() => Boolean, { nullable: true })
  enabledLogin?: boolean | null
  @Field(() => Boolean, { nullable: true })
  enabledSignup?: boolean | null
  @Field(() => Boolean, { nullable: true })
  featured?: boolean | null
  @Field(() => Boolean, { nullable: true })
  firstFactorOnly?: boolean | null
  @Field(() => JSONObject, { nullable: true, description: 'A JSON Merge Patch (RFC 7396).' })
  settings?: object | null
}

@Resolver(() => AuthMethod)
export class AuthMethodResolver {
  @Query(() => AuthMethodPage)
  @Scope('issuers.auth_methods', 'read')
  authMethods(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listAuthMethods(context, place, page)
  }

  @Query(() => AuthMethod)
  @Scope('issuers.auth_methods', 'read')
  authMethod(@Ctx() context: Context, @Args(() => AuthMethodPlace) place: AuthMethodPlace) {
    return getAuthMethod(context, place)
  }

  @Mutation(() => AuthMethod)
  @Scope('issuers.auth_methods', 'write')
  createAuthMethod(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => CreateAuthMethodInput) input: CreateAuthMethodInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createAuthMethod(context, place, input)
  }

  @Mutation(() => AuthMethod)
  @Scope('issuers.auth_methods', 'write')
  updateAuthMethod(
    @Ctx() context: Context,
    @Args(() => AuthMethodPlace) place: AuthMethodPlace,
    @Arg('input', () => UpdateAuthMethodInput) input: UpdateAuthMethodInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAuthMethod(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.auth_methods', 'delete')
  async deleteAuthMethod(
    @Ctx() context: Context,
    @Args(() => AuthMethodPlace) place: AuthMethodPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteAuthMethod(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => JSONObject, { description: 'Secrets are only said to be there (client_secret_set).' })
  settings(@Root() method: AuthMethodRow): object {
    return shownSettings(method)
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: 'Of oidc, oauth2, apple and github: the address to register there. Null for the others.',
  })
  callbackUrl(@Root() { id, issuerId, method }: AuthMethodRow, @Ctx() { config }: Context): string | null {
    return isUpstreamKind(method) ? callbackUrl(config, issuerId, id) : null
  }

  @FieldResolver(() => Boolean, {
    description: 'False for a provider method whose settings are not complete yet. The sign-in page does not offer it.',
  })
  ready(@Root() method: AuthMethodRow): boolean {
    return notReady(method) === null
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: 'Why the method cannot be used yet, and how to fix it. Null when it is ready.',
  })
  notReadyReason(@Root() method: AuthMethodRow): string | null {
    return notReady(method)
  }
}
