import { Args, Ctx, Mutation, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { Input } from '../declaration.js'
import { AdditionalScopes, IssuerPath, Scope } from '../graphql-types.js'
import { importBatch } from './importing/import-batch.js'
import { ImportedPortion, ImportUsersInput } from './importing/user-import.js'

@Resolver()
export class ImportResolver {
  @Mutation(() => ImportedPortion, {
    description:
      "Imports a batch of another product's user export (docs/import.md). Users that have been imported already are not changed, so a batch can be repeated. Also requires the scope issuers.users.verifiers:write.",
  })
  @Scope('issuers.users', 'write')
  @AdditionalScopes('issuers.users.verifiers:write')
  importUsers(@Ctx() context: Context, @Args() path: IssuerPath, @Input(ImportUsersInput) input: object) {
    return importBatch(context, path, input)
  }
}
