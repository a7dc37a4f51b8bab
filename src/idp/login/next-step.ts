/**
 * Determines the next step of a sign-in after each completed step, from the state of the login transaction and from
 * current data of the database. The order is fixed: first who the user is, then whether the user may sign in, and then
 * what is missing.
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

/** Current data of the user, and the requirements for the user's sign-in. */
interface LoginFacts extends FactorFacts {
  status: string
  /** Why the account was not approved, which is shown to the user; null if there is no reason. */
  rejectionReason: string | null
  /** The email address of the user; null if there is none. */
  email: string | null
  emailVerified: boolean
  /**
   * Ids of organizations from which the user can choose; at most two, because with two the user must choose. Empty if
   * the user is not asked to choose.
   */
  organizations: string[]
}

// Two kinds of credentials do not count: credentials that the creator of an unclaimed account has set up, if the owner
// of the mailbox signs in by email (docs/decisions/0048), and credentials that the user of a recovery link has lost
// (docs/decisions/0053).
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

/**
 * Returns the state with the next step, and the messages to show with it. Once no second factor is pending, also
 * verifies the proved email address, completes the recovery and links the upstream account. Records the failed sign-in
 * of an inactive user.
 * @param tx the transaction of the completed step, whose uncommitted writes are taken into account
 * @throws TransitionRefused if another user has linked the upstream account at the same time
 */
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
    // `methods` is empty for an existing session and a recovery link, which are not recorded as failed sign-ins, and
    // after a correct password or passkey of an inactive user, for which the failed sign-in has already been recorded.
    if (method !== undefined) await recordSignInFailure(tx, user, user, { method, reason: facts.status })
    return { to: resetState(state, username), problems: [deniedMessage(facts)] }
  }
  const [onlyOrganizationId, ...otherOrganizationIds] = state.orgId === undefined ? facts.organizations : []
  let settledState =
    onlyOrganizationId !== undefined && otherOrganizationIds.length === 0
      ? { ...state, orgId: onlyOrganizationId }
      : state
  // For an existing browser session, session/sign-in-policy.ts decides whether a second factor is missing.
  const factors = state.reusesSession ? [] : requiredFactors(request, state, facts, loginTransaction)
  const secondFactorPending = needsSecondFactor(request, state, factors, facts)
  let since = state.since ?? tx.now()
  // The address is marked as verified only after the second factor, and after a required new password is saved.
  const provesEmail = state.provenEmail !== undefined && state.provenEmail === facts.email
  if (provesEmail && !facts.emailVerified && !secondFactorPending && !state.mustChangePassword) {
    // After a proof by email, `pwd` means that this sign-in has set a new password, which the account keeps.
    await claimAccountByEmail(withUserActor(tx, user), user, state.amr.includes('pwd'))
    facts.emailVerified = true
    // Claiming the account may have ended the user's sign-ins. A new `since` lets this sign-in continue.
    since = timestampAfterOwnChange(tx)
  }
  // The lost credentials are removed only after the new password is saved, so that the user never has only the old
  // password left.
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
      // Another user has linked the upstream account at the same time.
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

/** Checks whether the user must still use a second factor, even if none can be used on this host. */
const needsSecondFactor = (
  request: RequestContext,
  state: LoginState,
  factors: readonly Factor[],
  facts: LoginFacts,
): boolean =>
  factors.length > 0 || (!state.reusesSession && !state.amr.includes('mfa') && hasSecondFactor(request, facts))

/** Returns the first step that is missing, in the order of the numbered comments; `done` if none is missing. */
function selectNextStep(
  request: RequestContext,
  state: LoginState & { factors: Factor[] },
  facts: LoginFacts,
): StepName | 'done' {
  const { settings } = request.runtime.issuer
  const isSingleFactor = !state.reusesSession && !state.amr.includes('mfa')
  const activeRecovery = state.recovery?.consumed ? state.recovery : undefined
  // 1. The second factor, before the following steps show or change data of the user.
  const [factor] = state.factors
  if (factor) return factor
  if (isSingleFactor && hasSecondFactor(request, facts)) return 'no_factor'
  // 2. A new password, if the used one must be changed.
  if (state.mustChangePassword) return 'new_password'
  // 3. Verification of the email address, if the issuer requires it.
  const emailUnverified = facts.email !== null && !facts.emailVerified
  // This step is skipped during a recovery, because the user may have lost access to the mailbox.
  if (settings.signup?.require_email_verification && emailUnverified && !activeRecovery) return 'email_code'
  // 4. The offer to link an upstream account.
  if (!state.reusesSession && hasLinkOffer(request, state)) return 'link'
  // 5. The choice of an organization.
  if (state.orgId === undefined && facts.organizations.length > 1) return 'organization'
  // 6. Enrollment of a second factor that is required or was lost, of a passkey after a recovery if the issuer has
  // passkeys but no passwords and the user has no passkey, and of backup codes.
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
