import { Arg, Args, ArgsType, Ctx, Field, ID, InputType, Mutation, Query, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { idempotencyKeyArg, ifMatchArg, OrganizationPlace, RecentSignIn, Scope } from '../graphql.js'
import {
  ApiKey,
  ApiKeyFilter,
  ApiKeyPage,
  ApiKeyTypeEnum,
  CreateApiKeyInput,
  KeyActionInput,
  once,
  RotateApiKeyInput,
  UpdateApiKeyInput,
} from './api-keys.graphql.js'
import { createApiKey, getApiKey, listApiKeys, updateApiKey } from './api-keys.js'
import { blockApiKey, deleteApiKey, revokeApiKey, rotateApiKey, unblockApiKey } from './transitions.js'

@ArgsType()
class OrganizationKeyPlace extends OrganizationPlace {
  @Field(() => ID)
  keyId!: string
}

@InputType()
class CreateOrganizationApiKeyInput extends CreateApiKeyInput {
  @Field(() => ApiKeyTypeEnum)
  type!: 'api_key'
}

/** Keys of an organization: the operations of an account's keys at another place and under another scope (spec 4.8). */
@Resolver()
export class OrganizationApiKeyResolver {
  @Query(() => ApiKeyPage)
  @Scope('issuers.organizations.api_keys', 'read')
  organizationApiKeys(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Args(() => ApiKeyFilter) filter: ApiKeyFilter,
  ) {
    return listApiKeys(context, place, filter, filter)
  }

  @Query(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'read')
  organizationApiKey(@Ctx() context: Context, @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace) {
    return getApiKey(context, place)
  }

  @Mutation(() => ApiKey, { description: 'The secret is in the answer, once. Never replayed.' })
  @Scope('issuers.organizations.api_keys', 'write')
  @RecentSignIn()
  async createOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('input', () => CreateOrganizationApiKeyInput) input: CreateOrganizationApiKeyInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createApiKey(context, place, input))
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  updateOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('input', () => UpdateApiKeyInput) input: UpdateApiKeyInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateApiKey(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Revokes the key for good.' })
  @Scope('issuers.organizations.api_keys', 'delete')
  async deleteOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteApiKey(context, place, ifMatch)
    return true
  }

  @Mutation(() => ApiKey, { description: 'A new secret, once; the old one stays good for 15 minutes. Never replayed.' })
  @Scope('issuers.organizations.api_keys', 'write')
  @RecentSignIn()
  async rotateOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('input', () => RotateApiKeyInput, { nullable: true }) input?: RotateApiKeyInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await rotateApiKey(context, place, input))
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  blockOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return blockApiKey(context, place, input)
  }

  @Mutation(() => ApiKey)
  @Scope('issuers.organizations.api_keys', 'write')
  unblockOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return unblockApiKey(context, place)
  }

  @Mutation(() => ApiKey, { description: 'Permanent; repeating it changes nothing.' })
  @Scope('issuers.organizations.api_keys', 'delete')
  revokeOrganizationApiKey(
    @Ctx() context: Context,
    @Args(() => OrganizationKeyPlace) place: OrganizationKeyPlace,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeApiKey(context, place, input)
  }
}
