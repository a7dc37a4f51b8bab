import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Domain as DomainRow } from '../../platform/postgres/database.js'
import { CreateInput, Input } from '../declaration.js'
import { AccountPath, IdempotencyKey, NullableQuery, PageArgs, Scope, trueAfter } from '../graphql-types.js'
import { AssignDomainInput, Domain, DomainPage, DomainPath, type DomainVerification } from './domain.js'
import {
  addDomain,
  assignDomain,
  listDomains,
  removeDomain,
  unassignDomain,
  verificationOf,
  verifyDomain,
} from './domains.js'

@Resolver(() => Domain)
export class DomainResolver {
  @NullableQuery(() => DomainPage, 'Lists the domains of an account, newest first.')
  @Scope('domains', 'read')
  domains(@Ctx() context: Context, @Args() path: AccountPath, @Args() page: PageArgs) {
    return listDomains(context, path, page)
  }

  @Mutation(() => Domain, { description: 'Adds an unverified domain. An account can have at most 20 domains.' })
  @IdempotencyKey()
  @Scope('domains', 'write')
  createDomain(@Ctx() context: Context, @Args() path: AccountPath, @CreateInput(Domain) input: object) {
    return addDomain(context, path, input)
  }

  @Mutation(() => Boolean, {
    description: 'Removes a domain. If it is assigned to an issuer, the issuer can no longer be reached under it.',
  })
  @Scope('domains', 'delete')
  deleteDomain(@Ctx() context: Context, @Args() path: DomainPath) {
    return trueAfter(removeDomain(context, path))
  }

  @Mutation(() => Domain, {
    description: 'Verifies a domain by looking up the TXT record that its field `verification` describes.',
  })
  @IdempotencyKey()
  @Scope('domains', 'write')
  verifyDomain(@Ctx() context: Context, @Args() path: DomainPath) {
    return verifyDomain(context, path)
  }

  @Mutation(() => Domain, {
    description: 'Assigns a verified domain to an issuer and unassigns it from its previous issuer.',
  })
  @IdempotencyKey()
  @Scope('domains', 'write')
  assignDomain(@Ctx() context: Context, @Args() path: DomainPath, @Input(AssignDomainInput) input: AssignDomainInput) {
    return assignDomain(context, path, input)
  }

  @Mutation(() => Domain, {
    description: 'Unassigns a domain from its issuer, which can then no longer be reached under it.',
  })
  @IdempotencyKey()
  @Scope('domains', 'write')
  unassignDomain(@Ctx() context: Context, @Args() path: DomainPath) {
    return unassignDomain(context, path)
  }

  @FieldResolver()
  verification(@Root() domain: DomainRow): DomainVerification {
    return verificationOf(domain)
  }
}
