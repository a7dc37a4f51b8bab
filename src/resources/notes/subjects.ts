/**
 * Subjects of notes (docs/contract.md#notes): a user, organization, issuer or client that belongs to the account and is
 * not deleted.
 */
import { invalidField } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, type InIssuer, whereIssuerNotDeleted } from '../resource-path.js'
import type { NoteSubject } from './note.js'

export interface NoteSubjectRef {
  subjectType: NoteSubject
  subjectId: string
  issuerId?: string | null
}

type SubjectFinder<Path> = (context: Context, path: Path, id: string) => Promise<{ id: string } | null>
const select = { id: true } as const

/** Names of the subject types in error messages. */
const subjectNames: Record<NoteSubject, string> = {
  user: 'a user',
  org: 'an organization',
  client: 'a client',
  issuer: 'an issuer',
}

/** Finds the subjects that belong to an issuer. A note about such a subject contains the issuer id. */
const issuerSubjects: Partial<Record<NoteSubject, SubjectFinder<InIssuer>>> = {
  user: (context, path, id) =>
    context.db.user.findFirst({
      where: { id, ...path, status: { notIn: ['deleted', 'pending_deletion'] }, ...whereIssuerNotDeleted },
      select,
    }),
  org: (context, path, id) =>
    context.db.organization.findFirst({
      where: { id, ...path, status: { not: 'deleted' }, ...whereIssuerNotDeleted },
      select,
    }),
}

/** Finds the other subjects. A note about such a subject contains no issuer id. */
const accountSubjects: Partial<Record<NoteSubject, SubjectFinder<InAccount>>> = {
  issuer: (context, path, id) =>
    context.db.issuer.findFirst({ where: { id, ...path, status: { not: 'deleted' } }, select }),
  client: (context, path, id) =>
    context.db.client.findFirst({
      where: { id, ...path, status: { not: 'deleted' }, ...whereIssuerNotDeleted },
      select,
    }),
}

/**
 * Checks the subject of a new note.
 * @returns the columns of the subject
 * @throws invalid_request if the issuer id is missing or not allowed, or the issuer or subject is not in this account
 */
export async function requireSubject(
  context: Context,
  { accountId }: InAccount,
  { subjectType, subjectId, issuerId = null }: NoteSubjectRef,
): Promise<Required<NoteSubjectRef>> {
  const findInIssuer = issuerSubjects[subjectType]
  if (findInIssuer && issuerId === null) {
    throw invalidField('issuerId', 'required', `is required for a note about ${subjectNames[subjectType]}.`)
  }
  if (!findInIssuer && issuerId !== null) {
    throw invalidField('issuerId', 'not_allowed', 'is allowed only for notes about users and organizations.')
  }
  if (issuerId !== null && !(await accountSubjects.issuer?.(context, { accountId }, issuerId))) {
    throw invalidField('issuerId', 'unknown_issuer', 'must be the id of an issuer of this account.')
  }
  const found = findInIssuer
    ? await findInIssuer(context, { accountId, issuerId: issuerId ?? '' }, subjectId)
    : await accountSubjects[subjectType]?.(context, { accountId }, subjectId)
  if (!found) {
    const where = findInIssuer ? 'of this issuer' : 'of this account'
    throw invalidField('subjectId', 'unknown_subject', `must be the id of ${subjectNames[subjectType]} ${where}.`)
  }
  return { subjectType, subjectId, issuerId }
}
