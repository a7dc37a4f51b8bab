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
import type { Domain as DomainRow } from '../../platform/database.js'
import { AccountPlace, idempotencyKeyArg, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import {
  addDomain,
  assignDomain,
  listDomains,
  removeDomain,
  unassignDomain,
  verificationOf,
  verifyDomain,
} from './domains.js'

@ObjectType({ description: 'The DNS record that proves control over the domain.' })
class DomainVerification {
  @Field(() => String)
  type!: string
  @Field(() => String)
  name!: string
  @Field(() => String)
  value!: string
}

@ObjectType({ description: 'A custom domain of an account (spec 2.16).' })
export class Domain {
  @Field(() => ID)
  id!: string
  @Field(() => String)
  host!: string
  @Field(() => Boolean)
  verified!: boolean
  @Field(() => Timestamp, { nullable: true })
  verifiedAt!: number | null
  @Field(() => String, { nullable: true })
  issuerId!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class DomainPage extends pageType(Domain) {}

@ArgsType()
class DomainPlace extends AccountPlace {
  @Field(() => String, { description: 'A host or an id.' })
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
  @Query(() => DomainPage)
  @Scope('domains', 'read')
  domains(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listDomains(context, place, page)
  }

  @Mutation(() => Domain, { description: 'Added unverified; at most 20 per account.' })
  @Scope('domains', 'write')
  createDomain(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreateDomainInput) input: CreateDomainInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addDomain(context, place, input)
  }

  @Mutation(() => Boolean, { description: 'Removes the assignment too.' })
  @Scope('domains', 'delete')
  async deleteDomain(@Ctx() context: Context, @Args(() => DomainPlace) place: DomainPlace) {
    await removeDomain(context, place)
    return true
  }

  @Mutation(() => Domain, { description: 'Looks for the TXT record of `verification`.' })
  @Scope('domains', 'write')
  verifyDomain(
    @Ctx() context: Context,
    @Args(() => DomainPlace) place: DomainPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return verifyDomain(context, place)
  }

  @Mutation(() => Domain, { description: 'Gives a verified domain to an issuer, also from another one.' })
  @Scope('domains', 'write')
  assignDomain(
    @Ctx() context: Context,
    @Args(() => DomainPlace) place: DomainPlace,
    @Arg('input', () => AssignDomainInput) input: AssignDomainInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return assignDomain(context, place, input)
  }

  @Mutation(() => Domain)
  @Scope('domains', 'write')
  unassignDomain(
    @Ctx() context: Context,
    @Args(() => DomainPlace) place: DomainPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return unassignDomain(context, place)
  }

  @FieldResolver(() => DomainVerification)
  verification(@Root() domain: DomainRow): DomainVerification {
    return verificationOf(domain)
  }
}
