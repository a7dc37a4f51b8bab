import {
  Arg,
  Args,
  Ctx,
  Field,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Resolver,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { AdditionalScope, enumOf, IssuerPath, JSONObject, Scope } from '../graphql-types.js'
import { importBatch } from './importing/import-batch.js'
import { type Source, sources } from './importing/sources.js'
import type { UsernameType } from './usernames.js'
import { UsernameTypeEnum } from './users.graphql.js'

const ImportSourceEnum = enumOf(sources)
registerEnumType(ImportSourceEnum, { name: 'ImportSource', description: 'Products whose exports can be imported.' })

@InputType()
class ImportRecordInput {
  @Field(() => Int, { description: 'The line of the file where the record begins.' })
  line!: number
  @Field(() => String, { description: 'The unchanged text of the record: one JSON object.' })
  text!: string
}

@InputType()
class ImportUsersInput {
  @Field(() => ImportSourceEnum, {
    nullable: true,
    description: 'The product that wrote the file. By default it is detected from the first record.',
  })
  source?: Source | null
  @Field(() => Boolean, { description: 'Whether to check all records without writing anything.' })
  dryRun!: boolean
  @Field(() => UsernameTypeEnum, {
    nullable: true,
    description:
      'The type of identifier that becomes the username; email by default. A user without it gets another identifier as the username.',
  })
  login?: UsernameType | null
  @Field(() => Boolean, {
    nullable: true,
    description:
      'Whether to import users with unsupported credentials without these credentials. By default, such users are refused.',
  })
  dropUnsupported?: boolean | null
  @Field(() => [ImportRecordInput], {
    description: 'At most 1,000 records; the request body must not exceed its size limit.',
  })
  records!: ImportRecordInput[]
  @Field(() => String, {
    nullable: true,
    description: 'The `continuation` of the previous batch. Null for the first batch.',
  })
  continues?: string | null
  @Field(() => Boolean, {
    description:
      'Whether this is the last batch. Except in a dry run, the last batch records the event `user.import.finished`, which webhooks receive.',
  })
  last!: boolean
}

@ObjectType({ description: 'A record that cannot be imported.' })
class ImportRefusal {
  @Field(() => Int)
  line!: number
  @Field(() => String, { nullable: true, description: 'The id in the other product, if it could be read.' })
  externalId!: string | null
  @Field(() => String, { description: 'A stable error code.' })
  reason!: string
  @Field(() => String)
  message!: string
  @Field(() => String, { description: 'How to fix the record.' })
  fix!: string
}

@ObjectType({ description: 'A user who was imported or, in a dry run, would be imported.' })
class ImportedUser {
  @Field(() => Int)
  line!: number
  @Field(() => String, { description: 'The id in the other product.' })
  externalId!: string
  @Field(() => ID, { nullable: true, description: 'Null in a dry run.' })
  userId!: string | null
  @Field(() => String, { description: 'The hashed username, as in lists of users. Equal usernames have equal hashes.' })
  usernameHash!: string
}

@ObjectType({ description: 'The result of one batch of an import.' })
class ImportedPortion {
  @Field(() => ImportSourceEnum)
  source!: Source
  @Field(() => Int)
  read!: number
  @Field(() => Int)
  imported!: number
  @Field(() => Int, { description: 'The number of records that an earlier run or batch imported.' })
  known!: number
  @Field(() => Int)
  refused!: number
  @Field(() => Int)
  withoutPassword!: number
  @Field(() => Int, { description: 'The number of imported users with a TOTP verifier.' })
  totp!: number
  @Field(() => JSONObject, { description: 'The number of password hashes by format.' })
  hashes!: object
  @Field(() => Int, {
    description:
      'The number of password hashes in a format without a work factor (digest, HMAC), with which an attacker can try passwords quickly.',
  })
  weak!: number
  @Field(() => [ImportRefusal])
  refusals!: ImportRefusal[]
  @Field(() => [ImportedUser])
  users!: ImportedUser[]
  @Field(() => String, { description: 'The value of `continues` for the next batch, valid for one day.' })
  continuation!: string
}

@Resolver()
export class ImportResolver {
  @Mutation(() => ImportedPortion, {
    description:
      "Imports a batch of another product's user export (docs/import.md). Users that have been imported already are not changed, so a batch can be repeated. Also requires the scope issuers.users.verifiers:write.",
  })
  @Scope('issuers.users', 'write')
  @AdditionalScope('issuers.users.verifiers', 'write')
  importUsers(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => ImportUsersInput) input: ImportUsersInput,
  ) {
    return importBatch(context, path, input)
  }
}
