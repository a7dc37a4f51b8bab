/**
 * Second factors (docs/contract.md#second-factors): when one is required, which ones the user can choose from, and how
 * failed attempts count. next-step.ts uses these rules.
 */
import type { Context } from '../../platform/context.js'
import {
  abandonAttempt,
  recordFailedAttempt,
  recordSuccessfulAttempt,
  startAttempt,
} from '../../resources/credentials/failed-attempts.js'
import { recordCredentialVerification, recordSignInFailure } from '../../resources/credentials/sign-in.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { requestedMethods } from './acr.js'
import { type Factor, factors, type LoginState } from './login-state.js'
import type { LoginTransaction } from './login-transaction.js'
import { signInMethodsOf } from './methods/index.js'
import { relyingParty } from './passkeys.js'
import { type Transition, TransitionRefused } from './steps/step.js'

/** The data that decides whether a second factor is required, and which second factors the user can use. */
export interface FactorFacts {
  /** Types of the user's usable credentials. */
  verifiers: string[]
  /** Relying party ids of the user's passkeys; null for a passkey without one. */
  passkeyRpIds: (string | null)[]
  /** The selected organization or, if none is selected, any organization of the user requires two factors. */
  organizationRequiresMfa: boolean
  /** Any organization of the user requires two factors. */
  anyOrganizationRequiresMfa: boolean
}

const isMethodEnabled = (request: RequestContext, factor: Factor): boolean =>
  signInMethodsOf(request, factor).length > 0
const isMfaRequiredByIssuer = ({ runtime }: RequestContext): boolean =>
  runtime.issuer.settings.security?.mfa_required === true

/**
 * Checks whether the user has a second factor that counts. If two factors are required, a factor counts even while its
 * method is disabled: disabling a method must not remove the requirement, and a factor that was set up without an
 * enabled method (docs/contract.md#configuration-health) must work.
 */
const hasFactor = (
  request: RequestContext,
  { verifiers, anyOrganizationRequiresMfa }: FactorFacts,
  factor: Factor,
): boolean =>
  verifiers.includes(factor) &&
  (isMethodEnabled(request, factor) || isMfaRequiredByIssuer(request) || anyOrganizationRequiresMfa)

/** Checks whether the user has any second factor that counts, including passkeys of other hosts of the issuer. */
export const hasSecondFactor = (request: RequestContext, facts: FactorFacts): boolean =>
  factors.some((factor) => hasFactor(request, facts, factor))

/** Checks whether the issuer or an organization requires two factors. */
export const isMfaRequired = (request: RequestContext, { organizationRequiresMfa }: FactorFacts): boolean =>
  isMfaRequiredByIssuer(request) || organizationRequiresMfa

const usableFactors = (request: RequestContext, facts: FactorFacts): Factor[] => {
  const { rpId } = relyingParty(request)
  return factors.filter(
    (factor) =>
      hasFactor(request, facts, factor) &&
      (factor !== 'passkey' || facts.passkeyRpIds.some((host) => host === null || host === rpId)),
  )
}

/**
 * Returns the second factors of which the user must use one, the preferred one first; empty if none is required or
 * usable on this host. A user who has a second factor must use one unless the sign-in has two factors already. If
 * `acr_values` requires methods (RFC 9470), none of which the sign-in has used, and some of them are second factors of
 * the user, it must be one of these, even if the sign-in has two factors already.
 */
export function requiredFactors(
  request: RequestContext,
  state: LoginState,
  facts: FactorFacts,
  loginTransaction: LoginTransaction,
): Factor[] {
  const usable = usableFactors(request, facts)
  const acrMethods = requestedMethods(loginTransaction.param('acr_values'))
  const requestedFactors = acrMethods?.some((method) => state.methods.includes(method))
    ? []
    : usable.filter((factor) => acrMethods?.includes(factor))
  if (requestedFactors.length > 0) return requestedFactors
  return state.amr.includes('mfa') ? [] : usable
}

/** Checks whether no method is enabled with which users can set up a second factor. */
const hasNoEnrollableMethod = (request: RequestContext): boolean =>
  !isMethodEnabled(request, 'totp') && !isMethodEnabled(request, 'passkey')

/** Checks whether the user of a recovery link can replace a lost second factor. */
export const canReplaceFactor = (request: RequestContext): boolean => !hasNoEnrollableMethod(request)

/**
 * Returns the steps that set up a required second factor, the preferred one first. If no method for this is enabled,
 * users set up an authenticator app, so that the requirement neither locks them out nor is skipped
 * (docs/contract.md#configuration-health).
 */
export const enrollmentSteps = (request: RequestContext): ('enroll_totp' | 'enroll_passkey')[] => [
  ...(isMethodEnabled(request, 'totp') || hasNoEnrollableMethod(request) ? (['enroll_totp'] as const) : []),
  ...(isMethodEnabled(request, 'passkey') ? (['enroll_passkey'] as const) : []),
]

/** Checks whether a user to whom backup codes are offered (`offersBackupCodes`) has none and can get them. */
export const needsBackupCodes = (request: RequestContext, facts: FactorFacts): boolean =>
  (isMethodEnabled(request, 'backup_codes') || hasNoEnrollableMethod(request)) &&
  !facts.verifiers.includes('backup_codes')

/**
 * Creates the transition of a submitted code. The code is checked and consumed in the transaction of the transition.
 * Failures are counted separately from those of the first factor, so that wrong codes do not lock the first factor, and
 * wrong passwords do not lock the second factor.
 * @param consumeCode checks and consumes the code; returns undefined if it is wrong or was used already
 */
export async function codeTransition(
  { context }: RequestContext,
  state: LoginState,
  method: 'totp' | 'backup_codes',
  consumeCode: (
    tx: Context,
    path: { issuerId: string; userId: string },
  ) => Promise<{ verifierId: string; isLastCode?: boolean } | undefined>,
): Promise<Transition> {
  const user = state.user!
  const subject = `second:${user.id}`
  if (!(await startAttempt(context, subject))) {
    await recordSignInFailure(context, user, user, { method, reason: 'locked' })
    return { to: state, problems: [{ key: 'factor_locked' }] }
  }
  let decision: 'correct' | 'wrong' | undefined
  const provedState = { ...state, amr: [...state.amr, 'otp', 'mfa'], methods: [...state.methods, method] }
  return {
    to: provedState,
    done: true,
    resolveState: async (tx) => {
      decision = undefined
      const used = await consumeCode(tx, { issuerId: user.issuerId, userId: user.id })
      decision = used ? 'correct' : 'wrong'
      const wrongCodeKey = method === 'backup_codes' ? 'backup_code_wrong' : 'factor_wrong'
      if (!used) throw new TransitionRefused({ to: state, problems: [{ key: wrongCodeKey }] })
      await recordCredentialVerification(withUserActor(tx, user), user, method, used.verifierId)
      // A user who has used the last backup code is offered new ones.
      return used.isLastCode ? { ...provedState, offersBackupCodes: true } : provedState
    },
    onSettled: async () => {
      if (decision === undefined) return abandonAttempt(context, subject)
      if (decision === 'correct') return recordSuccessfulAttempt(context, subject)
      const lockedUntil = await recordFailedAttempt(context, subject)
      await recordSignInFailure(context, user, user, { method, reason: 'wrong_code', lockedUntil })
    },
  }
}
