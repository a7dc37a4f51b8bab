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
import { AndScope, enumOf, IssuerPlace, JSONObject, Scope } from '../graphql.js'
import { importPortion } from './importing/portion.js'
import { type Source, sources } from './importing/sources.js'
import type { UsernameType } from './usernames.js'
import { UsernameTypeEnum } from './users.graphql.js'

const ImportSourceEnum = enumOf(sources)
registerEnumType(ImportSourceEnum, { name: 'ImportSource', description: 'Products whose exports can be read.' })

@InputType()
class ImportRecordInput {
  @Field(() => Int, { description: 'The line of the file on which it begins.' })
  line!: number
  @Field(() => String, { description: 'The record as it stands in the file: the text of one JSON object.' })
  text!: string
}

@InputType()
class ImportUsersInput {
  @Field(() => ImportSourceEnum, { nullable: true, description: 'Seen from the first record where it is not given.' })
  source?: Source | null
  @Field(() => Boolean, { description: 'Checks everything and writes nothing.' })
  dryRun!: boolean
  @Field(() => UsernameTypeEnum, { nullable: true, description: 'What they sign in with; email if not given.' })
  login?: UsernameType | null
  @Field(() => Boolean, { nullable: true, description: 'Takes users without the credentials that cannot be taken.' })
  dropUnsupported?: boolean | null
  @Field(() => [ImportRecordInput], { description: 'At most 1,000, within the size of a request.' })
  records!: ImportRecordInput[]
  @Field(() => String, { nullable: true, description: 'The continuation of the portion before.' })
  continues?: string | null
  @Field(() => Boolean, { description: 'No portion follows: the import is told to the trail and to webhooks.' })
  last!: boolean
}

@ObjectType({ description: 'A record that was not imported.' })
class ImportRefusal {
  @Field(() => Int)
  line!: number
  @Field(() => String, { nullable: true, description: 'Its id in the other product, if it could be read.' })
  externalId!: string | null
  @Field(() => String, { description: 'A stable code.' })
  reason!: string
  @Field(() => String)
  message!: string
  @Field(() => String, { description: 'What to do about it.' })
  fix!: string
}

@ObjectType({ description: 'A user that was imported, or in a dry run would be.' })
class ImportedUser {
  @Field(() => Int)
  line!: number
  @Field(() => String, { description: 'Its id in the other product.' })
  externalId!: string
  @Field(() => ID, { nullable: true, description: 'Null in a dry run.' })
  userId!: string | null
  @Field(() => String, { description: 'As lists show it: the same for a name that comes twice.' })
  usernameHash!: string
}

@ObjectType({ description: 'What became of one portion of an import.' })
class ImportedPortion {
  @Field(() => ImportSourceEnum)
  source!: Source
  @Field(() => Int)
  read!: number
  @Field(() => Int)
  imported!: number
  @Field(() => Int, { description: 'Here already, by an earlier run.' })
  known!: number
  @Field(() => Int)
  refused!: number
  @Field(() => Int)
  withoutPassword!: number
  @Field(() => Int, { description: 'With one-time codes.' })
  totp!: number
  @Field(() => JSONObject, { description: 'How many password hashes of which kind.' })
  hashes!: object
  @Field(() => Int, { description: 'Hashes that are plain digests, which are quickly guessed.' })
  weak!: number
  @Field(() => [ImportRefusal])
  refusals!: ImportRefusal[]
  @Field(() => [ImportedUser])
  users!: ImportedUser[]
  @Field(() => String, { description: 'For the next portion, within a day.' })
  continuation!: string
}

@Resolver()
export class ImportResolver {
  @Mutation(() => ImportedPortion, {
    description:
      "Takes a portion of another product's export of users (docs/import.md). Who is here already is left alone, so a portion can be sent again. Asks for issuers.users.verifiers:write as well.",
  })
  @Scope('issuers.users', 'write')
  @AndScope('issuers.users.verifiers', 'write')
  importUsers(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => ImportUsersInput) input: ImportUsersInput,
  ) {
    return importPortion(context, place, input)
  }
}
