import { Args, type ClassType, Ctx, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { ScopeResource } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { loader } from '../../platform/postgres/loader.js'
import { CreateInput, Input, UpdateInput } from '../declaration.js'
import {
  AccountPath,
  IdempotencyKey,
  IfMatch,
  OrganizationPath,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import {
  AccountKeyPath,
  ApiKey,
  ApiKeyFilter,
  ApiKeyPage,
  ApiKeyStatus,
  ApiKeyType,
  KeyActionInput,
  OrganizationKeyPath,
  RotateApiKeyInput,
} from './api-key.js'
import {
  type ApiKeyWithOwnerState,
  createApiKey,
  getApiKey,
  type KeyPath,
  listApiKeys,
  restrictionsOf,
  updateApiKey,
} from './api-keys.js'
import type { KeyOwner } from './key-owner.js'
import { areOrganizationsSuspended } from './relations.js'
import { currentKeyStatus } from './statuses.js'
import { blockApiKey, deleteApiKey, revokeApiKey, rotateApiKey, unblockApiKey } from './transitions.js'

const UpdateKeyInput = UpdateInput(ApiKey)

/**
 * Creates the root fields of the API keys of accounts or of organizations, which have paths and scopes of their own
 * (docs/contract.md#api-key-endpoints).
 * @param kind the end of the names of the root fields, as in `createApiKey`
 */
function createKeyResolver(
  kind: 'ApiKey' | 'OrganizationApiKey',
  scope: ScopeResource,
  OwnerPath: ClassType<KeyOwner>,
  KeyPathArgs: ClassType<KeyPath>,
  CreateKeyInput: ParameterDecorator,
) {
  const owner = kind === 'ApiKey' ? 'account' : 'organization'
  const queryName = kind.replace(/^./, (letter) => letter.toLowerCase())

  @Resolver()
  class KeyResolver {
    @Query(() => ApiKeyPage, {
      name: `${queryName}s`,
      nullable: true,
      description: `Lists the API keys of an ${owner}, newest first, without those that were revoked more than 31 days ago.`,
    })
    @Scope(scope, 'read')
    list(
      @Ctx() context: Context,
      @Args(() => OwnerPath) path: KeyOwner,
      @Args(() => ApiKeyFilter) filter: ApiKeyFilter,
    ) {
      return listApiKeys(context, path, filter)
    }

    @Query(() => ApiKey, {
      name: queryName,
      nullable: true,
      description: `Returns an API key of an ${owner}. A revoked key can be read for 31 days.`,
    })
    @Scope(scope, 'read')
    get(@Ctx() context: Context, @Args(() => KeyPathArgs) path: KeyPath) {
      return getApiKey(context, path)
    }

    @Mutation(() => ApiKey, {
      name: `create${kind}`,
      description: `Creates an API key of an ${owner}. Only this response contains the secret. The key cannot have more authority than the caller.`,
    })
    @IdempotencyKey()
    @Scope(scope, 'write')
    @RecentSignIn()
    @ReturnsSecret()
    create(@Ctx() context: Context, @Args(() => OwnerPath) path: KeyOwner, @CreateKeyInput input: object) {
      return createApiKey(context, path, input)
    }

    @Mutation(() => ApiKey, {
      name: `update${kind}`,
      description: `Changes the given fields of an API key of an ${owner}. A revoked key cannot be changed.`,
    })
    @Scope(scope, 'write')
    update(
      @Ctx() context: Context,
      @Args(() => KeyPathArgs) path: KeyPath,
      @UpdateKeyInput input: object,
      @IfMatch() ifMatch?: string | null,
    ) {
      return updateApiKey(context, path, input, ifMatch)
    }

    @Mutation(() => Boolean, {
      name: `delete${kind}`,
      description: `Revokes an API key of an ${owner} permanently. Fails if the key is already revoked.`,
    })
    @Scope(scope, 'delete')
    delete(@Ctx() context: Context, @Args(() => KeyPathArgs) path: KeyPath, @IfMatch() ifMatch?: string | null) {
      return trueAfter(deleteApiKey(context, path, ifMatch))
    }

    @Mutation(() => ApiKey, {
      name: `rotate${kind}`,
      description: `Rotates the secret of an active API key of an ${owner}. Only this response contains the new secret; the old secret stays valid for 15 minutes.`,
    })
    @IdempotencyKey()
    @Scope(scope, 'write')
    @RecentSignIn()
    @ReturnsSecret()
    rotate(
      @Ctx() context: Context,
      @Args(() => KeyPathArgs) path: KeyPath,
      @Input(RotateApiKeyInput, { nullable: true }) input?: object | null,
    ) {
      return rotateApiKey(context, path, input)
    }

    @Mutation(() => ApiKey, {
      name: `block${kind}`,
      description: `Blocks an active API key of an ${owner}, which is then refused until it is unblocked.`,
    })
    @IdempotencyKey()
    @Scope(scope, 'write')
    block(
      @Ctx() context: Context,
      @Args(() => KeyPathArgs) path: KeyPath,
      @Input(KeyActionInput, { nullable: true }) input?: object | null,
    ) {
      return blockApiKey(context, path, input)
    }

    @Mutation(() => ApiKey, { name: `unblock${kind}`, description: `Unblocks a blocked API key of an ${owner}.` })
    @IdempotencyKey()
    @Scope(scope, 'write')
    unblock(@Ctx() context: Context, @Args(() => KeyPathArgs) path: KeyPath) {
      return unblockApiKey(context, path)
    }

    @Mutation(() => ApiKey, {
      name: `revoke${kind}`,
      description: `Revokes an API key of an ${owner} permanently. Returns a key that is already revoked unchanged.`,
    })
    @IdempotencyKey()
    @Scope(scope, 'delete')
    revoke(
      @Ctx() context: Context,
      @Args(() => KeyPathArgs) path: KeyPath,
      @Input(KeyActionInput, { nullable: true }) input?: object | null,
    ) {
      return revokeApiKey(context, path, input)
    }
  }
  return KeyResolver
}

export const AccountApiKeyResolver = createKeyResolver(
  'ApiKey',
  'api_keys',
  AccountPath,
  AccountKeyPath,
  CreateInput(ApiKey, { omit: ['type'] }),
)

export const OrganizationApiKeyResolver = createKeyResolver(
  'OrganizationApiKey',
  'issuers.organizations.api_keys',
  OrganizationPath,
  OrganizationKeyPath,
  CreateInput(ApiKey, { name: 'CreateOrganizationApiKeyInput' }),
)

@Resolver(() => ApiKey)
export class ApiKeyResolver {
  @FieldResolver()
  async status(@Ctx() context: Context, @Root() key: ApiKeyWithOwnerState): Promise<ApiKeyStatus> {
    const { orgId } = key
    const suspended =
      key.suspended ?? (orgId !== null && (await loader(context, areOrganizationsSuspended).load(orgId)))
    return currentKeyStatus(context, key, suspended)
  }

  @FieldResolver()
  type(): ApiKey['type'] {
    return ApiKeyType.api_key
  }

  @FieldResolver()
  scopes(@Root() key: ApiKeyWithOwnerState): string[] | null {
    return restrictionsOf(key).scopes ?? null
  }
}
