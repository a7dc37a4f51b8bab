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
import type { AuthMethod as AuthMethodRow } from '../../platform/postgres/database.js'
import {
  enumOf,
  GraphqlOnly,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { publicSettings } from './auth-method-settings.js'
import {
  type AuthMethodKind,
  authMethodKinds,
  createAuthMethod,
  deleteAuthMethod,
  getAuthMethod,
  listAuthMethods,
  readinessMessageOf,
  updateAuthMethod,
} from './auth-methods.js'
import { isUpstreamKind, upstreamRedirectUri } from './upstream-settings.js'

export const AuthMethodKindEnum = enumOf(authMethodKinds)
registerEnumType(AuthMethodKindEnum, { name: 'AuthMethodKind' })

@ObjectType({ description: 'A method with which users sign in at an issuer.' })
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
class AuthMethodPath extends IssuerPath {
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
    description: 'Must be true for oidc, oauth2, apple and github, and absent for other methods.',
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
  @Query(() => AuthMethodPage, { nullable: true })
  @Scope('issuers.auth_methods', 'read')
  authMethods(@Ctx() context: Context, @Args(() => IssuerPath) path: IssuerPath, @Args(() => PageArgs) page: PageArgs) {
    return listAuthMethods(context, path, page)
  }

  @Query(() => AuthMethod, { nullable: true })
  @Scope('issuers.auth_methods', 'read')
  authMethod(@Ctx() context: Context, @Args(() => AuthMethodPath) path: AuthMethodPath) {
    return getAuthMethod(context, path)
  }

  @Mutation(() => AuthMethod)
  @Scope('issuers.auth_methods', 'write')
  createAuthMethod(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => CreateAuthMethodInput) input: CreateAuthMethodInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createAuthMethod(context, path, input)
  }

  @Mutation(() => AuthMethod)
  @Scope('issuers.auth_methods', 'write')
  updateAuthMethod(
    @Ctx() context: Context,
    @Args(() => AuthMethodPath) path: AuthMethodPath,
    @Arg('input', () => UpdateAuthMethodInput) input: UpdateAuthMethodInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAuthMethod(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.auth_methods', 'delete')
  async deleteAuthMethod(
    @Ctx() context: Context,
    @Args(() => AuthMethodPath) path: AuthMethodPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteAuthMethod(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => JSONObject, {
    description:
      'The settings without secrets. `client_secret_set` or `private_key_set` says whether the secret of a federated method is set.',
  })
  settings(@Root() method: AuthMethodRow): object {
    return publicSettings(method)
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      'The redirect URI to register with the provider, for oidc, oauth2, apple and github. Null for other methods.',
  })
  callbackUrl(@Root() { id, issuerId, method }: AuthMethodRow, @Ctx() { config }: Context): string | null {
    return isUpstreamKind(method) ? upstreamRedirectUri(config, issuerId, id) : null
  }

  @FieldResolver(() => Boolean, {
    description:
      'False if a federated method cannot work with its settings. The sign-in page does not offer such a method.',
  })
  @GraphqlOnly()
  ready(@Root() method: AuthMethodRow): boolean {
    return readinessMessageOf(method) === null
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: 'Why the method is not ready, and how to fix its settings. Null if the method is ready.',
  })
  @GraphqlOnly()
  notReadyReason(@Root() method: AuthMethodRow): string | null {
    return readinessMessageOf(method)
  }
}
