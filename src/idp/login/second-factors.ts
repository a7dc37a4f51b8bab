/**
 * Second factors (spec 2.4): who owes one, which ones there are to choose from, and what trying a code costs. Decided
 * from facts only; flow.ts asks here when it looks for the next step.
 */
import type { Context } from '../../platform/context.js'
import { abandonAttempt, settleFailure, settleSuccess, startAttempt } from '../../resources/credentials/attempts.js'
import { recordFailure, recordVerification } from '../../resources/credentials/sign-in.js'
import { asUser, scope } from '../scope.js'
import { wishedMethods } from './acr.js'
import type { Journey } from './journey.js'
import { methodsOf } from './methods/index.js'
import { relyingParty } from './passkeys.js'
import type { LoginState } from './state.js'
import { type Move, Refused } from './steps/step.js'

/** The steps that prove a second factor, the preferred one first; codes on paper are the way out. */
export const factors = ['passkey', 'totp', 'backup_codes'] as const
export type Factor = (typeof factors)[number]

/** What is to be known of a person and their organizations. */
export interface FactorFacts {
  /** Types of the credentials that can be used now. */
  verifiers: string[]
  /** Relying parties of their passkeys; null for one that did not say. */
  passkeyHosts: (string | null)[]
  /** An organization that the tokens will speak of demands two factors. */
  organizationAsks: boolean
  /** Any organization of the person demands two factors. */
  anyOrganizationAsks: boolean
}

const enabled = (factor: Factor): boolean => methodsOf(factor).length > 0
const demandedByIssuer = (): boolean => scope().runtime.issuer.settings.security?.mfa_required === true

/**
 * Where two factors are demanded, a factor that the person has counts even while its method is not enabled: a change of
 * methods must not spare them the factor, and what was set up without any method (decision D35) must work.
 */
const has = ({ verifiers, anyOrganizationAsks }: FactorFacts, factor: Factor): boolean =>
  verifiers.includes(factor) && (enabled(factor) || demandedByIssuer() || anyOrganizationAsks)

/** Has the person any of the issuer's second factors, here or under another host of the issuer? */
export const isEnrolled = (facts: FactorFacts): boolean => factors.some((factor) => has(facts, factor))

/** Do the issuer or the organizations concerned want two factors of everybody? */
export const isDemanded = ({ organizationAsks }: FactorFacts): boolean => demandedByIssuer() || organizationAsks

const usable = (facts: FactorFacts): Factor[] => {
  const { rpId } = relyingParty()
  return factors.filter(
    (factor) =>
      has(facts, factor) && (factor !== 'passkey' || facts.passkeyHosts.some((host) => host === null || host === rpId)),
  )
}

/**
 * The factors of which the person owes one, in order; empty when nothing is owed, or nothing can be had. Whoever has a
 * second factor uses it, asked for or not. Where the application wants a certain method (RFC 9470) and the person has
 * it, it must be that one.
 */
export function owedFactors(state: LoginState, facts: FactorFacts, journey: Journey): Factor[] {
  const all = usable(facts)
  const wished = wishedMethods(journey.param('acr_values'))
  const certain = wished?.some((method) => state.methods.includes(method))
    ? []
    : all.filter((factor) => wished?.includes(factor))
  if (certain.length > 0) return certain
  return state.amr.includes('mfa') ? [] : all
}

/** No method is enabled by which people could set up a second factor. */
const noneEnabled = (): boolean => !enabled('totp') && !enabled('passkey')

/** Is there a method by which the owner of a recovery link replaces a lost second factor? */
export const replacesFactors = (): boolean => !noneEnabled()

/**
 * The steps that set up a second factor where one is demanded, the preferred one first. Without an enabled method it is
 * the authenticator app, so that the demand neither locks people out nor is skipped (decision D35).
 */
export const enrolments = (): ('enroll_totp' | 'enroll_passkey')[] => [
  ...(enabled('totp') || noneEnabled() ? (['enroll_totp'] as const) : []),
  ...(enabled('passkey') ? (['enroll_passkey'] as const) : []),
]

/** Is the person given backup codes together with another factor? */
export const lacksCodes = (facts: FactorFacts): boolean =>
  (enabled('backup_codes') || noneEnabled()) && !facts.verifiers.includes('backup_codes')

/**
 * The move that a typed code leads to. It is checked and used up in the transaction of the move; failures count for
 * this user's second factor alone, so that nobody locks the first one with them, nor this one with passwords.
 * @param use checks the code and uses it up; undefined when it does not fit
 */
export async function codeMove(
  state: LoginState,
  method: 'totp' | 'backup_codes',
  use: (
    inside: Context,
    place: { issuerId: string; userId: string },
  ) => Promise<{ verifierId: string; last?: boolean } | undefined>,
): Promise<Move> {
  const { context } = scope()
  const user = state.user!
  const subject = `second:${user.id}`
  if (!(await startAttempt(context, subject))) {
    await recordFailure(context, user, user, { method, reason: 'locked' })
    return { to: state, problems: [{ key: 'factor_locked' }] }
  }
  let verdict: 'right' | 'wrong' | undefined
  const proved = { ...state, amr: [...state.amr, 'otp', 'mfa'], methods: [...state.methods, method] }
  return {
    to: proved,
    done: true,
    becomes: async (inside) => {
      verdict = undefined
      const used = await use(inside, { issuerId: user.issuerId, userId: user.id })
      verdict = used ? 'right' : 'wrong'
      if (!used) throw new Refused({ to: state, problems: [{ key: 'factor_wrong' }] })
      await recordVerification(asUser(inside, user), user, method, used.verifierId)
      // Whoever has used the last of their codes gets new ones.
      return used.last ? { ...proved, offersCodes: true } : proved
    },
    ended: async () => {
      if (verdict === undefined) return abandonAttempt(context, subject)
      if (verdict === 'right') return settleSuccess(context, subject)
      const lockedUntil = await settleFailure(context, subject)
      await recordFailure(context, user, user, { method, reason: 'wrong_code', lockedUntil })
    },
  }
}
