/** Sign-up (docs/contract.md#issuer-settings): who may sign up, and what is created. */
import type { Context } from '../../platform/context.js'
import type { SignInUser } from '../../resources/credentials/sign-in.js'
import { insertVerifier } from '../../resources/credentials/verifier-kind.js'
import { isEmail } from '../../resources/users/usernames.js'
import { createUser, type UserOrigin } from '../../resources/users/users.js'
import type { RequestContext } from '../request-context.js'
import { timestampAfterOwnChange } from '../session/authentication-requirements.js'
import type { LoginState, SignUpDetails } from './login-state.js'
import type { LoginTransaction } from './login-transaction.js'
import type { TextKey } from './pages/texts.js'

const signUpSettings = ({ runtime }: RequestContext) => runtime.issuer.settings.signup ?? {}

/** Methods of the sign-up form. The first enabled method gets the main button. */
const signUpMethods = ['password', 'mail', 'passkey'] as const
export type SignUpMethod = (typeof signUpMethods)[number]
const signUpMethodByKind: Partial<Record<string, SignUpMethod>> = {
  password: 'password',
  email_otp: 'mail',
  email_link: 'mail',
  passkey: 'passkey',
}

/**
 * Returns the enabled methods of the sign-up form. Sign-up by email, which creates an account without a password, is
 * offered only if sign-up with a password is not enabled.
 */
export function enabledSignUpMethods({ runtime }: RequestContext): SignUpMethod[] {
  const { methods } = runtime.issuer
  const enabledMethods = new Set(methods.filter((method) => method.signup).map(({ kind }) => signUpMethodByKind[kind]))
  return signUpMethods.filter(
    (method) => enabledMethods.has(method) && !(method === 'mail' && enabledMethods.has('password')),
  )
}

/** Checks whether the sign-up form can be used. With the mode `invite_only`, sign-up needs an invitation. */
export const maySignUp = (request: RequestContext, loginTransaction: LoginTransaction): boolean =>
  enabledSignUpMethods(request).length > 0 &&
  (signUpSettings(request).mode !== 'invite_only' || loginTransaction.invitation !== undefined)

/**
 * Checks whether the email address must be verified before the account is created. Sign-up by email or by invitation
 * always requires it.
 */
export const isEmailProofRequired = (
  request: RequestContext,
  loginTransaction: LoginTransaction,
  method: SignUpMethod,
): boolean =>
  signUpSettings(request).require_email_verification === true ||
  method === 'mail' ||
  loginTransaction.invitation !== undefined

/** Checks whether an administrator must approve new accounts. */
export const isApprovalRequired = (request: RequestContext): boolean =>
  signUpSettings(request).require_admin_approval === true

const isInDomain = (domain: string, parentDomain: string): boolean =>
  domain === parentDomain || domain.endsWith(`.${parentDomain}`)

/**
 * Returns the key of the text that explains why the rules do not allow an address to sign up; undefined if they do. The
 * domain of an invited address is not restricted.
 */
export function addressError(
  request: RequestContext,
  loginTransaction: LoginTransaction,
  email: string,
): TextKey | undefined {
  if (!isEmail(email)) return 'not_an_email'
  if (loginTransaction.invitation)
    return loginTransaction.invitation.email.toLowerCase() === email.toLowerCase() ? undefined : 'other_address'
  const { allowed_domains = [], blocked_domains = [] } = signUpSettings(request)
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (blocked_domains.some((one) => isInDomain(domain, one.toLowerCase()))) return 'domain_refused'
  if (allowed_domains.length > 0 && !allowed_domains.some((one) => domain === one.toLowerCase()))
    return 'domain_refused'
  return undefined
}

/** Returns the sign-up data for an unknown address; undefined if sign-up is not possible. */
export function emailSignUpDetails(
  request: RequestContext,
  loginTransaction: LoginTransaction,
  email: string,
): SignUpDetails | undefined {
  if (!maySignUp(request, loginTransaction) || addressError(request, loginTransaction, email) !== undefined)
    return undefined
  return { email, passwordHash: null, profile: {}, reason: null }
}

/** Returns the origin of an account that is created in a login transaction. */
export const userOriginOf = ({ invitation }: LoginTransaction): UserOrigin => (invitation ? 'invitation' : 'sign_up')

/**
 * Creates the account of a user who signs up. Must be called in the transaction of the step.
 * @throws ApiError conflict if another user has the address, LoginAbortedError if the invitation is no longer valid
 */
export async function createAccount(
  request: RequestContext,
  tx: Context,
  loginTransaction: LoginTransaction,
  { email, passwordHash, profile, reason, userId }: SignUpDetails,
  emailProved: boolean,
) {
  const { id: issuerId, accountId } = request.runtime.issuer
  await loginTransaction.requireOpenInvitation(tx)
  const requiresApproval = isApprovalRequired(request)
  const user = await createUser(
    tx,
    { accountId, issuerId },
    {
      usernameType: 'email',
      username: email,
      profile,
      ...(reason ? { signupReason: reason } : {}),
      ...(requiresApproval ? { requiresApproval, triggeredRule: 'require_admin_approval' } : {}),
    },
    { id: userId, origin: userOriginOf(loginTransaction), isEmailVerified: emailProved },
  )
  if (passwordHash !== null) {
    const columns = { type: 'password', hash: passwordHash, secretSetAt: tx.now(), createdBy: user.id }
    await insertVerifier(tx, user, {}, columns)
  }
  return { id: user.id, accountId, issuerId, username: user.username, status: user.status } satisfies SignInUser
}

/**
 * Returns the state after sign-up in the transaction `tx`. Its `amr` contains the factors of the sign-up.
 */
export function stateAfterSignUp(tx: Context, state: LoginState, user: SignInUser, emailProved: boolean): LoginState {
  const { signUp, amr, methods } = state
  const withPassword = signUp?.passwordHash != null
  const withPasskey = signUp?.userId !== undefined
  return {
    ...state,
    user,
    since: timestampAfterOwnChange(tx),
    amr: [
      ...amr,
      ...(withPassword ? ['pwd'] : []),
      ...(emailProved ? ['otp'] : []),
      ...(withPasskey ? ['hwk', 'mfa'] : []),
    ],
    methods: [
      ...methods,
      ...(withPassword ? ['password'] : []),
      ...(emailProved ? [state.step === 'email_link' ? 'email_link' : 'email_otp'] : []),
      ...(withPasskey ? ['passkey'] : []),
    ],
    ...(withPasskey ? { offersBackupCodes: true } : {}),
  }
}
