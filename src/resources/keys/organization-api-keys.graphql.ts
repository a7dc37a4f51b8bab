import { Arg, Args, ArgsType, Ctx, Field, ID, InputType, Mutation, Query, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import {
  idempotencyKeyArg,
  ifMatchArg,
  OrganizationPath,
  RecentSignIn,
  ReturnsSecret,
  Scope,
} from '../graphql-types.js'
import {
  ApiKey,
  ApiKeyFilter,
  ApiKeyPage,
  ApiKeyTypeEnum,
  CreateApiKeyInput,
  KeyActionInput,
  RotateApiKeyInput,
  UpdateApiKeyInput,
  withPlainSecret,
} from './api-keys.graphql.js'
import { createApiKey, getApiKey, listApiKeys, updateApiKey } from './api-keys.js'
import { blockApiKey, deleteApiKey, revokeApiKey, rotateApiKey, unblockApiKey } from './transitions.js'

@ArgsType()
class OrganizationKeyPath extends OrganizationPath {
  @Field(() => ID)
  keyId!: string
}

@InputType()
class CreateOrganizationApiKeyInput extends CreateApiKeyInput {
  @Field(() => ApiKeyTypeEnum)
  type!: 'api_key'
}

/**
 * Operations for API keys of organizations, which have paths and scopes of their own
 * (docs/contract.md#api-key-endpoints).
 */
@Resolver()
export class OrganizationApiKeyResolver {
  @Query(() => ApiKeyPage, { nullable: true })
  @Scope('issuers.organizations.api_keys', 'read')
  organizationApiKeys(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Args(() => ApiKeyFilter) filter: ApiKeyFilter,
  ) {
    return listApiKeys(context, path, filter, filter)
  }

  @Query(() => ApiKey, { nullable: true })
  @Scope('issuers.organizations.api_keys', 'read')
  organizationApiKey(@Ctx() context: Context, @Args(() => OrganizationKeyPath) path: OrganizationKeyPath) {
    return getApiKey(context, path)
  }

  @Mutation(() => ApiKey, {
    description:
      'Creates an API key. The secret is shown once. A repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('issuers.organizations.api_keys', 'write')
  @RecentSignIn()
  @ReturnsSecret()
  async createOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('input', () => CreateOrganizationApiKeyInput) input: CreateOrganizationApiKeyInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withPlainSecret(await createApiKey(context, path, input))
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  updateOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('input', () => UpdateApiKeyInput) input: UpdateApiKeyInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateApiKey(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Revokes the key permanently.' })
  @Scope('issuers.organizations.api_keys', 'delete')
  async deleteOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteApiKey(context, path, ifMatch)
    return true
  }

  @Mutation(() => ApiKey, {
    description:
      'Rotates the secret and shows the new one once. The old one is valid for another 15 minutes. A repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('issuers.organizations.api_keys', 'write')
  @RecentSignIn()
  @ReturnsSecret()
  async rotateOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('input', () => RotateApiKeyInput, { nullable: true }) input?: RotateApiKeyInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withPlainSecret(await rotateApiKey(context, path, input))
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  blockOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return blockApiKey(context, path, input)
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  unblockOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return unblockApiKey(context, path)
  }

  @Mutation(() => ApiKey, { description: 'Revokes the key permanently. A repeated request changes nothing.' })
  @Scope('issuers.organizations.api_keys', 'delete')
  revokeOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPath) path: OrganizationKeyPath,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeApiKey(context, path, input)
  }
}
