/**
 * Decides whether a signed-in browser meets the authentication requirements of a request: two factors if the issuer or
 * an organization requires them, and the requested authentication method (RFC 9470, docs/contract.md#recent-sign-in).
 */
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { activeMembershipSql } from '../../resources/organizations/membership.js'
import { acrOfMethod, requestedMethods } from '../login/acr.js'
import { type BrowserSession, type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/** Reasons to sign in again that ask the user for more proof than before (step-up authentication). */
export const stepUpReasons: ReadonlySet<string> = new Set(['second_factor_missing', 'method_missing'])

const mfaRequiredText = `SELECT EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
  WHERE m.issuer_id = $1 AND m.user_id = $2 AND ${activeMembershipSql} AND o.mfa_required AND ($3::text IS NULL OR o.id = $3)) AS required`

/**
 * Checks whether the issuer, or an organization that the tokens will name, requires two factors.
 * @param orgId the selected organization; null for all organizations of the user, undefined while none is selected yet
 */
export async function isSecondFactorRequired(
  { context, runtime }: RequestContext,
  userId: string,
  orgId: string | null | undefined,
): Promise<boolean> {
  if (runtime.issuer.settings.security?.mfa_required === true) return true
  if (orgId === undefined) return false
  const values = [runtime.issuer.id, userId, orgId]
  const [row] = await context.database.query<{ required: boolean }>('idp-second-factor', mfaRequiredText, values)
  return row?.required === true
}

// FOR UPDATE serializes a transaction that continues the sign-in with one that changes the credentials or the owner.
const credentialsChangedText = `
  SELECT coalesce(u.proofs_valid_after >= $3::bigint, false) OR EXISTS (SELECT 1 FROM verifiers v
    WHERE v.issuer_id = $1 AND v.user_id = $2 AND v.type IN ('password', 'temporary_password')
      AND coalesce(v.secret_set_at, v.created_at) >= $3::bigint) AS changed
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2`

/**
 * Checks whether a credential change invalidates a sign-in: the password was changed, all sessions were ended, or the
 * account was claimed by the owner of its email address. The sign-in may have been another person's then, so it is
 * rejected, whether it is in progress, finished but not yet completed, or of a browser that had no session at that time
 * (docs/contract.md#revocation-and-the-browser-session).
 * @param since Unix milliseconds. A change at or after this time counts. A sign-in that changes a credential itself
 * sets it with `timestampAfterOwnChange`
 * @param lock in a transaction: lock the row until the end
 */
export async function isSignInOutdated(
  { query }: Pick<Context, 'query'>,
  { issuerId, id }: { issuerId: string; id: string },
  since: number,
  lock = false,
): Promise<boolean> {
  const [name, text] = lock
    ? ['credentials-changed-lock', `${credentialsChangedText} FOR UPDATE`]
    : ['credentials-changed', credentialsChangedText]
  const [row] = await query<{ changed: boolean }>(name, text, [issuerId, id, since])
  return row?.changed === true
}

/**
 * Returns the `since` timestamp (Unix milliseconds) of a sign-in that changed a credential itself in this transaction:
 * one millisecond later, so that its own change does not invalidate it.
 */
export const timestampAfterOwnChange = (tx: Context): number => tx.now() + 1

/** Checks the same for the finished sign-in of a browser. */
export async function isBrowserSessionOutdated(
  { context, runtime }: RequestContext,
  { oidc }: OpenIdContext,
): Promise<boolean> {
  const session: BrowserSession | undefined = oidc.session
  if (!oidc.account || !session) return false
  // oidc-provider copies only the members of a login result that it knows.
  const { since } = (oidc.result?.login ?? {}) as { since?: number }
  if (since !== undefined) session.since = since
  const credentialsUnchangedSince = credentialsUnchangedSinceOf(session)
  const user = { issuerId: runtime.issuer.id, id: oidc.account.accountId }
  return credentialsUnchangedSince !== undefined && isSignInOutdated(context.database, user, credentialsUnchangedSince)
}

/**
 * A session of an older version stores its sign-in time in seconds only, and may have changed the password within that
 * second.
 */
const credentialsUnchangedSinceOf = ({ since, loginTs }: BrowserSession): number | undefined =>
  since ?? (loginTs === undefined ? undefined : (loginTs + 1) * SECOND)

/** Methods by `amr` value of a session. For other methods, the `acr` names the method. */
const methodsByAmr: Readonly<Record<string, string>> = { pwd: 'password', hwk: 'passkey' }

/** Returns the first method of `acr_values` that this browser has signed in with, as an acr. */
export function satisfiedAcr(ctx: OpenIdContext, { acr, amr = [] }: BrowserSession): string | undefined {
  const usedMethods = new Set(amr.map((value) => methodsByAmr[value]))
  return requestedMethods(textParameter(ctx, 'acr_values'))
    ?.filter((method) => usedMethods.has(method) || acrOfMethod(method) === acr)
    .map(acrOfMethod)[0]
}

/** Checks whether the request requires a method that this browser has not signed in with. */
export const isRequestedMethodMissing = (ctx: OpenIdContext, session: BrowserSession): boolean =>
  requestedMethods(textParameter(ctx, 'acr_values')) !== undefined && satisfiedAcr(ctx, session) === undefined
