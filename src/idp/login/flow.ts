/**
 * What remains to be done before somebody is signed in: decided anew after each step, from what was proved and from
 * what the database says now. The order matters: who it is, whether they may, then what they still owe.
 */
import type { Context } from '../../platform/context.js'
import { isDuplicate } from '../../platform/database.js'
import { claimMailbox, unclaimedSql } from '../../resources/credentials/mail-owner.js'
import { completeRecovery } from '../../resources/credentials/recovery.js'
import { recordFailure } from '../../resources/credentials/sign-in.js'
import { addressSql } from '../../resources/mail-address.js'
import { afterOwnChange } from '../proof.js'
import { asUser, scope } from '../scope.js'
import type { Journey } from './journey.js'
import { methodsOf } from './methods/index.js'
import type { Sentence } from './pages/texts.js'
import {
  enrolments,
  type Factor,
  type FactorFacts,
  isDemanded,
  isEnrolled,
  lacksCodes,
  owedFactors,
  replacesFactors,
} from './second-factors.js'
import { anew, type LoginState, type StepName } from './state.js'
import { linkClaimed, mayLink } from './steps/link.js'
import { Refused } from './steps/step.js'

/** What is known of the person and asked of them, read fresh. */
interface Facts extends FactorFacts {
  status: string
  /** Why the approval desk said no; people may know. */
  rejection: string | null
  /** The address that is confirmed by mail; null when there is none. */
  email: string | null
  emailVerified: boolean
  /** Ids of organizations that the application lets this person choose from; two are enough to ask. */
  organizations: string[]
}

// To the owner of the mailbox of an unclaimed account, verifiers of its maker mean nothing (decision 0062). Neither do
// those that the owner of a recovery link has lost (decision 0067).
const countsVerifierSql = `v.user_id = u.id AND v.issuer_id = u.issuer_id
      AND (v.created_by IS DISTINCT FROM u.id OR NOT coalesce(${unclaimedSql} AND a.email = $5, false))
      AND v.id <> ALL($6::text[])`

const factsText = `
  SELECT u.status, u.email_verified AS "emailVerified",
    CASE WHEN u.approval->>'status' = 'rejected' THEN u.approval->>'reason' END AS rejection,
    a.email,
    ARRAY(SELECT DISTINCT v.type FROM verifiers v WHERE ${countsVerifierSql}
      AND (v.type <> 'backup_codes' OR cardinality(v.code_hashes) > 0)) AS verifiers,
    ARRAY(SELECT DISTINCT v.data->>'rp_id' FROM verifiers v WHERE ${countsVerifierSql}
      AND v.type = 'passkey') AS "passkeyHosts",
    ARRAY(SELECT o.id FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND ($4::text[] IS NULL OR o.id = ANY($4)) LIMIT 2) AS organizations,
    EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND o.mfa_required AND ($3::text IS NULL OR o.id = $3)) AS "organizationAsks",
    EXISTS (SELECT 1 FROM organization_members m JOIN organizations o ON o.id = m.org_id
      WHERE m.user_id = u.id AND m.issuer_id = u.issuer_id AND m.status = 'active' AND o.status = 'active'
      AND o.mfa_required) AS "anyOrganizationAsks"
  FROM users u CROSS JOIN LATERAL (SELECT ${addressSql} AS email) a
  WHERE u.issuer_id = $1 AND u.id = $2`

async function factsOf(
  { query }: Context,
  userId: string,
  { orgId, mailbox, recovery }: LoginState,
  journey: Journey,
): Promise<Facts | undefined> {
  const choice = journey.choosesOrganization ? journey.allowedOrgIds : []
  const values = [
    scope().runtime.issuer.id,
    userId,
    orgId ?? journey.orgId,
    choice,
    mailbox ?? null,
    recovery?.lost ?? [],
  ]
  const [facts] = await query<Facts & Record<string, unknown>>('login-facts', factsText, values)
  return facts
}

