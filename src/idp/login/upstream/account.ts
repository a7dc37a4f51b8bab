/**
 * Whose upstream account is it (security rule 23)? The user's it is linked with; else the user's who has the same
 * address, if both sides have confirmed it, once they have used the second factor that they have; else, where the
 * provider alone has, that of an owner of the address who signs in another way and wants it linked (steps/link.ts); else
 * a new user's, where people may sign up.
 */
import { ApiError } from '../../../kernel/errors.js'
import type { Context } from '../../../platform/context.js'
import { isDuplicate } from '../../../platform/database.js'
import { sha256 } from '../../../platform/secrets.js'
import {
  findLinked,
  linkIdentity,
  ownersOfAddress,
  type UpstreamIdentity,
} from '../../../resources/credentials/linked-identity.js'
import { recordFailure, recordVerification, type SignInUser } from '../../../resources/credentials/sign-in.js'
import type { UpstreamSettings } from '../../../resources/issuers/upstream-settings.js'
import { createUser } from '../../../resources/users/users.js'
import type { MethodFacts } from '../../runtime.js'
import { asUser, scope } from '../../scope.js'
import type { Journey } from '../journey.js'
import type { TextKey } from '../pages/texts.js'
import { addressFault, originOf, wantsApproval } from '../sign-up.js'
import type { LoginState } from '../state.js'
import { type Move, Refused } from '../steps/step.js'
import type { UpstreamPerson } from './person.js'

interface Arrival {
  person: UpstreamPerson
  method: MethodFacts
  journey: Journey
  identity: UpstreamIdentity
}

/** The move of somebody whom a provider has named. */
export function arrive(state: LoginState, person: UpstreamPerson, method: MethodFacts, journey: Journey): Move {
  const { issuer, subject } = person
  const arrival = { person, method, journey, identity: { methodId: method.id, issuer, subject } }
  const to = { ...state, methods: [...state.methods, method.kind] }
  const attempt = (again: boolean): Move => ({
    to,
    done: true,
    becomes: async (inside) => {
      try {
        return { ...to, ...(await whose(inside, state, arrival)) }
      } catch (error) {
        if (!again || !(isDuplicate(error) || (error instanceof ApiError && error.code === 'conflict'))) throw error
        // Two sign-ins of one new person at once: the second finds what the first has made.
        throw new Refused(attempt(false))
      }
    },
  })
  return attempt(true)
}

type Found = Pick<LoginState, 'signUp' | 'claimed'> & { user: SignInUser }

async function whose(inside: Context, state: LoginState, arrival: Arrival): Promise<Found> {
  const { issuer } = scope().runtime
  const place = { accountId: issuer.accountId, issuerId: issuer.id }
  const { person, method, identity } = arrival

  // 1. Somebody who has come this way before.
  const linked = await findLinked(inside, place, identity)
  if (linked) {
    await recordVerification(asUser(inside, linked.user), linked.user, method.kind, linked.verifierId)
    return { user: linked.user }
  }

  // 2. Somebody known by an address that both have confirmed. One that is confirmed on one side only may have been
  //    written there by anybody, to take over who comes later.
  const email = person.emailVerified ? person.email : null
  const owners = email === null ? [] : await ownersOfAddress(inside, place, email)
  const mayLink = (method.settings as Partial<UpstreamSettings>).link_by_email !== false
  const proved = mayLink ? owners.filter((owner) => owner.proved) : []
  const [owner, ...others] = proved.some((one) => one.byUsername) ? proved.filter((one) => one.byUsername) : proved
  if (owner && others.length === 0) {
    const { user } = owner
    if (user.status !== 'active') return { user }
    await recordVerification(asUser(inside, user), user, method.kind)
    return { user, claimed: { ...identity, name: method.name, email: email!, owners: [user.id] } }
  }

  // 3. Somebody new.
  if (email !== null && (owner || owners.some((one) => one.byUsername))) {
    const linking = { ...identity, name: method.name, email, owners: owners.map((one) => one.user.id) }
    throw refused({ ...state, username: email, linking }, 'upstream_taken', method)
  }
  const fault = signUpFault(arrival)
  if (fault) throw refused(state, fault, method)
  return makeUser(inside, arrival)
}

function refused(state: LoginState, key: TextKey, method: MethodFacts): Refused {
  const { id: issuerId, accountId } = scope().runtime.issuer
  return new Refused({
    to: state,
    problems: [{ key, places: { method: method.name } }],
    effects: (inside) =>
      recordFailure(inside, { accountId, issuerId }, undefined, { method: method.kind, reason: key }),
  })
}

/** Why this person may not make an account, if so (spec 2.3). */
function signUpFault({ person, method, journey }: Arrival): TextKey | undefined {
  const { mode, allowed_domains = [], require_email_verification } = scope().runtime.issuer.settings.signup ?? {}
  if (!method.signup || (mode === 'invite_only' && !journey.invitation)) return 'upstream_unknown'
  // What depends on the address depends on one that is known to be theirs.
  if ((journey.invitation || allowed_domains.length > 0) && !person.emailVerified) return 'upstream_unverified'
  if (person.email === null) return require_email_verification ? 'upstream_unverified' : undefined
  return addressFault(journey, person.email)
}

/**
 * An address that nobody has confirmed does not become the username: whoever reads its mail could not sign up any more,
 * or would share the account with whoever came first.
 */
async function makeUser(inside: Context, arrival: Arrival): Promise<Found> {
  const { person, method, identity, journey } = arrival
  const { id: issuerId, accountId } = scope().runtime.issuer
  await journey.stillInvited(inside)
  const { email, emailVerified, profile } = person
  const requiresApproval = wantsApproval()
  const named = emailVerified && email !== null
  const made = await createUser(
    inside,
    { accountId, issuerId },
    {
      ...(named
        ? { usernameType: 'email', username: email, profile }
        : {
            usernameType: 'unique',
            username: inventedName(method.kind, identity),
            profile: { ...profile, ...(email === null ? {} : { email }) },
          }),
      ...(requiresApproval ? { requiresApproval, triggeredRule: 'require_admin_approval' } : {}),
    },
    { origin: originOf(journey), emailProved: named },
  )
  const user = { id: made.id, accountId, issuerId, username: made.username, status: made.status }
  const context = asUser(inside, user)
  const { id } = await linkIdentity(context, user, identity, method.name)
  await recordVerification(context, user, method.kind, id)
  return { user, signUp: { email: email ?? '', passwordHash: null, profile, reason: null } }
}

const inventedName = (kind: string, { methodId, issuer, subject }: UpstreamIdentity): string =>
  `${kind}-${sha256(JSON.stringify([methodId, issuer, subject])).slice(0, 20)}`
