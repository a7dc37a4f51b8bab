/**
 * Finds or creates the user of an upstream account (docs/contract.md#federated-identities), in this order:
 * - the user to whom the upstream account is linked
 * - the user with the same email address, if both the user and the provider have verified it and
 *   `settings.link_by_email` is not false; the account is linked after the user's second factor. Of several such users,
 *   only one with the address as the username is found.
 * - if the provider has verified the address, and it is the username of a user or several users have verified it: a
 *   user with the address, who then signs in with another method and agrees to link the account (steps/link.ts)
 * - a new user, if sign-up is possible
 */
import { ApiError } from '../../../kernel/errors.js'
import type { Context } from '../../../platform/context.js'
import { sha256 } from '../../../platform/crypto/secrets.js'
import { isDuplicate } from '../../../platform/postgres/errors.js'
import {
  findLinkedUser,
  findUsersByEmail,
  linkIdentity,
  type UpstreamIdentity,
} from '../../../resources/credentials/linked-identity.js'
import {
  recordCredentialVerification,
  recordSignInFailure,
  type SignInUser,
} from '../../../resources/credentials/sign-in.js'
import type { UpstreamSettings } from '../../../resources/issuers/upstream-settings.js'
import { createUser } from '../../../resources/users/users.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import { type RequestContext, withUserActor } from '../../request-context.js'
import type { LoginState } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import type { TextKey } from '../pages/texts.js'
import { addressError, isApprovalRequired, userOriginOf } from '../sign-up.js'
import { type Transition, TransitionRefused } from '../steps/step.js'
import type { UpstreamUser } from './upstream-user.js'

interface UpstreamSignIn {
  upstreamUser: UpstreamUser
  method: AuthMethodSnapshot
  loginTransaction: LoginTransaction
  identity: UpstreamIdentity
}

/** Creates the transition of an upstream sign-in. */
export function createUpstreamTransition(
  request: RequestContext,
  state: LoginState,
  upstreamUser: UpstreamUser,
  method: AuthMethodSnapshot,
  loginTransaction: LoginTransaction,
): Transition {
  const { issuer, subject } = upstreamUser
  const signIn = { upstreamUser, method, loginTransaction, identity: { methodId: method.id, issuer, subject } }
  const to = { ...state, methods: [...state.methods, method.kind] }
  const createTransition = (mayRetry: boolean): Transition => ({
    to,
    done: true,
    resolveState: async (tx) => {
      try {
        return { ...to, ...(await resolveUser(request, tx, state, signIn)) }
      } catch (error) {
        if (!mayRetry || !(isDuplicate(error) || (error instanceof ApiError && error.code === 'conflict'))) throw error
        // Of two concurrent sign-ins of a new user, the second one is repeated and finds the user of the first one.
        throw new TransitionRefused(createTransition(false))
      }
    },
  })
  return createTransition(true)
}

type ResolvedUser = Pick<LoginState, 'signUp' | 'pendingLink'> & { user: SignInUser }

async function resolveUser(
  request: RequestContext,
  tx: Context,
  state: LoginState,
  signIn: UpstreamSignIn,
): Promise<ResolvedUser> {
  const { issuer } = request.runtime
  const issuerPath = { accountId: issuer.accountId, issuerId: issuer.id }
  const { upstreamUser, method, identity } = signIn

  // 1. A user with a link to this upstream account.
  const linked = await findLinkedUser(tx, issuerPath, identity)
  if (linked) {
    await recordCredentialVerification(withUserActor(tx, linked.user), linked.user, method.kind, linked.verifierId)
    return { user: linked.user }
  }

  // 2. A user with the same email address, which both the user and the provider have verified. An attacker may have
  // entered the address of another person on the side that has not verified it.
  const email = upstreamUser.emailVerified ? upstreamUser.email : null
  const owners = email === null ? [] : await findUsersByEmail(tx, issuerPath, email)
  const linksByEmail = (method.settings as Partial<UpstreamSettings>).link_by_email !== false
  const provenOwners = linksByEmail ? owners.filter((owner) => owner.isVerified) : []
  const [owner, ...otherOwners] = provenOwners.some((one) => one.byUsername)
    ? provenOwners.filter((one) => one.byUsername)
    : provenOwners
  if (owner && otherOwners.length === 0) {
    const { user } = owner
    if (user.status !== 'active') return { user }
    await recordCredentialVerification(withUserActor(tx, user), user, method.kind)
    return { user, pendingLink: { ...identity, name: method.name, email: email!, ownerIds: [user.id] } }
  }

  // 3. Sign-up, unless the verified email address is the username of a user, or several users have verified it.
  if (email !== null && (owner || owners.some((one) => one.byUsername))) {
    const linkOffer = { ...identity, name: method.name, email, ownerIds: owners.map((one) => one.user.id) }
    throw createRefusal(request, { ...state, username: email, linkOffer }, 'upstream_taken', method)
  }
  const signUpErrorKey = signUpError(request, signIn)
  if (signUpErrorKey) throw createRefusal(request, state, signUpErrorKey, method)
  return createUserFromUpstream(request, tx, signIn)
}

