import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Domain as DomainRow } from '../../platform/postgres/database.js'
import { loader, pageLoader } from '../../platform/postgres/loader.js'
import { Domain } from '../domains/domains.graphql.js'
import { eventLoaderKey, newestEventsOf } from '../events/event-list.js'
import { EventPage } from '../events/events.graphql.js'
import {
  AccountPath,
  Authenticated,
  InRest,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  OperatorOnly,
  pageType,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  SearchablePageArgs,
  Timestamp,
} from '../graphql-types.js'
import { IssuerPage } from '../issuers/issuers.graphql.js'
import { newestIssuersOf } from '../issuers/issuers.js'
import { ApiKeyPage } from '../keys/api-key.js'
import { apiKeysOfAccounts } from '../keys/relations.js'
import { NotePage } from '../notes/notes.graphql.js'
import { notesOf } from '../notes/relations.js'
import { newestWebhooksOf } from '../webhooks/statistics.js'
import { WebhookPage } from '../webhooks/webhooks.graphql.js'
import {
  type AccountWithDomains,
  billingMode,
  type CreatedAccount,
  createAccount,
  getAccount,
  listAccounts,
  listDomainsOf,
  updateAccount,
} from './accounts.js'

@ObjectType({ description: 'An account (tenant): the top-level administrative and billing entity.' })
export class Account {
  @Field(() => ID)
  id!: string
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true, description: 'A description in Markdown.' })
  description!: string | null
  @Field(() => String, { nullable: true })
  logoUrl!: string | null
  @Field(() => String, { nullable: true, description: 'The owner, a user of the console issuer.' })
  ownerUserId!: string | null
  @Field(() => ID, {
    nullable: true,
    description: 'The organization of the console issuer whose members administer this account.',
  })
  adminOrgId!: string | null
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class AccountPage extends pageType(Account) {}

@ObjectType({ description: 'The first API key of a new account. Only this response contains the secret.' })
class FirstApiKey {
  @Field(() => ID)
  id!: string
  @Field(() => String)
  secretPlain!: string
}

@ObjectType()
class CreateAccountPayload {
  @Field(() => Account)
  account!: Account
  @Field(() => FirstApiKey)
  apiKey!: FirstApiKey
}

@InputType()
class CreateAccountInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  ownerUserId?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class DomainHostInput {
  @Field(() => String)
  host!: string
}

@InputType()
class UpdateAccountInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  logoUrl?: string | null
  @Field(() => String, { nullable: true })
  ownerUserId?: string | null
  @Field(() => [DomainHostInput], {
    nullable: true,
    description: 'The complete set of domains. Domains that are not listed are removed.',
  })
  domains?: DomainHostInput[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@Resolver(() => Account)
export class AccountResolver {
  @Query(() => AccountPage, {
    nullable: true,
    description:
      'Lists the accounts that the caller can access, newest first; with `search`, in the order of their names.',
  })
  @Scope('accounts', 'read')
  accounts(@Ctx() context: Context, @Args(() => SearchablePageArgs) page: SearchablePageArgs) {
    return listAccounts(context, page)
  }

  @Query(() => Account, { nullable: true })
  @Scope('accounts', 'read')
  account(@Ctx() context: Context, @Args(() => AccountPath) path: AccountPath) {
    return getAccount(context, path)
  }

  @Mutation(() => CreateAccountPayload, {
    description:
      'Creates an account. Only for operators: principals of the system account with the scope `accounts:manage` or `svc:all`.',
  })
  @OperatorOnly()
  @RecentSignIn()
  @ReturnsSecret()
  createAccount(
    @Ctx() context: Context,
    @Arg('input', () => CreateAccountInput) input: CreateAccountInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ): Promise<CreatedAccount> {
    return createAccount(context, input)
  }

  @Mutation(() => Account)
  @Scope('accounts', 'write')
  updateAccount(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => UpdateAccountInput) input: UpdateAccountInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAccount(context, path, input, ifMatch)
  }

  @FieldResolver(() => String, { description: 'The billing mode: gated or ungated. Read-only.' })
  billingMode(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<string> {
    return billingMode(context, account)
  }

  /** The domains are a part of the account, so a caller who can read the account needs no other scope to read them. */
  @FieldResolver(() => [Domain])
  @Authenticated()
  @InRest()
  async domains(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<DomainRow[]> {
    return account.domains ?? loader(context, listDomainsOf).load(account.id)
  }

  @FieldResolver(() => IssuerPage, { nullable: true, description: 'The newest issuers. Use `issuers` for more pages.' })
  @Scope('issuers', 'read')
  issuers(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestIssuersOf, limit).load(account.id)
  }

  @FieldResolver(() => ApiKeyPage, {
    nullable: true,
    description: 'The newest API keys. Use `apiKeys` for more pages.',
  })
  @Scope('api_keys', 'read')
  apiKeys(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, apiKeysOfAccounts, limit).load(account.id)
  }

  @FieldResolver(() => NotePage, {
    nullable: true,
    description: 'Pinned notes first, then the newest. Use `notes` for more pages.',
  })
  @Scope('notes', 'read')
  notes(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, notesOf, limit).load(account.id)
  }

  @FieldResolver(() => WebhookPage, {
    nullable: true,
    description: 'The newest webhooks. Use `webhooks` for more pages.',
  })
  @Scope('webhooks', 'read')
  webhooks(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestWebhooksOf, limit).load(account.id)
  }

  @FieldResolver(() => EventPage, { nullable: true, description: 'The newest events. Use `events` for more pages.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestEventsOf.account, limit).load(eventLoaderKey(account.id, account.id))
  }
}