/** The step that comes next, as the transaction in progress sees things, and what to tell there. */
export async function proceed(
  inside: Context,
  state: LoginState,
  journey: Journey,
): Promise<{ to: LoginState; problems: Sentence[] }> {
  const { user, username } = state
  const facts = user && (await factsOf(inside, user.id, state, journey))
  if (!facts) return { to: anew(state, username), problems: [] }
  // May they sign in at all?
  if (facts.status === 'pending_approval' && state.signUp) return { to: { ...state, step: 'waiting' }, problems: [] }
  if (facts.status !== 'active') {
    const method = state.methods.at(-1)
    // A password or passkey of somebody who may not sign in proves nothing, and is in the trail already.
    if (method !== undefined) await recordFailure(inside, user, user, { method, reason: facts.status })
    return { to: anew(state, username), problems: [barred(facts)] }
  }
  const [only, ...more] = state.orgId === undefined ? facts.organizations : []
  let settled = only !== undefined && more.length === 0 ? { ...state, orgId: only } : state
  // What was proved in this browser before is for sign-on.ts to judge.
  const factors = state.asBefore ? [] : owedFactors(state, facts, journey)
  const owing = owes(state, factors, facts)
  let since = state.since ?? inside.now()
  // Mail proves the address only together with the second factor that is owed, and once the new password is saved.
  const proved = state.mailbox !== undefined && state.mailbox === facts.email
  if (proved && !facts.emailVerified && !owing && !state.mustChange) {
    // A password beside the mail can only be the new one.
    await claimMailbox(asUser(inside, user), user, state.amr.includes('pwd'))
    facts.emailVerified = true
    // It may have ended the user's sign-ins; this one goes on.
    since = afterOwnChange(inside)
  }
  // As after mail: the lost credentials go once the new password is saved, so nobody is left with the old one alone.
  const { recovery } = state
  if (recovery?.consumed && !recovery.completed && !owing && !state.mustChange) {
    await completeRecovery(asUser(inside, user), user, recovery.lost)
    settled = { ...settled, recovery: { ...recovery, completed: true } }
    since = inside.now()
  }
  const { claimed, ...rest } = { ...settled, factors, since }
  if (!owing && claimed) {
    await linkClaimed(inside, user, claimed).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error
      // It became somebody else's in this moment.
      throw new Refused({ to: anew(state, username), problems: [{ key: 'stale' }] })
    })
  }
  const now = owing && claimed ? { ...rest, claimed } : rest
  return { to: { ...now, step: remaining(now, facts) }, problems: [] }
}

function barred({ status, rejection }: Facts): Sentence {
  if (status === 'pending_approval') return { key: 'pending_approval' }
  return rejection ? { key: 'rejected', places: { reason: rejection } } : { key: 'barred' }
}

/** Is a second factor that they have still to be used? */
const owes = (state: LoginState, factors: readonly Factor[], facts: Facts): boolean =>
  factors.length > 0 || (!state.asBefore && !state.amr.includes('mfa') && isEnrolled(facts))

/** What is still owed, in this order. */
function remaining(state: LoginState & { factors: Factor[] }, facts: Facts): StepName | 'done' {
  const { settings } = scope().runtime.issuer
  const single = !state.asBefore && !state.amr.includes('mfa')
  const recovered = state.recovery?.consumed ? state.recovery : undefined
  // 1. Whoever has a second factor uses it before anything can be seen or changed.
  const [factor] = state.factors
  if (factor) return factor
  if (single && isEnrolled(facts)) return 'no_factor'
  // 2. What was just used may not be used again.
  if (state.mustChange) return 'new_password'
  // 3. An address that nobody has confirmed yet, where the issuer wants that.
  const unconfirmed = facts.email !== null && !facts.emailVerified
  // Not during a recovery: mail may be what does not work.
  if (settings.signup?.require_email_verification && unconfirmed && !recovered) return 'email_code'
  // 4. What they came with from elsewhere, now that nothing stands between them and the account.
  if (!state.asBefore && mayLink(state)) return 'link'
  // 5. For which organization?
  if (state.orgId === undefined && facts.organizations.length > 1) return 'organization'
  // 6. A second factor where one is demanded and there is none yet, and codes for the day when it is lost.
  if (single && (isDemanded(facts) || (recovered?.lostFactor && replacesFactors()))) return enrolments()[0]!
  if (recovered && methodsOf('password').length === 0 && methodsOf('passkey').length > 0) {
    if (!facts.verifiers.includes('passkey')) return 'enroll_passkey'
  }
  if (state.offersCodes && lacksCodes(facts)) return 'new_codes'
  return 'done'
}
