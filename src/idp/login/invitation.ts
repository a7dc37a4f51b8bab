/**
 * Acceptance of invitations to an organization. The link in the email starts a login transaction, which ends with a
 * membership instead of an authorization response.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError, type ErrorCode } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import { transaction } from '../../platform/postgres/transaction.js'
import {
  acceptInvitation,
  findPendingInvitation,
  lockPendingInvitation,
} from '../../resources/organizations/invitation-acceptance.js'
import { AlreadyMemberError } from '../../resources/organizations/members.js'
import { requireActiveIssuer } from '../client/client.js'
import { cookieNames } from '../provider.js'
import { consumeRateLimit } from '../rate-limits.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { claimVersion, type InvitationFacts, initialState, type LoginSnapshot } from './login-state.js'
import { LoginAbortedError, type LoginTransaction } from './login-transaction.js'
import { errorPage } from './pages/error.js'
import { type InvitationFailure, invitationAcceptedPage, invitationFailurePage } from './pages/invitation.js'
import { createView, sendPage } from './pages/layout.js'

/** GET of `/invitation?token=…`. Starts a login transaction that only the browser of this request can continue. */
export async function handleInvitationLink(request: RequestContext, ctx: KoaContext, query: Form): Promise<void> {
  const { context, runtime } = request
  await consumeRateLimit(request, ctx, 'authorize', networkOf(context.request.ip))
  await requireActiveIssuer(request)
  const tokenHash = sha256(formField(query, 'token') ?? '')
  const openedInvitation = await findPendingInvitation(context, runtime.issuer.id, tokenHash)
  if (!openedInvitation) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'invitation_gone')
  }
  const uid = randomSecret()
  const state = {
    ...initialState(openedInvitation.email),
    step: 'invitation' as const,
    invitation: { ...openedInvitation, tokenHash },
  }
  await transaction(context, (tx) => claimVersion(request, tx, uid, { state, version: 0 }))
  const path = new URL(`${runtime.url}/interaction/${uid}`).pathname
  ctx.cookies.set(cookieNames.interaction, uid, { path, signed: true, httpOnly: true, sameSite: 'lax' })
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('Location', path)
  ctx.body = ''
}

/**
 * Creates the login transaction of an invitation.
 * @throws OIDCProviderError if the issuer is not active
 */
export async function createInvitationTransaction(
  request: RequestContext,
  uid: string,
  snapshot: LoginSnapshot,
  invitation: InvitationFacts,
): Promise<LoginTransaction> {
  await requireActiveIssuer(request)
  const { runtime, unitOfWork } = request
  const throwAsLoginAborted = (error: unknown): never => {
    throw toLoginAborted(request, error, invitation)
  }
  return {
    uid,
    param: () => undefined,
    clientName: invitation.organization ?? undefined,
    orgId: null,
    promptsForOrganization: false,
    allowedOrgIds: [],
    invitation,
    requireOpenInvitation: (tx) =>
      lockPendingInvitation(tx, runtime.issuer.id, invitation.tokenHash).catch(throwAsLoginAborted),
    createInitialState: async () => snapshot.state,
    async complete(_tx, _browserSession, { user, reusesSession }) {
      if (!user || reusesSession) return
      unitOfWork.addChange(async (tx) => {
        await acceptInvitation(withUserActor(tx, user), invitation.tokenHash, user).catch(throwAsLoginAborted)
      })
    },
    sendFinalResponse(ctx) {
      const view = createView(ctx, runtime.issuer, { clientName: invitation.organization ?? undefined })
      sendPage(ctx, view, invitationAcceptedPage(view))
      return true
    },
  }
}

/**
 * Converts the error of an invitation that cannot be accepted to a LoginAbortedError with a page that explains it.
 * Returns other errors unchanged. The invitation may have changed during the sign-in.
 */
function toLoginAborted({ runtime }: RequestContext, error: unknown, { organization }: InvitationFacts): unknown {
  if (!(error instanceof ApiError)) return error
  const failure = error instanceof AlreadyMemberError ? 'member' : failureByErrorCode[error.code]
  if (failure === undefined) return error
  return new LoginAbortedError((ctx) => {
    const view = createView(ctx, runtime.issuer, { clientName: organization ?? undefined })
    sendPage(ctx, view, invitationFailurePage(view, failure), statusByFailure[failure])
  })
}

const failureByErrorCode: Partial<Record<ErrorCode, InvitationFailure>> = { not_found: 'over', conflict: 'full' }
const statusByFailure: Readonly<Record<InvitationFailure, number>> = { over: 410, full: 409, member: 200 }
