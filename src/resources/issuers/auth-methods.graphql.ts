import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { AuthMethod as AuthMethodRow } from '../../platform/postgres/database.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { IdempotencyKey, IfMatch, IssuerPath, NullableQuery, PageArgs, Scope, trueAfter } from '../graphql-types.js'
import { AuthMethod, AuthMethodPage, AuthMethodPath } from './auth-method.js'
import { publicSettings } from './auth-method-settings.js'
import {
  createAuthMethod,
  deleteAuthMethod,
  getAuthMethod,
  listAuthMethods,
  readinessMessageOf,
  updateAuthMethod,
} from './auth-methods.js'
import { isUpstreamKind, upstreamRedirectUri } from './upstream-settings.js'

@Resolver(() => AuthMethod)
export class AuthMethodResolver {
  @NullableQuery(() => AuthMethodPage, 'Lists the authentication methods of an issuer, newest first.')
  @Scope('issuers.auth_methods', 'read')
  authMethods(@Ctx() context: Context, @Args() path: IssuerPath, @Args() page: PageArgs) {
    return listAuthMethods(context, path, page)
  }

  @NullableQuery(() => AuthMethod, 'Returns an authentication method, without the secret of its provider.')
  @Scope('issuers.auth_methods', 'read')
  authMethod(@Ctx() context: Context, @Args() path: AuthMethodPath) {
    return getAuthMethod(context, path)
  }

  @Mutation(() => AuthMethod, {
    description:
      'Adds an authentication method to an issuer. If existing users can sign in with it, the caller needs every platform scope of the users of the issuer.',
  })
  @IdempotencyKey()
  @Scope('issuers.auth_methods', 'write')
  createAuthMethod(@Ctx() context: Context, @Args() path: IssuerPath, @CreateInput(AuthMethod) input: object) {
    return createAuthMethod(context, path, input)
  }

  @Mutation(() => AuthMethod, {
    description:
      'Changes the given fields of an authentication method. If the change affects how existing users sign in, the caller needs every platform scope of the users of the issuer.',
  })
  @Scope('issuers.auth_methods', 'write')
  updateAuthMethod(
    @Ctx() context: Context,
    @Args() path: AuthMethodPath,
    @UpdateInput(AuthMethod) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateAuthMethod(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description: 'Deletes an authentication method. Users can no longer authenticate with it.',
  })
  @Scope('issuers.auth_methods', 'delete')
  deleteAuthMethod(@Ctx() context: Context, @Args() path: AuthMethodPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteAuthMethod(context, path, ifMatch))
  }

  @FieldResolver()
  settings(@Root() method: AuthMethodRow): object {
    return publicSettings(method)
  }

  @FieldResolver()
  callbackUrl(@Root() { id, issuerId, method }: AuthMethodRow, @Ctx() { config }: Context): string | null {
    return isUpstreamKind(method) ? upstreamRedirectUri(config, issuerId, id) : null
  }

  @FieldResolver()
  ready(@Root() method: AuthMethodRow): boolean {
    return readinessMessageOf(method) === null
  }

  @FieldResolver()
  notReadyReason(@Root() method: AuthMethodRow): string | null {
    return readinessMessageOf(method)
  }
}
