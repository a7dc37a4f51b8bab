/**
 * Subjects of notes (docs/contract.md#notes): a user, organization, issuer or client of the account that is not
 * deleted.
 */
import { invalidField } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, type InIssuer, whereIssuerNotDeleted } from '../resource-path.js'

export const noteSubjects = ['user', 'org', 'issuer', 'client'] as const
export type NoteSubject = (typeof noteSubjects)[number]

export interface NoteSubjectRef {
  subjectType: NoteSubject
  subjectId: string
  issuerId?: string | null
}

type SubjectFinder<Path> = (context: Context, path: Path, id: string) => Promise<{ id: string } | null>
const select = { id: true } as const

/** For error messages. */
const subjectNames: Record<NoteSubject, string> = {
  user: 'a user',
  org: 'an organization',
  client: 'a client',
  issuer: 'an issuer',
}

/** Subjects that are identified within their issuer. */
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

/** Subjects that are identified within the account. */
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
 * @returns its columns
 * @throws invalid_request if the issuer is missing or not allowed, or the subject is not in this account
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
