import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Domain as DomainRow } from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { EventPage } from '../events/event.js'
import { relatedEvents } from '../events/event-list.js'
import {
  AccountPath,
  IdempotencyKey,
  IfMatch,
  NullableQuery,
  OperatorOnly,
  RecentSignIn,
  Relation,
  RelationArgs,
  ReturnsSecret,
  Scope,
  SearchablePageArgs,
} from '../graphql-types.js'
import { IssuerPage } from '../issuers/issuer.js'
import { listIssuers, newestIssuersOf } from '../issuers/issuers.js'
import { ApiKeyPage } from '../keys/api-key.js'
import { listApiKeys } from '../keys/api-keys.js'
import { apiKeysOfAccounts } from '../keys/relations.js'
import { NotePage } from '../notes/note.js'
import { listNotes } from '../notes/notes.js'
import { notesOf } from '../notes/relations.js'
import { newestWebhooksOf } from '../webhooks/statistics.js'
import { WebhookPage } from '../webhooks/webhook.js'
import { listWebhooks } from '../webhooks/webhooks.js'
import { Account, AccountPage, type BillingMode, CreateAccountPayload } from './account.js'
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

@Resolver(() => Account)
export class AccountResolver {
  @NullableQuery(
    () => AccountPage,
    'Lists the accounts that the caller can access, newest first; with `search`, in the order of their names.',
  )
  @Scope('accounts', 'read')
  accounts(@Ctx() context: Context, @Args() page: SearchablePageArgs) {
    return listAccounts(context, page)
  }

  @NullableQuery(() => Account, 'Returns an account with its domains.')
  @Scope('accounts', 'read')
  account(@Ctx() context: Context, @Args() path: AccountPath) {
    return getAccount(context, path)
  }

  @Mutation(() => CreateAccountPayload, {
    description:
      'Creates an account. Only for operators: principals of the system account with the scope `accounts:manage` or `svc:all`.',
  })
  @IdempotencyKey()
  @OperatorOnly()
  @RecentSignIn()
  @ReturnsSecret()
  createAccount(@Ctx() context: Context, @CreateInput(Account) input: object): Promise<CreatedAccount> {
    return createAccount(context, input)
  }

  @Mutation(() => Account, {
    description:
      'Changes the given fields of an account. A change of the owner requires full authority on the account and, in the console, a recent sign-in; a change of the domains also requires the scopes for domains.',
  })
  @Scope('accounts', 'write')
  updateAccount(
    @Ctx() context: Context,
    @Args() path: AccountPath,
    @UpdateInput(Account) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateAccount(context, path, input, ifMatch)
  }

  @FieldResolver()
  billingMode(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<BillingMode> {
    return billingMode(context, account)
  }

  @FieldResolver()
  async domains(@Ctx() context: Context, @Root() account: AccountWithDomains): Promise<DomainRow[]> {
    return account.domains ?? loader(context, listDomainsOf).load(account.id)
  }

  @Relation(() => IssuerPage, 'The issuers of the account, newest first, without deleted ones.')
  @Scope('issuers', 'read')
  issuers(@Ctx() context: Context, @Root() { id }: AccountRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, newestIssuersOf, () => listIssuers(context, { accountId: id }, page))
  }

  @Relation(() => ApiKeyPage, 'The API keys of the account, newest first, without those of its organizations.')
  @Scope('api_keys', 'read')
  apiKeys(@Ctx() context: Context, @Root() { id }: AccountRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, apiKeysOfAccounts, () => listApiKeys(context, { accountId: id }, page))
  }

  @Relation(() => NotePage, 'The notes of the account: pinned notes first, then the newest.')
  @Scope('notes', 'read')
  notes(@Ctx() context: Context, @Root() { id }: AccountRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, notesOf, () => listNotes(context, { accountId: id }, page))
  }

  @Relation(() => WebhookPage, 'The webhooks of the account, newest first, without deleted ones.')
  @Scope('webhooks', 'read')
  webhooks(@Ctx() context: Context, @Root() { id }: AccountRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, newestWebhooksOf, () => listWebhooks(context, { accountId: id }, page))
  }

  @Relation(() => EventPage, 'The events of the account, newest first.')
  @Scope('events', 'read')
  events(@Ctx() context: Context, @Root() { id }: AccountRow, @Args() page: RelationArgs) {
    return relatedEvents(context, page, 'account', { accountId: id, id })
  }
}
