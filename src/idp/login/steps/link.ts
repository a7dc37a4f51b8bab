import { ApiError } from '../../../kernel/errors.js'
import type { Context } from '../../../platform/context.js'
import { isDuplicate } from '../../../platform/database.js'
import { linkIdentity, linkUnlessTaken } from '../../../resources/credentials/linked-identity.js'
import type { SignInUser } from '../../../resources/credentials/sign-in.js'
import { field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { linkAccountPage } from '../pages/choices.js'
import type { Linking, LoginState } from '../state.js'
import { Refused, type Step } from './step.js'

/**
 * They came from a provider with an address that is theirs here, and have shown now that the account is: is the one at
 * the provider to be a way in from now on?
 */
export const link: Step = {
  show: ({ view, state }, problems) =>
    linkAccountPage(view, state.linking!, state.user?.username ?? state.username, problems),

  async answer({ state }, form) {
    const named = field(form, 'method')
    if (named !== 'link' && named !== 'later') return { to: state, problems: [{ key: 'choose_one' }] }
    const { linking, ...rest } = state
    if (named === 'later') return { to: rest, done: true }
    const user = state.user!
    return {
      to: rest,
      done: true,
      effects: async (inside) => {
        try {
          await linkIdentity(asUser(inside, user), user, linking!, linking!.name)
        } catch (error) {
          // Somebody has it meanwhile, or the user has gone: flow.ts says what follows.
          if (!isDuplicate(error) && !(error instanceof ApiError && error.code === 'not_found')) throw error
          throw new Refused({ to: rest, done: true })
        }
      },
    }
  },
}

/** Is there such a question to ask of this person? */
export const mayLink = ({ linking, user }: LoginState): boolean =>
  linking !== undefined && user !== null && isFor(user, linking)

/** The method may have gone since. */
const isFor = ({ id: userId }: SignInUser, { owners, methodId }: Linking): boolean =>
  owners.includes(userId) && scope().runtime.issuer.methods.some(({ id, login }) => id === methodId && login)

/** Links what they have come with. Call it in the transaction of the move after which no second factor is owed. */
export async function linkClaimed(inside: Context, user: SignInUser, claimed: Linking): Promise<void> {
  if (isFor(user, claimed)) await linkUnlessTaken(asUser(inside, user), user, claimed, claimed.name)
}
