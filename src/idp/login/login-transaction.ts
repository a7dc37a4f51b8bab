/** Login transactions: sign-ins for the authorization request of an application, or for an invitation. */
import type { Context as KoaContext } from 'koa'
import { toUnixSeconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { recordSignInSuccess } from '../../resources/credentials/sign-in.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { type ClientRow, readClient } from '../client/client.js'
import { restrictionOfClient } from '../client/unmanaged-clients.js'
import type { BrowserSession, Interaction } from '../provider-types.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { stepUpReasons } from '../session/authentication-requirements.js'
import { acrOfMethod, DEFAULT_ACR } from './acr.js'
import { initialState, type LoginState } from './login-state.js'
import { createRecoveryState } from './recovery-link.js'

export interface LoginTransaction {
  readonly uid: string
  /** Returns a parameter of the authorization request; undefined if it is absent or not text, and for invitations. */
  param(name: string): string | undefined
  readonly clientName: string | undefined
  /** The organization that the parameter `org` selects; null for none. */
  readonly orgId: string | null
  /** The user must choose an organization if several are possible. */
  readonly promptsForOrganization: boolean
  /** The organizations that the user can choose from; null for any. */
  readonly allowedOrgIds: readonly string[] | null
  /** The invitation that the login transaction accepts; undefined for an authorization request. */
  readonly invitation: { email: string } | undefined
  /**
   * Checks that the invitation, if there is one, is still valid, and locks it. Must be called in the database
   * transaction that creates the user.
   * @throws LoginAbortedError if the invitation is no longer valid
   */
  requireOpenInvitation(tx: Context): Promise<void>
  /** Returns the state to use if no state is saved yet, or if the saved step is unknown. */
  createInitialState(): Promise<LoginState>
  /**
   * Completes the login transaction after the last step, in the database transaction `tx` of that step. A state without
   * a user cancels an authorization request. Writes that
   * run at the end of `tx` can throw LoginAbortedError.
   * @param browserSession the current browser session
   */
  complete(tx: Context, browserSession: BrowserSession, state: LoginState): Promise<void>
  /** Sends the response after the last step. Returns false, without a response, if the last step is not completed. */
  sendFinalResponse(ctx: KoaContext): boolean
}

/**
 * The login transaction cannot be completed. The database transaction of the step is rolled back, and `respond` sends a
 * page.
 */
export class LoginAbortedError extends Error {
  constructor(readonly respond: (ctx: KoaContext) => void) {
    super('the login transaction cannot be completed')
  }
}

/**
 * Creates the login transaction of an authorization request.
 * @returns undefined if there is no such client
 * @throws OIDCProviderError if the issuer is not active, or if the metadata document of the client cannot be used
 */
export async function createAuthorizationTransaction(
  request: RequestContext,
  ctx: KoaContext,
  interaction: Interaction,
): Promise<LoginTransaction | undefined> {
  const client = await readClient(request, String(interaction.params['client_id']))
  if (!client) return undefined
  const { uid, prompt } = interaction
  const param = (name: string): string | undefined => {
    const value = interaction.params[name]
    return typeof value === 'string' ? value : undefined
  }
  const { session: browserSession } = interaction
  const session = browserSession?.accountId ? browserSession : undefined
  const { organizationIds } = restrictionOfClient(request, client)
  const promptsForOrganization = client.settings.restrictions?.organizations?.ask === true
  return {
    uid,
    param,
    clientName: client.name,
    orgId: param('org') ?? null,
    promptsForOrganization: promptsForOrganization && param('org') === undefined,
    allowedOrgIds: organizationIds,
    invitation: undefined,
    requireOpenInvitation: async () => undefined,
    async createInitialState() {
      const recoveryLoginState = await createRecoveryState(request, ctx)
      if (recoveryLoginState) return recoveryLoginState
      const state = initialState(param('login_hint'))
      if (prompt.name === 'create') return { ...state, step: 'sign_up' }
      const activeUser = session && (await findActiveUser(request, session.accountId!))
      if (!session || !activeUser) return state
      // A user who must prove another factor (step-up authentication) does not have to enter the username again.
      if (prompt.reasons.some((reason) => stepUpReasons.has(reason))) return { ...state, username: activeUser.username }
      if (prompt.name === 'login') return state
      const stateFromSession = {
        ...state,
        user: activeUser,
        username: activeUser.username,
        reusesSession: true,
        amr: session.amr ?? [],
      }
      return { ...stateFromSession, step: prompt.name === 'select_account' ? 'account' : 'organization' }
    },
    complete: (tx, currentSession, state) =>
      completeAuthorization(request, tx, currentSession, { interaction, client, state }),
    sendFinalResponse(ctx) {
      if (!interaction.result) return false
      ctx.status = 303
      ctx.set('Cache-Control', 'no-store')
      ctx.set('Location', interaction.returnTo)
      ctx.body = ''
      return true
    },
  }
}

/** Returns an active user; null if the user does not exist, or has another status and therefore cannot sign in. */
async function findActiveUser({ context, runtime }: RequestContext, id: string) {
  const { id: issuerId, accountId } = runtime.issuer
  const user = await context.db.user.findFirst({
    where: { id, issuerId, status: 'active' },
    select: { id: true, username: true, status: true },
  })
  return user && { ...user, issuerId, accountId }
}

/** Tells oidc-provider which requested prompts the login transaction has completed, besides `login`. */
const completedPrompts = { create: {}, select_account: {}, select_organization: {} }

/** Passes the result to oidc-provider. After a new sign-in, also records it and ends the session of another user. */
async function completeAuthorization(
  request: RequestContext,
  tx: Context,
  browserSession: BrowserSession,
  { interaction, client, state }: { interaction: Interaction; client: ClientRow; state: LoginState },
): Promise<void> {
  const { context, unitOfWork } = request
  const { amr, methods, orgId, since, user } = state
  if (!user) {
    interaction.result = { error: 'access_denied', error_description: 'the user canceled the sign-in' }
    await interaction.persist()
    return
  }
  // The chosen organization has the effect of the parameter `org` (docs/contract.md#grant-and-client-rules rule 6).
  if (orgId) interaction.params['org'] = orgId
  if (state.reusesSession) {
    interaction.result = completedPrompts
    await interaction.persist()
    return
  }
  await endSessionsOfOtherUser(request, tx, browserSession, user.id)
  // `interaction.session` is the browser session with which the interaction started. oidc-provider would reject the
  // sign-in if that browser session has been replaced or ended since.
  delete interaction.session
  const ts = toUnixSeconds(context.now())
  const acr = selectAcr(interaction.params['acr_values'], methods)
  interaction.result = {
    login: { accountId: user.id, acr, amr: [...new Set(amr)], ts, since, remember: true },
    ...completedPrompts,
  }
  await interaction.persist()
  unitOfWork.addChange((tx) => recordSignInSuccess(withUserActor(tx, user), user, client.id, amr))
}

/**
 * Ends the browser session of another user, who may have signed in with another tab of this browser, so that no user
 * continues the session of another user.
 */
async function endSessionsOfOtherUser(
  { runtime }: RequestContext,
  tx: Context,
  { uid, accountId: signedInUserId }: BrowserSession,
  userId: string,
): Promise<void> {
  if (signedInUserId === undefined || signedInUserId === userId) return
  const { id: issuerId, accountId } = runtime.issuer
  await endSessions(
    tx,
    { accountId, issuerId },
    { browserUid: uid },
    { reason: 'user_logout', endBrowserSession: true },
  )
}

/**
 * Returns the first requested `acr` value that the used methods satisfy; `urn:svc:assurance:loa1` if there is none
 * (docs/contract.md#tokens-and-claims).
 */
function selectAcr(acrValues: unknown, methods: readonly string[]): string {
  const satisfiedAcrs = [DEFAULT_ACR, ...methods.map(acrOfMethod)]
  const requestedAcrs = typeof acrValues === 'string' ? acrValues.split(' ') : []
  return requestedAcrs.find((acr) => satisfiedAcrs.includes(acr)) ?? satisfiedAcrs[0]!
}
