/**
 * Accounts at upstream providers that belong to users: verifiers of type `oauth` (spec 2.7). They are made by signing
 * in only, listed and deleted as every verifier; one upstream account belongs to one user.
 */
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/database.js'
import type { InIssuer } from '../place.js'
import { insertVerifier, lockOwner } from './kind.js'
import type { SignInUser } from './sign-in.js'

/** Who somebody is at an upstream provider: a subject means something at its issuer only. */
export interface UpstreamIdentity {
  /** Of the authentication method that leads there. */
  methodId: string
  issuer: string
  subject: string
}

/** The user of an upstream account, whatever the user's status; undefined for an account that is nobody's yet. */
export async function findLinked(
  context: Context,
  { accountId, issuerId }: InIssuer,
  { methodId, issuer, subject }: UpstreamIdentity,
): Promise<{ user: SignInUser; verifierId: string } | undefined> {
  const row = await context.db.verifier.findFirst({
    where: { accountId, issuerId, type: 'oauth', methodId, upstreamIssuer: issuer, upstreamSubject: subject },
    select: { id: true, user: { select: { id: true, username: true, status: true } } },
  })
  return row ? { user: { ...row.user, accountId, issuerId }, verifierId: row.id } : undefined
}

/** Somebody whose address it seems to be. */
export interface AddressOwner {
  user: SignInUser
  /** It is the very address, and they have shown that they read its mail. */
  proved: boolean
  /** It is, or is compared like, the username. */
  byUsername: boolean
}

const ownersText = `
  SELECT id, username, status, CASE WHEN username_type = 'email' THEN username ELSE profile->>'email' END AS email,
    email_verified AS "emailVerified", true AS "byUsername"
  FROM users WHERE issuer_id = $1 AND account_id = $2 AND username_key = $3 AND status NOT IN ('deleted', 'pending_deletion')
  UNION ALL
  (SELECT id, username, status, profile->>'email', email_verified, false
  FROM users WHERE issuer_id = $1 AND account_id = $2 AND lower(profile->>'email') = $3 AND username_type <> 'email'
    AND username_key <> $3 AND profile->>'email' IS NOT NULL AND status NOT IN ('deleted', 'pending_deletion') LIMIT 10)`

interface OwnerRow {
  id: string
  username: string
  status: string
  email: string | null
  emailVerified: boolean
  byUsername: boolean
}

/** Mail knows no other case folding: what Unicode folds further may be the mailbox of somebody else. */
const sameAddress = (one: string, other: string): boolean => {
  const folded = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return folded(one) === folded(other)
}

/**
 * Users who have this address as their username or in their profile.
 * @param email in ASCII
 */
export async function ownersOfAddress(
  context: Context,
  { accountId, issuerId }: InIssuer,
  email: string,
): Promise<AddressOwner[]> {
  const rows = await sql<OwnerRow>(context.db, ownersText, issuerId, accountId, email.toLowerCase())
  return rows.map(({ emailVerified, email: theirs, byUsername, ...user }) => ({
    user: { ...user, accountId, issuerId },
    proved: emailVerified && theirs !== null && sameAddress(theirs, email),
    byUsername,
  }))
}

/**
 * Links an upstream account unless it is somebody's already: of two browsers of one user the second finds what the first
 * wrote.
 * @throws as linkIdentity
 */
export async function linkUnlessTaken(
  context: Context,
  user: SignInUser,
  identity: UpstreamIdentity,
  name: string,
): Promise<void> {
  await lockOwner(context, user)
  if (!(await findLinked(context, user, identity))) await linkIdentity(context, user, identity, name)
}

/**
 * Makes an upstream account the user's, who has just come with it. Call it in the transaction of the step, as that user.
 * @param name what people call the provider
 * @throws not_found for a user who has gone; a broken unique index for an account that somebody has meanwhile
 */
export async function linkIdentity(
  context: Context,
  user: SignInUser,
  { methodId, issuer, subject }: UpstreamIdentity,
  name: string,
): Promise<Verifier> {
  await lockOwner(context, user)
  const columns = { type: 'oauth', name, methodId, upstreamIssuer: issuer, upstreamSubject: subject }
  return insertVerifier(context, user, {}, { ...columns, createdBy: user.id, lastUsedAt: context.now() })
}
