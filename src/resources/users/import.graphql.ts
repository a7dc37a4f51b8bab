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
  @Field(() => ImportSourceEnum, { nullable: true, description: 'Detected from the first record by default.' })
  source?: Source | null
  @Field(() => Boolean, { description: 'Checks all records and writes nothing.' })
  dryRun!: boolean
  @Field(() => UsernameTypeEnum, {
    nullable: true,
    description: 'The username type of the imported users. The default is email.',
  })
  login?: UsernameType | null
  @Field(() => Boolean, {
    nullable: true,
    description: 'Imports users without the credentials that are not supported.',
  })
  dropUnsupported?: boolean | null
  @Field(() => [ImportRecordInput], { description: 'At most 1,000 records, within the body limit of a request.' })
  records!: ImportRecordInput[]
  @Field(() => String, { nullable: true, description: 'The continuation of the previous batch.' })
  continues?: string | null
  @Field(() => Boolean, {
    description: 'Whether this is the last batch. It records the event of the whole import, which webhooks receive.',
  })
  last!: boolean
}

@ObjectType({ description: 'A record that was not imported.' })
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

@ObjectType({ description: 'A user that was imported, or in a dry run would be.' })
class ImportedUser {
  @Field(() => Int)
  line!: number
  @Field(() => String, { description: 'The id in the other product.' })
  externalId!: string
  @Field(() => ID, { nullable: true, description: 'Null in a dry run.' })
  userId!: string | null
  @Field(() => String, { description: 'The hashed username, as in lists. Equal usernames have equal hashes.' })
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
  @Field(() => Int, { description: 'Records that an earlier run has imported.' })
  known!: number
  @Field(() => Int)
  refused!: number
  @Field(() => Int)
  withoutPassword!: number
  @Field(() => Int, { description: 'Users with a TOTP verifier.' })
  totp!: number
  @Field(() => JSONObject, { description: 'The number of password hashes by format.' })
  hashes!: object
  @Field(() => Int, { description: 'Weak hashes: plain digests, which are fast to guess.' })
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
