/** What somebody signs in for: an application's authorization request. */
import type { Context as KoaContext } from 'koa'
import { seconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { recordSignIn } from '../../resources/credentials/sign-in.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { type ClientRow, organizationRestriction, readClient } from '../client.js'
import type { BrowserSession, Interaction } from '../library.js'
import { moreProof } from '../proof.js'
import { asUser, scope } from '../scope.js'
import { acrOfMethod } from './acr.js'
import { recoveryState } from './recovery.js'
import { beginning, type LoginState } from './state.js'

export interface Journey {
  readonly uid: string
  /** Parameters of the request. */
  param(name: string): string | undefined
  readonly clientName: string | undefined
  /** The organization that the request selects. */
  readonly orgId: string | null
  /** Is the person to choose an organization where several fit? */
  readonly choosesOrganization: boolean
  /** The ones that the application lets people choose from; null for any. */
  readonly allowedOrgIds: readonly string[] | null
  /** Comes with an invitation to an organization. */
  readonly invitation: { email: string } | undefined
  /**
   * Call it in the transaction that makes an account.
   * @throws DeadEnd for an invitation that is not in force any more
   */
  stillInvited(inside: Context): Promise<void>
  /** How it begins for a browser that has answered nothing yet. */
  begin(): Promise<LoginState>
  /**
   * All steps are done: what follows, written with the last move; what is written then may throw DeadEnd.
   * @param now who is signed in with the browser at present
   */
  finish(inside: Context, now: BrowserSession, state: LoginState): Promise<void>
  /** Sends the browser on after the end; false when there is nowhere to go yet. */
  leave(ctx: KoaContext): boolean
}

/** There is no getting to the end of a journey: what it wrote is undone, and a page says why and what to do. */
export class DeadEnd extends Error {
  constructor(readonly show: (ctx: KoaContext) => void) {
    super('the journey cannot end')
  }
}

/**
 * The journey of an authorization request. Also finds out whether the issuer still signs anybody in.
 * @returns undefined when the client is none any more
 */
export async function authorizationJourney(ctx: KoaContext, interaction: Interaction): Promise<Journey | undefined> {
  const client = await readClient(String(interaction.params['client_id']))
  if (!client) return undefined
  const { uid, prompt } = interaction
  const param = (name: string): string | undefined => {
    const value = interaction.params[name]
    return typeof value === 'string' ? value : undefined
  }
  const { session: before } = interaction
  const session = before?.accountId ? before : undefined
  const { organizationIds } = organizationRestriction(client)
  const asks = client.settings.restrictions?.organizations?.ask === true
  return {
    uid,
    param,
    clientName: client.name,
    orgId: param('org') ?? null,
    choosesOrganization: asks && param('org') === undefined,
    allowedOrgIds: organizationIds,
    invitation: undefined,
    stillInvited: async () => undefined,
    async begin() {
      const recovering = await recoveryState(ctx)
      if (recovering) return recovering
      const state = beginning(param('login_hint'))
      const known = session && (await knownUser(session.accountId!))
      if (!session || !known) return state
      // Whoever has to prove more than before need not say again who they are.
      if (prompt.reasons.some((reason) => moreProof.has(reason))) return { ...state, username: known.username }
      if (prompt.name === 'login') return state
      const asBefore = { ...state, user: known, username: known.username, asBefore: true, amr: session.amr ?? [] }
      return { ...asBefore, step: prompt.name === 'select_account' ? 'account' : 'organization' }
    },
    finish: (inside, now, state) => finish(inside, now, { interaction, client, state }),
    leave(ctx) {
      if (!interaction.result) return false
      ctx.status = 303
      ctx.set('Cache-Control', 'no-store')
      ctx.set('Location', interaction.returnTo)
      ctx.body = ''
      return true
    },
  }
}

/** A user who may sign in. */
async function knownUser(id: string) {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const user = await context.db.user.findFirst({
    where: { id, issuerId, status: 'active' },
    select: { id: true, username: true, status: true },
  })
  return user && { ...user, issuerId, accountId }
}

/** Tells the library who signed in and how, and what was chosen. */
async function finish(
  inside: Context,
  now: BrowserSession,
  { interaction, client, state }: { interaction: Interaction; client: ClientRow; state: LoginState },
): Promise<void> {
  const { context, writes } = scope()
  const { amr, methods, orgId, since } = state
  const person = state.user!
  // Spec 5.2 rule 6: as if the request had selected it.
  if (orgId) interaction.params['org'] = orgId
  if (state.asBefore) {
    interaction.result = { select_account: {}, select_organization: {} }
    await interaction.persist()
    return
  }
  await leaveOther(inside, now, person.id)
  // The library wants the session that the interaction began with; by now the browser may have another, or none.
  delete interaction.session
  const ts = seconds(context.now())
  const acr = acrOf(interaction.params['acr_values'], methods)
  interaction.result = {
    login: { accountId: person.id, acr, amr: [...new Set(amr)], ts, since, remember: true },
    select_account: {},
    select_organization: {},
  }
  await interaction.persist()
  writes.change((inside) => recordSignIn(asUser(inside, person), person, client.id, amr))
}

/** Whoever else is signed in with this browser, be it by another tab, is no more: nobody acts for another one. */
async function leaveOther(inside: Context, { uid, accountId: other }: BrowserSession, userId: string): Promise<void> {
  if (other === undefined || other === userId) return
  const { id: issuerId, accountId } = scope().runtime.issuer
  await endSessions(inside, { accountId, issuerId }, { browserUid: uid }, { reason: 'user_logout', browserToo: true })
}

/** The first of the requested contexts that the methods used fulfil; without a wish the general one (spec 5.3). */
function acrOf(requested: unknown, methods: readonly string[]): string {
  const fulfilled = ['urn:svc:assurance:loa1', ...methods.map(acrOfMethod)]
  const wished = typeof requested === 'string' ? requested.split(' ') : []
  return wished.find((acr) => fulfilled.includes(acr)) ?? fulfilled[0]!
}
