import { Field, FieldResolver, ID, ObjectType, Resolver, Root } from 'type-graphql'
import type { Domain as DomainRow } from '../../platform/database.js'
import { Timestamp } from '../graphql.js'
import { verificationOf } from './domains.js'

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

@Resolver(() => Domain)
export class DomainResolver {
  @FieldResolver(() => DomainVerification)
  verification(@Root() domain: DomainRow): DomainVerification {
    return verificationOf(domain)
  }
}
