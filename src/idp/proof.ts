/**
 * Has a browser that is signed in proved enough for this request? Two factors where the issuer or an organization demands
 * them, a certain method where the application does (RFC 9470, decisions D25).
 */
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { countsSql } from '../resources/organizations/membership.js'
import { type BrowserSession, type OpenIdContext, param } from './library.js'
import { acrOfMethod, wishedMethods } from './login/acr.js'
import { scope } from './scope.js'

/** The reasons to sign in again for which somebody proves more than before. */
export const moreProof: ReadonlySet<string> = new Set(['second_factor_missing', 'method_missing'])

const demandText = `SELECT EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
  WHERE m.issuer_id = $1 AND m.user_id = $2 AND ${countsSql} AND o.mfa_required AND ($3::text IS NULL OR o.id = $3)) AS demanded`

/**
 * Do the issuer, or the organizations that the tokens will speak of, want two factors?
 * @param orgId the selected organization; null for all of the user's, undefined while nobody knows
 */
export async function demandsSecondFactor(userId: string, orgId: string | null | undefined): Promise<boolean> {
  const { context, runtime } = scope()
  if (runtime.issuer.settings.security?.mfa_required === true) return true
  if (orgId === undefined) return false
  const values = [runtime.issuer.id, userId, orgId]
  const [row] = await context.tools.query<{ demanded: boolean }>('idp-second-factor', demandText, values)
  return row?.demanded === true
}

// The row is locked, so that of a transaction that goes on and a change of who owns the account one sees the other.
const changedText = `
  SELECT coalesce(u.owned_since >= $3::bigint, false) OR EXISTS (SELECT 1 FROM verifiers v
    WHERE v.issuer_id = $1 AND v.user_id = $2 AND v.type IN ('password', 'temporary_password')
      AND coalesce(v.secret_set_at, v.created_at) >= $3::bigint) AS changed
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2`

/**
 * Has the person's password been changed since they signed in, were all their sessions ended, or has the account gone to
 * its owner? Then that was perhaps another person, and the sign-in counts no more: neither one half-way, nor one that
 * was finished before and is brought to its end only now, nor that of a browser without a session at that moment
 * (security rule 13).
 * @param since Unix milliseconds: a change in that millisecond counts, one before it does not. A sign-in that changes
 * something itself begins after it, see `afterOwnChange`
 * @param lock in a transaction: nothing changes before its end
 */
export async function isOutdated(
  { query }: Pick<Context, 'query'>,
  { issuerId, id }: { issuerId: string; id: string },
  since: number,
  lock = false,
): Promise<boolean> {
  const [name, text] = lock
    ? ['credentials-changed-lock', `${changedText} FOR UPDATE`]
    : ['credentials-changed', changedText]
  const [row] = await query<{ changed: boolean }>(name, text, [issuerId, id, since])
  return row?.changed === true
}

/** From when on a change is not this sign-in's own, which has just made one in the same transaction. */
export const afterOwnChange = (inside: Context): number => inside.now() + 1

/** The same of a sign-in that a browser has finished. */
export async function isBrowserOutdated({ oidc }: OpenIdContext): Promise<boolean> {
  const session: BrowserSession | undefined = oidc.session
  if (!oidc.account || !session) return false
  // The library takes over no more of a sign-in than it knows of.
  const { since } = (oidc.result?.login ?? {}) as { since?: number }
  if (since !== undefined) session.since = since
  const { context, runtime } = scope()
  const from = sinceOf(session)
  const user = { issuerId: runtime.issuer.id, id: oidc.account.accountId }
  return from !== undefined && isOutdated(context.tools, user, from)
}

/** A sign-in without a moment of its own knows its second only, and may have changed the password itself in that. */
const sinceOf = ({ since, loginTs }: BrowserSession): number | undefined =>
  since ?? (loginTs === undefined ? undefined : (loginTs + 1) * SECOND)

/** What a session's `amr` says of the methods that it came by; of other methods it is the `acr` that says so. */
const methodsByAmr: Readonly<Record<string, string>> = { pwd: 'password', hwk: 'passkey' }

/** The first of the methods that `acr_values` asks for which this browser has signed in with, as an acr. */
export function fulfilledWish(ctx: OpenIdContext, { acr, amr = [] }: BrowserSession): string | undefined {
  const used = new Set(amr.map((value) => methodsByAmr[value]))
  return wishedMethods(param(ctx, 'acr_values'))
    ?.filter((method) => used.has(method) || acrOfMethod(method) === acr)
    .map(acrOfMethod)[0]
}

/** Does the request demand a method that this browser has not signed in with? */
export const lacksMethod = (ctx: OpenIdContext, session: BrowserSession): boolean =>
  wishedMethods(param(ctx, 'acr_values')) !== undefined && fulfilledWish(ctx, session) === undefined
