/**
 * Decides whether the sign-in of a browser meets the authentication requirements of an authorization request: two
 * factors if the issuer or an organization requires them, and a requested authentication method (RFC 9470,
 * docs/contract.md#recent-sign-in). Also decides whether a credential change has invalidated a sign-in.
 */
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { activeMembershipSql } from '../../resources/organizations/membership.js'
import { acrOfMethod, requestedMethods } from '../login/acr.js'
import { type BrowserSession, type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/** Reasons in `signInPolicy` for which a signed-in user must prove another factor (step-up authentication). */
export const stepUpReasons: ReadonlySet<string> = new Set(['second_factor_missing', 'method_missing'])

const mfaRequiredText = `SELECT EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
  WHERE m.issuer_id = $1 AND m.user_id = $2 AND ${activeMembershipSql} AND o.mfa_required AND ($3::text IS NULL OR o.id = $3)) AS required`

/**
 * Checks whether the issuer, or an organization that the tokens may name, requires two factors.
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

const credentialsChangedText = `
  SELECT coalesce(u.proofs_valid_after >= $3::bigint, false) OR EXISTS (SELECT 1 FROM verifiers v
    WHERE v.issuer_id = $1 AND v.user_id = $2 AND v.type IN ('password', 'temporary_password')
      AND coalesce(v.secret_set_at, v.created_at) >= $3::bigint) AS changed
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2`

/**
 * Checks whether a credential change invalidates a sign-in: a password was set, all sessions of the user were ended, or
 * the owner of the email address claimed the account. Another person may have signed in before such a change. Therefore
 * the change invalidates sign-ins in progress, sign-ins that were not yet returned to the application, and the sign-ins
 * of browsers that had no session at that time (docs/contract.md#revocation-and-the-browser-session).
 * @param since Unix milliseconds. A change at or after this time invalidates the sign-in. A sign-in that itself changes
 *   a credential uses `timestampAfterOwnChange`.
 * @param lock lock the row of the user until the end of the transaction, so that transactions that change the user's
 *   credentials wait
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
 * Returns the parameter `since` of `isSignInOutdated` for a sign-in that itself changes a credential in this
 * transaction: one millisecond after the change, so that the change does not invalidate the sign-in.
 */
export const timestampAfterOwnChange = (tx: Context): number => tx.now() + 1

/**
 * Like `isSignInOutdated`, for the finished sign-in of a browser. Copies `since` of a new sign-in to the browser
 * session.
 */
export async function isBrowserSessionOutdated(
  { context, runtime }: RequestContext,
  { oidc }: OpenIdContext,
): Promise<boolean> {
  const session: BrowserSession | undefined = oidc.session
  if (!oidc.account || !session) return false
  // oidc-provider does not copy `since` from the login result to the browser session.
  const { since } = (oidc.result?.login ?? {}) as { since?: number }
  if (since !== undefined) session.since = since
  const credentialsUnchangedSince = credentialsUnchangedSinceOf(session)
  const user = { issuerId: runtime.issuer.id, id: oidc.account.accountId }
  return credentialsUnchangedSince !== undefined && isSignInOutdated(context.database, user, credentialsUnchangedSince)
}

/**
 * Returns the parameter `since` of `isSignInOutdated` for a browser session. A session that an older version of
 * Gatehouse has stored has only the second of the sign-in, during which the sign-in may have changed the password.
 * Therefore only changes after that second count.
 */
const credentialsUnchangedSinceOf = ({ since, loginTs }: BrowserSession): number | undefined =>
  since ?? (loginTs === undefined ? undefined : (loginTs + 1) * SECOND)

/** Authentication methods by `amr` value of a session. Other methods are found by the `acr` of the session. */
const methodsByAmr: Readonly<Record<string, string>> = { pwd: 'password', hwk: 'passkey' }

/**
 * Returns the first value of `acr_values` whose method this browser session has used; undefined if there is none, or if
 * `acr_values` also contains values that are not methods.
 */
export function satisfiedAcr(ctx: OpenIdContext, { acr, amr = [] }: BrowserSession): string | undefined {
  const usedMethods = new Set(amr.map((value) => methodsByAmr[value]))
  return requestedMethods(textParameter(ctx, 'acr_values'))
    ?.filter((method) => usedMethods.has(method) || acrOfMethod(method) === acr)
    .map(acrOfMethod)[0]
}

/**
 * Checks whether `acr_values` requires authentication methods, none of which the user of this browser session has used.
 */
export const isRequestedMethodMissing = (ctx: OpenIdContext, session: BrowserSession): boolean =>
  requestedMethods(textParameter(ctx, 'acr_values')) !== undefined && satisfiedAcr(ctx, session) === undefined