function createRefusal(
  { runtime }: RequestContext,
  state: LoginState,
  key: TextKey,
  method: AuthMethodSnapshot,
): TransitionRefused {
  const { id: issuerId, accountId } = runtime.issuer
  return new TransitionRefused({
    to: state,
    problems: [{ key, params: { method: method.name } }],
    effects: (tx) => recordSignInFailure(tx, { accountId, issuerId }, undefined, { method: method.kind, reason: key }),
  })
}

/**
 * Returns the key of the text that explains why the user cannot sign up (docs/contract.md#issuer-settings); undefined
 * if sign-up is possible.
 */
function signUpError(
  request: RequestContext,
  { upstreamUser, method, loginTransaction }: UpstreamSignIn,
): TextKey | undefined {
  const { mode, allowed_domains = [], require_email_verification } = request.runtime.issuer.settings.signup ?? {}
  if (!method.signup || (mode === 'invite_only' && !loginTransaction.invitation)) return 'upstream_unknown'
  // An invitation and `allowed_domains` admit only an address that the provider has verified.
  if ((loginTransaction.invitation || allowed_domains.length > 0) && !upstreamUser.emailVerified)
    return 'upstream_unverified'
  if (upstreamUser.email === null) return require_email_verification ? 'upstream_unverified' : undefined
  return addressError(request, loginTransaction, upstreamUser.email)
}

/**
 * Creates the user and links the upstream account. An unverified address does not become the username: otherwise the
 * owner of the address could not sign up any more, or would share the account with an attacker.
 */
async function createUserFromUpstream(
  request: RequestContext,
  tx: Context,
  signIn: UpstreamSignIn,
): Promise<ResolvedUser> {
  const { upstreamUser, method, identity, loginTransaction } = signIn
  const { id: issuerId, accountId } = request.runtime.issuer
  await loginTransaction.requireOpenInvitation(tx)
  const { email, emailVerified, profile } = upstreamUser
  const requiresApproval = isApprovalRequired(request)
  const hasVerifiedEmail = emailVerified && email !== null
  const createdUser = await createUser(
    tx,
    { accountId, issuerId },
    {
      ...(hasVerifiedEmail
        ? { usernameType: 'email', username: email, profile }
        : {
            usernameType: 'unique',
            username: generatedUsername(method.kind, identity),
            profile: { ...profile, ...(email === null ? {} : { email }) },
          }),
      ...(requiresApproval ? { requiresApproval, triggeredRule: 'require_admin_approval' } : {}),
    },
    { origin: userOriginOf(loginTransaction), isEmailVerified: hasVerifiedEmail },
  )
  const user = { id: createdUser.id, accountId, issuerId, username: createdUser.username, status: createdUser.status }
  const context = withUserActor(tx, user)
  const { id } = await linkIdentity(context, user, identity, method.name)
  await recordCredentialVerification(context, user, method.kind, id)
  return { user, signUp: { email: email ?? '', passwordHash: null, profile, reason: null } }
}

const generatedUsername = (kind: string, { methodId, issuer, subject }: UpstreamIdentity): string =>
  `${kind}-${sha256(JSON.stringify([methodId, issuer, subject])).slice(0, 20)}`
