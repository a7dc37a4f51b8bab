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
 * Asks a user who has signed in with another method whether to link the upstream account that has the user's email
 * address.
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
          // The upstream account has been linked in the meantime, or this user was deleted. next-step.ts determines
          // what follows.
          if (!isDuplicate(error) && !(error instanceof ApiError && error.code === 'not_found')) throw error
          throw new TransitionRefused({ to: rest, done: true })
        }
      },
    }
  },
}

/** Checks whether the user must be asked whether to link an upstream account. */
export const hasLinkOffer = (request: RequestContext, { linkOffer, user }: LoginState): boolean =>
  linkOffer !== undefined && user !== null && isLinkAllowed(request, user, linkOffer)

/** Checks that the upstream account can be linked to the user, and that its method is enabled for sign-in. */
const isLinkAllowed = (
  { runtime }: RequestContext,
  { id: userId }: SignInUser,
  { ownerIds, methodId }: LinkCandidate,
): boolean => ownerIds.includes(userId) && runtime.issuer.methods.some(({ id, login }) => id === methodId && login)

/**
 * Links the upstream account of this sign-in to the user, if this is still allowed and the account is not linked yet.
 * Must be called in the transaction of a step, when no second factor is pending.
 * @throws the errors of `linkIdentityIfUnlinked`
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
