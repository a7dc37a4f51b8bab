import { ApiError } from '../../../kernel/errors.js'
import type { Context } from '../../../platform/context.js'
import { isDuplicate } from '../../../platform/postgres/errors.js'
import { linkIdentity, linkIdentityIfUnlinked } from '../../../resources/credentials/linked-identity.js'
import type { SignInUser } from '../../../resources/credentials/sign-in.js'
import { type RequestContext, withUserActor } from '../../request-context.js'
import { formField } from '../../request-input.js'
import type { LinkCandidate, LoginState } from '../login-state.js'
import { linkAccountPage } from '../pages/choices.js'
import { type Step, TransitionRefused } from './step.js'

/**
 * Asks whether to link the upstream account: its email address is that of a user here, and the user has now signed in
 * with another method.
 */
export const link: Step = {
  render: (_, { view, state }, problems) =>
    linkAccountPage(view, state.linkOffer!, state.user?.username ?? state.username, problems),

  async handleSubmission(_, { state }, form) {
    const action = formField(form, 'method')
    if (action !== 'link' && action !== 'later') return { to: state, problems: [{ key: 'choose_one' }] }
    const { linkOffer, ...rest } = state
    if (action === 'later') return { to: rest, done: true }
    const user = state.user!
    return {
      to: rest,
      done: true,
      effects: async (tx) => {
        try {
          await linkIdentity(withUserActor(tx, user), user, linkOffer!, linkOffer!.name)
        } catch (error) {
          // Another user has linked it, or the user was deleted: next-step.ts decides what follows.
          if (!isDuplicate(error) && !(error instanceof ApiError && error.code === 'not_found')) throw error
          throw new TransitionRefused({ to: rest, done: true })
        }
      },
    }
  },
}

/** Checks whether the user can be asked to link an upstream account. */
export const hasLinkOffer = (request: RequestContext, { linkOffer, user }: LoginState): boolean =>
  linkOffer !== undefined && user !== null && isLinkAllowed(request, user, linkOffer)

/** Checks that the user owns the address, and that the method is still enabled. */
const isLinkAllowed = (
  { runtime }: RequestContext,
  { id: userId }: SignInUser,
  { ownerIds, methodId }: LinkCandidate,
): boolean => ownerIds.includes(userId) && runtime.issuer.methods.some(({ id, login }) => id === methodId && login)

/**
 * Links the upstream account of this sign-in. Must be called in the transaction after which no second factor is
 * pending.
 */
export async function completePendingLink(
  request: RequestContext,
  tx: Context,
  user: SignInUser,
  pendingLink: LinkCandidate,
): Promise<void> {
  if (isLinkAllowed(request, user, pendingLink))
    await linkIdentityIfUnlinked(withUserActor(tx, user), user, pendingLink, pendingLink.name)
}
