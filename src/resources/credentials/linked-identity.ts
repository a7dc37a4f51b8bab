/**
 * Links between users and their accounts at upstream providers: verifiers of the type `oauth`
 * (docs/contract.md#credentials). Only a sign-in creates them. An upstream account is linked to at most one user.
 */
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/postgres/database.js'
import type { InIssuer } from '../resource-path.js'
import type { SignInUser } from './sign-in.js'
import { insertVerifier, lockVerifierOwner } from './verifier-kind.js'

/** An account at an upstream provider. */
export interface UpstreamIdentity {
  /** ID of the authentication method that is configured for the provider. */
  methodId: string
  /** Issuer identifier of the provider. */
  issuer: string
  /** The `sub` of the account, which is unique only for its `issuer`. */
  subject: string
}

/** Returns the user of an upstream account, whatever the user's status is; undefined if the account is not linked. */
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

/** A user whom `findUsersByEmail` found. */
export interface EmailMatch {
  user: SignInUser
  /** Whether the address is the user's verified email address. The case of ASCII letters is ignored. */
  isVerified: boolean
  /** Whether the address is the username. If false, the address is only in the profile. */
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

/**
 * Ignores the case of ASCII letters only, because Unicode case folding could match the mailbox of another person.
 */
const isSameAddress = (one: string, other: string): boolean => {
  const foldCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return foldCase(one) === foldCase(other)
}

/**
 * Returns the user whose username is this address, and up to ten users whose username is not an email address and who
 * have this address in their profile. Ignores case and deleted users.
 * @param email an address that contains only ASCII characters
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
 * Links an upstream account to a user unless the account is linked already. Locks the user's row, so that two
 * concurrent sign-ins of one user create only one link.
 * @throws the errors of `linkIdentity`
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
 * Links an upstream account to a user. Call it in the transaction of the sign-in step, with this user as the actor.
 * @param name display name of the provider
 * @throws not_found for an unknown or deleted user; a unique violation if the account is linked already
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
