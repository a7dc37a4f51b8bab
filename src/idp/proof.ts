/**
 * Has a browser that is signed in proved enough for this request? Two factors where the issuer or an organization demands
 * them, a certain method where the application does (RFC 9470, decisions D25).
 */
import { SECOND } from '../kernel/time.js'
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

const changedText = `
  SELECT coalesce(u.owned_since >= $3::bigint, false) OR EXISTS (SELECT 1 FROM verifiers v
    WHERE v.issuer_id = $1 AND v.user_id = $2 AND v.type IN ('password', 'temporary_password')
      AND coalesce(v.secret_set_at, v.created_at) >= $3::bigint) AS changed
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2`

/**
 * Has the person's password been changed since this browser signed in, were all their sessions ended, or has the account
 * gone to its owner? That must not spare a browser without a session at that moment, nor a sign-in that was finished
 * before and is brought to its end only now (security rule 13).
 */
export async function isOutdated(userId: string, { loginTs }: BrowserSession): Promise<boolean> {
  if (loginTs === undefined) return false
  const { context, runtime } = scope()
  // A sign-in knows its second only, and may have changed the password itself.
  const values = [runtime.issuer.id, userId, (loginTs + 1) * SECOND]
  const [row] = await context.tools.query<{ changed: boolean }>('idp-password-changed', changedText, values)
  return row?.changed === true
}

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
