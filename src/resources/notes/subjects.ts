/** What a note may be about (spec 2.14): a living user, organization, issuer or client of the same account. */
import { invalidField } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, type InIssuer, ofLivingIssuer } from '../place.js'

export const noteSubjects = ['user', 'org', 'issuer', 'client'] as const
export type NoteSubject = (typeof noteSubjects)[number]

export interface Subject {
  subjectType: NoteSubject
  subjectId: string
  issuerId?: string | null
}

type Finder<Place> = (context: Context, place: Place, id: string) => Promise<{ id: string } | null>
const select = { id: true } as const

/** Subjects that are named together with their issuer. */
const inIssuer: Partial<Record<NoteSubject, Finder<InIssuer>>> = {
  user: (context, place, id) =>
    context.db.user.findFirst({
      where: { id, ...place, status: { notIn: ['deleted', 'pending_deletion'] }, ...ofLivingIssuer },
      select,
    }),
  org: (context, place, id) =>
    context.db.organization.findFirst({
      where: { id, ...place, status: { not: 'deleted' }, ...ofLivingIssuer },
      select,
    }),
}

/** Subjects that are named alone. */
const inAccount: Partial<Record<NoteSubject, Finder<InAccount>>> = {
  issuer: (context, place, id) =>
    context.db.issuer.findFirst({ where: { id, ...place, status: { not: 'deleted' } }, select }),
  client: (context, place, id) =>
    context.db.client.findFirst({ where: { id, ...place, status: { not: 'deleted' }, ...ofLivingIssuer }, select }),
}

/**
 * Checks the subject of a new note.
 * @returns its columns
 * @throws invalid_request when the issuer is missing or not wanted, or the subject is not in this account
 */
export async function requireSubject(
  context: Context,
  { accountId }: InAccount,
  { subjectType, subjectId, issuerId = null }: Subject,
): Promise<Required<Subject>> {
  const belowIssuer = inIssuer[subjectType]
  if (belowIssuer && issuerId === null) {
    throw invalidField('issuerId', 'required', `is required for a note about a ${subjectType}.`)
  }
  if (!belowIssuer && issuerId !== null) {
    throw invalidField('issuerId', 'not_allowed', 'belongs to notes about users and organizations only.')
  }
  if (issuerId !== null && !(await inAccount.issuer?.(context, { accountId }, issuerId))) {
    throw invalidField('issuerId', 'unknown_issuer', 'must be the id of an issuer of this account.')
  }
  const found = belowIssuer
    ? await belowIssuer(context, { accountId, issuerId: issuerId ?? '' }, subjectId)
    : await inAccount[subjectType]?.(context, { accountId }, subjectId)
  if (!found) {
    const where = belowIssuer ? 'of this issuer' : 'of this account'
    throw invalidField('subjectId', 'unknown_subject', `must be the id of a ${subjectType} ${where}.`)
  }
  return { subjectType, subjectId, issuerId }
}
