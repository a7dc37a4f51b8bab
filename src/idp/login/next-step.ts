/**
 * Determines the next step of a sign-in. Evaluated after each step, from what the user has proved and from current data
 * in the database. The order matters: first who the user is, then whether they may sign in, then what is missing.
 */
import type { Context } from '../../platform/context.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { claimAccountByEmail, unclaimedAccountSql } from '../../resources/credentials/mailbox.js'
import { completeRecovery } from '../../resources/credentials/recovery.js'
import { recordSignInFailure } from '../../resources/credentials/sign-in.js'
import { emailAddressSql } from '../../resources/email-address.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { timestampAfterOwnChange } from '../session/authentication-requirements.js'
import { type Factor, type LoginState, resetState, type StepName } from './login-state.js'
import type { LoginTransaction } from './login-transaction.js'
import { signInMethodsOf } from './methods/index.js'
import type { PageMessage } from './pages/texts.js'
import {
  canReplaceFactor,
  enrollmentSteps,
  type FactorFacts,
  hasSecondFactor,
  isMfaRequired,
  needsBackupCodes,
  requiredFactors,
} from './second-factors.js'
import { completePendingLink, hasLinkOffer } from './steps/link.js'
import { TransitionRefused } from './steps/step.js'

/** Current data of the user and requirements for them. */
interface LoginFacts extends FactorFacts {
  status: string
  /** Why the account was not approved; shown to the user. */
  rejectionReason: string | null
  /** The email address of the user; null if there is none. */
  email: string | null
  emailVerified: boolean
  /** Ids of organizations that the user can choose from in this application; at most two, which is enough to ask. */
  organizations: string[]
}

// Credentials that the creator of an unclaimed account has set up do not count for the owner of its mailbox
// (docs/decisions/0048), nor do credentials that the user of a recovery link has lost (docs/decisions/0053).
const usableVerifierSql = `v.user_id = u.id AND v.issuer_id = u.issuer_id
      AND (v.created_by IS DISTINCT FROM u.id OR NOT coalesce(${unclaimedAccountSql} AND a.email = $5, false))
      AND v.id <> ALL($6::text[])`

const loginFactsSql = `
  SELECT u.status, u.email_verified AS "emailVerified",
    CASE WHEN u.approval->>'status' = 'rejected' THEN u.approval->>'reason' END AS "rejectionReason",
    a.email,
    ARRAY(SELECT DISTINCT v.type FROM verifiers v WHERE ${usableVerifierSql}
      AND (v.type <> 'backup_codes' OR cardinality(v.code_hashes) > 0)) AS verifiers,
    ARRAY(SELECT DISTINCT v.data->>'rp_id' FROM verifiers v WHERE ${usableVerifierSql}
      AND v.type = 'passkey') AS "passkeyRpIds",
    ARRAY(SELECT o.id FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND ($4::text[] IS NULL OR o.id = ANY($4)) LIMIT 2) AS organizations,
    EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND o.mfa_required AND ($3::text IS NULL OR o.id = $3)) AS "organizationRequiresMfa",
    EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND o.mfa_required) AS "anyOrganizationRequiresMfa"
  FROM users u CROSS JOIN LATERAL (SELECT ${emailAddressSql} AS email) a
  WHERE u.issuer_id = $1 AND u.id = $2`

async function loadLoginFacts(
  { runtime }: RequestContext,
  { query }: Context,
  userId: string,
  { orgId, provenEmail, recovery }: LoginState,
  loginTransaction: LoginTransaction,
): Promise<LoginFacts | undefined> {
  const selectableOrgIds = loginTransaction.promptsForOrganization ? loginTransaction.allowedOrgIds : []
  const values = [
    runtime.issuer.id,
    userId,
    orgId ?? loginTransaction.orgId,
    selectableOrgIds,
    provenEmail ?? null,
    recovery?.lostCredentialIds ?? [],
  ]
  const [facts] = await query<LoginFacts & Record<string, unknown>>('login-facts', loginFactsSql, values)
  return facts
}

