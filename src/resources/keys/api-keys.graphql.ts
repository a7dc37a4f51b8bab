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
import type { ApiKey as ApiKeyRow } from '../../platform/database.js'
import { loader } from '../../platform/loader.js'
import {
  AccountPlace,
  enumOf,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  RecentSignIn,
  Scope,
  Timestamp,
} from '../graphql.js'
import {
  type ApiKeyWithSecret,
  createApiKey,
  getApiKey,
  type KeyOfOwner,
  listApiKeys,
  restrictionsOf,
  updateApiKey,
} from './api-keys.js'
import { suspensionsOf } from './relations.js'
import { type ApiKeyStatus, apiKeyStatuses, keyStatus } from './states.js'
import { blockApiKey, deleteApiKey, revokeApiKey, rotateApiKey, unblockApiKey } from './transitions.js'

export const ApiKeyStatusEnum = enumOf(apiKeyStatuses)
registerEnumType(ApiKeyStatusEnum, { name: 'ApiKeyStatus' })
export const ApiKeyTypeEnum = enumOf(['api_key'] as const)
registerEnumType(ApiKeyTypeEnum, { name: 'ApiKeyType' })

@ObjectType({ description: 'Authenticates an account or an organization for service-to-service use (spec 2.11).' })
export class ApiKey {
  @Field(() => ID)
  id!: string
  @Field(() => String)
  accountId!: string
  @Field(() => ID, { nullable: true, description: "Of an organization's key." })
  issuerId!: string | null
  @Field(() => ID, { nullable: true, description: "Of an organization's key." })
  orgId!: string | null
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => [String])
  tags!: string[]
  @Field(() => JSONObject)
  restrictions!: object
  @Field(() => String, { description: 'The end of the secret, or the hint given for it.' })
  secretHint!: string
  @Field(() => Timestamp, { nullable: true })
  expiresAt!: number | null
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp, { nullable: true })
  statusAt!: number | null
  @Field(() => String, { nullable: true })
  statusBy!: string | null
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => String, { nullable: true, description: 'The secret, in the answer that made it and never again.' })
  secretPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class ApiKeyPage extends pageType(ApiKey) {}

@ArgsType()
class ApiKeyPlace extends AccountPlace {
  @Field(() => ID)
  keyId!: string
}

@ArgsType()
export class ApiKeyFilter extends PageArgs {
  @Field(() => ApiKeyStatusEnum, { nullable: true })
  status?: ApiKeyStatus | null
}

@InputType()
export class CreateApiKeyInput {
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => [String], { nullable: true })
  tags?: string[] | null
  @Field(() => JSONObject, { description: 'scopes, issuer_ids, org_ids, ip_allowlist; {} restricts nothing.' })
  restrictions!: object
  @Field(() => Timestamp, { nullable: true })
  expiresAt?: number | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => String, { nullable: true, description: 'A secret of your own, 32 to 256 characters.' })
  secret?: string | null
}

@InputType()
export class UpdateApiKeyInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => [String], { nullable: true })
  tags?: string[] | null
  @Field(() => [String], { nullable: true, description: 'Writes restrictions.scopes; null lifts that restriction.' })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  restrictions?: object | null
  @Field(() => Timestamp, { nullable: true })
  expiresAt?: number | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
export class RotateApiKeyInput {
  @Field(() => String, { nullable: true })
  newSecret?: string | null
  @Field(() => String, { nullable: true })
  hint?: string | null
}

@InputType()
export class KeyActionInput {
  @Field(() => String, { nullable: true })
  by?: string | null
  @Field(() => String, { nullable: true })
  reason?: string | null
}

export const once = ({ key, secret }: ApiKeyWithSecret) => ({ ...key, secretPlain: secret })

@Resolver(() => ApiKey)
export class ApiKeyResolver {
  @Query(() => ApiKeyPage)
  @Scope('api_keys', 'read')
  apiKeys(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Args(() => ApiKeyFilter) filter: ApiKeyFilter,
  ) {
    return listApiKeys(context, place, filter, filter)
  }

  @Query(() => ApiKey)
  @Scope('api_keys', 'read')
  apiKey(@Ctx() context: Context, @Args(() => ApiKeyPlace) place: ApiKeyPlace) {
    return getApiKey(context, place)
  }

  @Mutation(() => ApiKey, { description: 'The secret is in the answer, once. Never replayed.' })
  @Scope('api_keys', 'write')
  @RecentSignIn()
  async createApiKey(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreateApiKeyInput) input: CreateApiKeyInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createApiKey(context, place, input))
  }

  @Mutation(() => ApiKey)
  @Scope('api_keys', 'write')
  updateApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('input', () => UpdateApiKeyInput) input: UpdateApiKeyInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateApiKey(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Revokes the key for good.' })
  @Scope('api_keys', 'delete')
  async deleteApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteApiKey(context, place, ifMatch)
    return true
  }

  @Mutation(() => ApiKey, { description: 'A new secret, once; the old one stays good for 15 minutes. Never replayed.' })
  @Scope('api_keys', 'write')
  @RecentSignIn()
  async rotateApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('input', () => RotateApiKeyInput, { nullable: true }) input?: RotateApiKeyInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await rotateApiKey(context, place, input))
  }

  @Mutation(() => ApiKey)
  @Scope('api_keys', 'write')
  blockApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return blockApiKey(context, place, input)
  }

  @Mutation(() => ApiKey)
  @Scope('api_keys', 'write')
  unblockApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return unblockApiKey(context, place)
  }

  @Mutation(() => ApiKey, { description: 'Permanent; repeating it changes nothing.' })
  @Scope('api_keys', 'delete')
  revokeApiKey(
    @Ctx() context: Context,
    @Args(() => ApiKeyPlace) place: ApiKeyPlace,
    @Arg('input', () => KeyActionInput, { nullable: true }) input?: KeyActionInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeApiKey(context, place, input)
  }

  @FieldResolver(() => ApiKeyStatusEnum)
  async status(@Ctx() context: Context, @Root() key: KeyOfOwner): Promise<ApiKeyStatus> {
    const { orgId } = key
    const suspended = key.suspended ?? (orgId !== null && (await loader(context, suspensionsOf).load(orgId)))
    return keyStatus(context, key, suspended)
  }

  @FieldResolver(() => ApiKeyTypeEnum)
  type(): string {
    return 'api_key'
  }

  @FieldResolver(() => [String], { nullable: true, description: 'As in restrictions; null for all.' })
  scopes(@Root() key: ApiKeyRow): string[] | null {
    return restrictionsOf(key).scopes ?? null
  }
}
