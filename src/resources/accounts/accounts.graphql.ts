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
import type { Account as AccountRow, Domain as DomainRow } from '../../platform/database.js'
import { loader, pageLoader } from '../../platform/loader.js'
import { Domain } from '../domains/domains.graphql.js'
import { EventPage } from '../events/events.graphql.js'
import { eventsOf, subjectKey } from '../events/listing.js'
import {
  AccountPlace,
  Authenticated,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  NamedPageArgs,
  OperatorOnly,
  pageType,
  RecentSignIn,
  Scope,
  Timestamp,
} from '../graphql.js'
import { IssuerPage } from '../issuers/issuers.graphql.js'
import { issuersOf } from '../issuers/issuers.js'
import { ApiKeyPage } from '../keys/api-keys.graphql.js'
import { apiKeysOfAccounts } from '../keys/relations.js'
import { NotePage } from '../notes/notes.graphql.js'
import { notesOf } from '../notes/relations.js'
import { webhooksOf } from '../webhooks/statistics.js'
import { WebhookPage } from '../webhooks/webhooks.graphql.js'
import {
  type AccountWithDomains,
  billingMode,
  type CreatedAccount,
  createAccount,
  domainsOf,
  getAccount,
  listAccounts,
  updateAccount,
} from './accounts.js'

@ObjectType({ description: 'The top-level administrative and billing entity (spec 2.2).' })
export class Account {
  @Field(() => ID)
  id!: string
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true, description: 'Markdown.' })
  description!: string | null
  @Field(() => String, { nullable: true })
  logoUrl!: string | null
  @Field(() => String, { nullable: true, description: 'A user of the console issuer.' })
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

@ObjectType({ description: 'The key of a new account. The secret is shown this once.' })
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
  @Field(() => [DomainHostInput], { nullable: true, description: 'The whole set: hosts not named are removed.' })
  domains?: DomainHostInput[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@Resolver(() => Account)
export class AccountResolver {
  @Query(() => AccountPage, { description: 'The accounts that the caller can reach, newest first.' })
  @Scope('accounts', 'read')
  accounts(@Ctx() context: Context, @Args(() => NamedPageArgs) page: NamedPageArgs) {
    return listAccounts(context, page)
  }

  @Query(() => Account)
  @Scope('accounts', 'read')
  account(@Ctx() context: Context, @Args(() => AccountPlace) place: AccountPlace) {
    return getAccount(context, place)
  }

  @Mutation(() => CreateAccountPayload, { description: 'For operators: principals of the system account.' })
  @OperatorOnly()
  @RecentSignIn()
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
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => UpdateAccountInput) input: UpdateAccountInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAccount(context, place, input, ifMatch)
  }

  @FieldResolver(() => String, { description: 'gated or ungated; derived, never written.' })
  billingMode(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<string> {
    return billingMode(context, account)
  }

  /** A field of the account itself (spec 2.2): whoever may have the account in an answer may have it whole. */
  @FieldResolver(() => [Domain])
  @Authenticated()
  async domains(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<DomainRow[]> {
    return account.domains ?? loader(context, domainsOf).load(account.id)
  }

  @FieldResolver(() => IssuerPage, { description: 'The newest issuers; page on with `issuers`.' })
  @Scope('issuers', 'read')
  issuers(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, issuersOf, limit).load(account.id)
  }

  @FieldResolver(() => ApiKeyPage, { description: 'The newest API keys; page on with `apiKeys`.' })
  @Scope('api_keys', 'read')
  apiKeys(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, apiKeysOfAccounts, limit).load(account.id)
  }

  @FieldResolver(() => NotePage, { description: 'Pinned notes first, then the newest; page on with `notes`.' })
  @Scope('notes', 'read')
  notes(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, notesOf, limit).load(account.id)
  }

  @FieldResolver(() => WebhookPage, { description: 'The newest webhooks; page on with `webhooks`.' })
  @Scope('webhooks', 'read')
  webhooks(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, webhooksOf, limit).load(account.id)
  }

  @FieldResolver(() => EventPage, { description: 'The newest events; page on with `events`.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() account: AccountRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, eventsOf.account, limit).load(subjectKey(account.id, account.id))
  }
}
