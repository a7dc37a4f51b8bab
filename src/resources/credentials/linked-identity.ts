/**
 * Linked upstream identities: verifiers of the type `oauth` (docs/contract.md#credentials). Only a sign-in creates
 * them. An upstream account belongs to at most one user.
 */
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/postgres/database.js'
import type { InIssuer } from '../resource-path.js'
import type { SignInUser } from './sign-in.js'
import { insertVerifier, lockVerifierOwner } from './verifier-kind.js'

/** An account at an upstream provider. A subject is unique within its issuer only. */
export interface UpstreamIdentity {
  /** Id of the authentication method of the provider. */
  methodId: string
  issuer: string
  subject: string
}

/** Returns the user of an upstream account, regardless of the user's status; undefined if it is not linked. */
export async function findLinkedUser(
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

/** A user with the same email address. */
export interface EmailMatch {
  user: SignInUser
  /** The addresses are equal, and the user has confirmed the address. */
  isVerified: boolean
  /** The address matches the username, not only the profile. */
  byUsername: boolean
}

const emailMatchesText = `
  SELECT id, username, status, CASE WHEN username_type = 'email' THEN username ELSE profile->>'email' END AS email,
    email_verified AS "emailVerified", true AS "byUsername"
  FROM users WHERE issuer_id = $1 AND account_id = $2 AND username_key = $3 AND status NOT IN ('deleted', 'pending_deletion')
  UNION ALL
  (SELECT id, username, status, profile->>'email', email_verified, false
  FROM users WHERE issuer_id = $1 AND account_id = $2 AND lower(profile->>'email') = $3 AND username_type <> 'email'
    AND username_key <> $3 AND profile->>'email' IS NOT NULL AND status NOT IN ('deleted', 'pending_deletion') LIMIT 10)`

interface EmailMatchRow {
  id: string
  username: string
  status: string
  email: string | null
  emailVerified: boolean
  byUsername: boolean
}

/** Ignores the case of ASCII letters only: Unicode case folding could match the mailbox of another person. */
const isSameAddress = (one: string, other: string): boolean => {
  const foldCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return foldCase(one) === foldCase(other)
}

/**
 * Returns the users who have this address as their username or in their profile.
 * @param email in ASCII
 */
export async function findUsersByEmail(
  context: Context,
  { accountId, issuerId }: InIssuer,
  email: string,
): Promise<EmailMatch[]> {
  const rows = await sql<EmailMatchRow>(context.db, emailMatchesText, issuerId, accountId, email.toLowerCase())
  return rows.map(({ emailVerified, email: userEmail, byUsername, ...user }) => ({
    user: { ...user, accountId, issuerId },
    isVerified: emailVerified && userEmail !== null && isSameAddress(userEmail, email),
    byUsername,
  }))
}

/**
 * Links an upstream account to a user unless it is linked already. Locks the user's row, so that two parallel sign-ins
 * of one user create one link.
 * @throws as `linkIdentity`
 */
export async function linkIdentityIfUnlinked(
  context: Context,
  user: SignInUser,
  identity: UpstreamIdentity,
  name: string,
): Promise<void> {
  await lockVerifierOwner(context, user)
  if (!(await findLinkedUser(context, user, identity))) await linkIdentity(context, user, identity, name)
}

/**
 * Links an upstream account to a user who has just signed in with it. Call it in the transaction of the sign-in step,
 * with that user as the actor.
 * @param name display name of the provider
 * @throws not_found for a deleted user; a unique violation if the account has been linked in the meantime
 */
export async function linkIdentity(
  context: Context,
  user: SignInUser,
  { methodId, issuer, subject }: UpstreamIdentity,
  name: string,
): Promise<Verifier> {
  await lockVerifierOwner(context, user)
  const columns = { type: 'oauth', name, methodId, upstreamIssuer: issuer, upstreamSubject: subject }
  return insertVerifier(context, user, {}, { ...columns, createdBy: user.id, lastUsedAt: context.now() })
}
