/** Making an account of one's own (spec 2.3, decisions D26): who may, and what is made. */
import type { Context } from '../../platform/context.js'
import { insertVerifier } from '../../resources/credentials/kind.js'
import type { SignInUser } from '../../resources/credentials/sign-in.js'
import { isEmail } from '../../resources/users/usernames.js'
import { createUser, type UserOrigin } from '../../resources/users/users.js'
import { afterOwnChange } from '../proof.js'
import { scope } from '../scope.js'
import type { Journey } from './journey.js'
import type { TextKey } from './pages/texts.js'
import type { LoginState, SignUp } from './state.js'

const signup = () => scope().runtime.issuer.settings.signup ?? {}

/** How an account can be made on the page itself; the first one that an issuer has is meant by the main button. */
const ways = ['password', 'mail', 'passkey'] as const
export type SignUpWay = (typeof ways)[number]
const wayOf: Partial<Record<string, SignUpWay>> = {
  password: 'password',
  email_otp: 'mail',
  email_link: 'mail',
  passkey: 'passkey',
}

/** The ways to make an account that are open here. Without a password or a passkey people sign in by mail. */
export function signUpWays(): SignUpWay[] {
  const { methods } = scope().runtime.issuer
  const open = new Set(methods.filter((method) => method.signup).map(({ kind }) => wayOf[kind]))
  return ways.filter((way) => open.has(way) && !(way === 'mail' && open.has('password')))
}

/** May somebody with this journey make an account at all? Where it is by invitation only, invited people may. */
export const maySignUp = (journey: Journey): boolean =>
  signUpWays().length > 0 && (signup().mode !== 'invite_only' || journey.invitation !== undefined)

/** Must the address be proved before there is an account? Always where people come by mail or by invitation. */
export const wantsProof = (journey: Journey, way: SignUpWay): boolean =>
  signup().require_email_verification === true || way === 'mail' || journey.invitation !== undefined

export const wantsApproval = (): boolean => signup().require_admin_approval === true

const within = (domain: string, of: string): boolean => domain === of || domain.endsWith(`.${of}`)

/** Why nobody may sign up with this address, if so. An invited address may, whatever its domain. */
export function addressFault(journey: Journey, email: string): TextKey | undefined {
  if (!isEmail(email)) return 'not_an_email'
  if (journey.invitation)
    return journey.invitation.email.toLowerCase() === email.toLowerCase() ? undefined : 'other_address'
  const { allowed_domains = [], blocked_domains = [] } = signup()
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (blocked_domains.some((one) => within(domain, one.toLowerCase()))) return 'domain_refused'
  if (allowed_domains.length > 0 && !allowed_domains.some((one) => domain === one.toLowerCase()))
    return 'domain_refused'
  return undefined
}

/** What is begun for an address that nobody has, where people may sign up by mail; undefined where they may not. */
export function mailSignUp(journey: Journey, email: string): SignUp | undefined {
  if (!maySignUp(journey) || addressFault(journey, email) !== undefined) return undefined
  return { email, passwordHash: null, profile: {}, reason: null }
}

/** How an account that a person creates with this journey came to be. */
export const originOf = ({ invitation }: Journey): UserOrigin => (invitation ? 'invitation' : 'sign_up')

/**
 * Makes the account. Call it in the transaction of the step.
 * @throws conflict when somebody has the address meanwhile, DeadEnd for an invitation that is over
 */
export async function makeAccount(
  inside: Context,
  journey: Journey,
  { email, passwordHash, profile, reason, userId }: SignUp,
  proved: boolean,
) {
  const { id: issuerId, accountId } = scope().runtime.issuer
  await journey.stillInvited(inside)
  const requiresApproval = wantsApproval()
  const user = await createUser(
    inside,
    { accountId, issuerId },
    {
      usernameType: 'email',
      username: email,
      profile,
      ...(reason ? { signupReason: reason } : {}),
      ...(requiresApproval ? { requiresApproval, triggeredRule: 'require_admin_approval' } : {}),
    },
    { id: userId, origin: originOf(journey), emailProved: proved },
  )
  if (passwordHash !== null) {
    const columns = { type: 'password', hash: passwordHash, secretSetAt: inside.now(), createdBy: user.id }
    await insertVerifier(inside, user, {}, columns)
  }
  return { id: user.id, accountId, issuerId, username: user.username, status: user.status } satisfies SignInUser
}

/** The state of somebody who has just made an account in this transaction, and with that proved who they are. */
export function signedUp(inside: Context, state: LoginState, user: SignInUser, proved: boolean): LoginState {
  const { signUp, amr, methods } = state
  const withPassword = signUp?.passwordHash != null
  const withPasskey = signUp?.userId !== undefined
  return {
    ...state,
    user,
    since: afterOwnChange(inside),
    amr: [...amr, ...(withPassword ? ['pwd'] : []), ...(proved ? ['otp'] : []), ...(withPasskey ? ['hwk', 'mfa'] : [])],
    methods: [
      ...methods,
      ...(withPassword ? ['password'] : []),
      ...(proved ? ['email_otp'] : []),
      ...(withPasskey ? ['passkey'] : []),
    ],
    ...(withPasskey ? { offersCodes: true } : {}),
  }
}
