/**
 * The relations of notes to their subjects and authors. They are in this folder because src/resources/notes may not
 * import users, organizations, issuers and clients.
 */
import { Ctx, Resolver, Root } from 'type-graphql'
import type { ActorType } from '../../kernel/context.js'
import type { Context } from '../../platform/context.js'
import type { Note as NoteRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Relation, type RelationPermission, Scope, ScopeByParent } from '../graphql-types.js'
import { ApiKey } from '../keys/api-key.js'
import { Note, type NoteSubject } from '../notes/note.js'
import { User } from '../users/user.js'
import { NoteAuthor, NoteSubjectResource } from './note-author.js'
import { type AuthorRow, apiKeysById, authorsById, subjectsById, usersById } from './note-relations.js'

function subjectPermission({ accountId, issuerId, subjectId, subjectType }: NoteRow): RelationPermission {
  const path = { accountId, ...(issuerId !== null && { issuerId }) }
  const permissions: Record<NoteSubject, RelationPermission> = {
    user: { scope: 'issuers.users:read', ...path },
    org: { scope: 'issuers.organizations:read', ...path, orgId: subjectId },
    issuer: { scope: 'issuers:read', accountId, issuerId: subjectId },
    client: { scope: 'issuers.clients:read', ...path },
  }
  return permissions[subjectType as NoteSubject]
}

@Resolver(() => Note)
export class NoteRelationsResolver {
  @Relation(
    () => NoteSubjectResource,
    'The resource that the note is about, for callers with the read scope of its type. Usernames are hashed as in lists. Null if the resource was deleted.',
  )
  @ScopeByParent(subjectPermission)
  async subject(@Ctx() context: Context, @Root() { accountId, subjectType, subjectId }: NoteRow) {
    const subject = await loader(context, subjectsById[subjectType]!).load(subjectId)
    return subject?.accountId === accountId ? subject : null
  }

  @Relation(() => NoteAuthor, 'The principal that created the note.')
  @Scope('notes', 'read')
  async author(@Ctx() context: Context, @Root() { createdBy }: NoteRow): Promise<Author> {
    if (createdBy === null) return { type: 'system', id: null, name: null }
    const author = await loader(context, authorsById).load(createdBy)
    return { name: null, ...author, id: createdBy, type: typesByPrefix[createdBy.split('_')[0]!] ?? 'user' }
  }
}

const typesByPrefix: Record<string, ActorType> = { ak: 'api_key', tok: 'personal_token' }

type Author = NoteAuthor & Partial<Omit<AuthorRow, keyof NoteAuthor>>

/** Relations that do not exist for a type of principal are null and need no scope. */
const noRelation: RelationPermission = { scope: 'authenticated' }

const userPermission = ({ userId, accountId, issuerId }: Author): RelationPermission =>
  userId && accountId && issuerId ? { scope: 'issuers.users:read', accountId, issuerId } : noRelation

const apiKeyPermission = ({ type, accountId }: Author): RelationPermission =>
  type === 'api_key' && accountId ? { scope: 'api_keys:read', accountId } : noRelation

@Resolver(() => NoteAuthor)
export class NoteAuthorResolver {
  @Relation(
    () => User,
    'The user who created the note, or who owns the personal token; with a hashed username. Null for other principals and for deleted users.',
  )
  @ScopeByParent(userPermission)
  user(@Ctx() context: Context, @Root() { userId }: Author) {
    return userId ? loader(context, usersById).load(userId) : null
  }

  @Relation(
    () => ApiKey,
    'The API key that created the note. Null for other principals and for keys that were revoked long ago.',
  )
  @ScopeByParent(apiKeyPermission)
  apiKey(@Ctx() context: Context, @Root() { type, id }: Author) {
    return type === 'api_key' && id ? loader(context, apiKeysById).load(id) : null
  }
}
