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
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Domain as DomainRow } from '../../platform/postgres/database.js'
import { AccountPath, idempotencyKeyArg, PageArgs, pageType, Scope, Timestamp } from '../graphql-types.js'
import {
  addDomain,
  assignDomain,
  listDomains,
  removeDomain,
  unassignDomain,
  verificationOf,
  verifyDomain,
} from './domains.js'

@ObjectType({ description: 'The DNS record that proves control of the domain.' })
class DomainVerification {
  @Field(() => String)
  type!: string
  @Field(() => String)
  name!: string
  @Field(() => String)
  value!: string
}

@ObjectType({ description: 'A custom domain of an account.' })
export class Domain {
  @Field(() => ID)
  id!: string
  @Field(() => String)
  host!: string
  @Field(() => Boolean)
  verified!: boolean
  @Field(() => Timestamp, { nullable: true })
  verifiedAt!: number | null
  @Field(() => String, { nullable: true, description: 'The issuer to which the domain is assigned; null for none.' })
  issuerId!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class DomainPage extends pageType(Domain) {}

@ArgsType()
class DomainPath extends AccountPath {
  @Field(() => String, { description: 'A host name or a domain id.' })
  domain!: string
}

@InputType()
class CreateDomainInput {
  @Field(() => String, { description: 'A domain name such as login.example.com.' })
  host!: string
}

@InputType()
class AssignDomainInput {
  @Field(() => ID, { description: 'An issuer of the same account.' })
  issuerId!: string
}

@Resolver(() => Domain)
export class DomainResolver {
  @Query(() => DomainPage, { nullable: true })
  @Scope('domains', 'read')
  domains(@Ctx() context: Context, @Args(() => AccountPath) path: AccountPath, @Args(() => PageArgs) page: PageArgs) {
    return listDomains(context, path, page)
  }

  @Mutation(() => Domain, { description: 'Adds an unverified domain. An account can have at most 20 domains.' })
  @Scope('domains', 'write')
  createDomain(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => CreateDomainInput) input: CreateDomainInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addDomain(context, path, input)
  }

  @Mutation(() => Boolean, {
    description: 'Removes a domain. If it is assigned to an issuer, the issuer can no longer be reached under it.',
  })
  @Scope('domains', 'delete')
  async deleteDomain(@Ctx() context: Context, @Args(() => DomainPath) path: DomainPath) {
    await removeDomain(context, path)
    return true
  }

  @Mutation(() => Domain, {
    description: 'Verifies a domain by looking up the TXT record that its field `verification` describes.',
  })
  @Scope('domains', 'write')
  verifyDomain(
    @Ctx() context: Context,
    @Args(() => DomainPath) path: DomainPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return verifyDomain(context, path)
  }

  @Mutation(() => Domain, {
    description: 'Assigns a verified domain to an issuer and unassigns it from its previous issuer.',
  })
  @Scope('domains', 'write')
  assignDomain(
    @Ctx() context: Context,
    @Args(() => DomainPath) path: DomainPath,
    @Arg('input', () => AssignDomainInput) input: AssignDomainInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return assignDomain(context, path, input)
  }

  @Mutation(() => Domain)
  @Scope('domains', 'write')
  unassignDomain(
    @Ctx() context: Context,
    @Args(() => DomainPath) path: DomainPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return unassignDomain(context, path)
  }

  @FieldResolver(() => DomainVerification)
  verification(@Root() domain: DomainRow): DomainVerification {
    return verificationOf(domain)
  }
}