/** Determines the next step with the data of the transaction in progress, and the messages to show there. */
export async function determineNextStep(
  request: RequestContext,
  tx: Context,
  state: LoginState,
  loginTransaction: LoginTransaction,
): Promise<{ to: LoginState; problems: PageMessage[] }> {
  const { user, username } = state
  const facts = user && (await loadLoginFacts(request, tx, user.id, state, loginTransaction))
  if (!facts) return { to: resetState(state, username), problems: [] }
  // Check whether the user may sign in at all.
  if (facts.status === 'pending_approval' && state.signUp) return { to: { ...state, step: 'waiting' }, problems: [] }
  if (facts.status !== 'active') {
    const method = state.methods.at(-1)
    // A correct password or passkey of an inactive user is recorded as a failed sign-in. Without a method, the failure
    // has been recorded already.
    if (method !== undefined) await recordSignInFailure(tx, user, user, { method, reason: facts.status })
    return { to: resetState(state, username), problems: [deniedMessage(facts)] }
  }
  const [onlyOrganizationId, ...otherOrganizationIds] = state.orgId === undefined ? facts.organizations : []
  let settledState =
    onlyOrganizationId !== undefined && otherOrganizationIds.length === 0
      ? { ...state, orgId: onlyOrganizationId }
      : state
  // session/sign-in-policy.ts decides about factors of an existing browser session.
  const factors = state.reusesSession ? [] : requiredFactors(request, state, facts, loginTransaction)
  const secondFactorPending = needsSecondFactor(request, state, factors, facts)
  let since = state.since ?? tx.now()
  // The email proves the address only after the second factor, and after a required new password is saved.
  const provesEmail = state.provenEmail !== undefined && state.provenEmail === facts.email
  if (provesEmail && !facts.emailVerified && !secondFactorPending && !state.mustChangePassword) {
    // No password change is pending here, so the account keeps a password that this sign-in used.
    await claimAccountByEmail(withUserActor(tx, user), user, state.amr.includes('pwd'))
    facts.emailVerified = true
    // Claiming the account may have ended the user's sign-ins; this one continues.
    since = timestampAfterOwnChange(tx)
  }
  // The lost credentials are removed only after the new password is saved, so that the user is never left with only the
  // old one.
  const { recovery } = state
  if (recovery?.consumed && !recovery.completed && !secondFactorPending && !state.mustChangePassword) {
    await completeRecovery(withUserActor(tx, user), user, recovery.lostCredentialIds)
    settledState = { ...settledState, recovery: { ...recovery, completed: true } }
    since = tx.now()
  }
  const { pendingLink, ...rest } = { ...settledState, factors, since }
  if (!secondFactorPending && pendingLink) {
    await completePendingLink(request, tx, user, pendingLink).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error
      // Another user linked it at the same time.
      throw new TransitionRefused({ to: resetState(state, username), problems: [{ key: 'stale' }] })
    })
  }
  const nextState = secondFactorPending && pendingLink ? { ...rest, pendingLink } : rest
  return { to: { ...nextState, step: selectNextStep(request, nextState, facts) }, problems: [] }
}

function deniedMessage({ status, rejectionReason }: LoginFacts): PageMessage {
  if (status === 'pending_approval') return { key: 'pending_approval' }
  return rejectionReason ? { key: 'rejected', params: { reason: rejectionReason } } : { key: 'barred' }
}

/** Checks whether the user has a second factor that this sign-in has not used yet. */
const needsSecondFactor = (
  request: RequestContext,
  state: LoginState,
  factors: readonly Factor[],
  facts: LoginFacts,
): boolean =>
  factors.length > 0 || (!state.reusesSession && !state.amr.includes('mfa') && hasSecondFactor(request, facts))

/** Returns the first missing step, in this order. */
function selectNextStep(
  request: RequestContext,
  state: LoginState & { factors: Factor[] },
  facts: LoginFacts,
): StepName | 'done' {
  const { settings } = request.runtime.issuer
  const isSingleFactor = !state.reusesSession && !state.amr.includes('mfa')
  const activeRecovery = state.recovery?.consumed ? state.recovery : undefined
  // 1. The second factor, before anything can be read or changed.
  const [factor] = state.factors
  if (factor) return factor
  if (isSingleFactor && hasSecondFactor(request, facts)) return 'no_factor'
  // 2. A new password, if the used one must be changed.
  if (state.mustChangePassword) return 'new_password'
  // 3. Verification of the email address, if the issuer requires it.
  const emailUnverified = facts.email !== null && !facts.emailVerified
  // Not during a recovery: the user may have lost access to the mailbox.
  if (settings.signup?.require_email_verification && emailUnverified && !activeRecovery) return 'email_code'
  // 4. The offer to link an upstream account.
  if (!state.reusesSession && hasLinkOffer(request, state)) return 'link'
  // 5. The choice of an organization.
  if (state.orgId === undefined && facts.organizations.length > 1) return 'organization'
  // 6. Enrollment of a required second factor, and backup codes.
  if (
    isSingleFactor &&
    (isMfaRequired(request, facts) || (activeRecovery?.lostSecondFactor && canReplaceFactor(request)))
  )
    return enrollmentSteps(request)[0]!
  if (
    activeRecovery &&
    signInMethodsOf(request, 'password').length === 0 &&
    signInMethodsOf(request, 'passkey').length > 0
  ) {
    if (!facts.verifiers.includes('passkey')) return 'enroll_passkey'
  }
  if (state.offersBackupCodes && needsBackupCodes(request, facts)) return 'new_codes'
  return 'done'
}
