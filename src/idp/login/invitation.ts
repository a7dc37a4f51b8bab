/**
 * An invitation to an organization, accepted in the browser: the link of its mail begins a journey of its own, which
 * ends with a membership instead of an answer to an application.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError, type ErrorCode } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { transaction } from '../../platform/database.js'
import { randomSecret, sha256 } from '../../platform/secrets.js'
import { acceptInvitation, holdInvitation, openInvitation } from '../../resources/organizations/accept-invitation.js'
import { AlreadyMember } from '../../resources/organizations/members.js'
import { requireOpen } from '../client.js'
import { spend } from '../limits.js'
import { cookieNames } from '../provider.js'
import { type Form, field } from '../request.js'
import { asUser, scope } from '../scope.js'
import { DeadEnd, type Journey } from './journey.js'
import { errorPage } from './pages/error.js'
import { joinedPage, type UnacceptedEnd, unacceptedPage } from './pages/invitation.js'
import { sendPage, viewOf } from './pages/layout.js'
import { beginning, claim, type InvitationFacts, type Standing } from './state.js'

/** GET of `/invitation?token=…`: the browser that opens it goes on from here, and no other one. */
export async function beginInvitation(ctx: KoaContext, query: Form): Promise<void> {
  const { context, runtime } = scope()
  await spend(ctx, context, 'authorize', networkOf(context.request.ip))
  await requireOpen()
  const tokenHash = sha256(field(query, 'token') ?? '')
  const found = await openInvitation(context, runtime.issuer.id, tokenHash)
  if (!found) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'invitation_gone')
  }
  const uid = randomSecret()
  const state = { ...beginning(found.email), step: 'invitation' as const, invitation: { ...found, tokenHash } }
  await transaction(context, (inside) => claim(inside, uid, { state, version: 0 }))
  const path = new URL(`${runtime.url}/interaction/${uid}`).pathname
  ctx.cookies.set(cookieNames.interaction, uid, { path, signed: true, httpOnly: true, sameSite: 'lax' })
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('Location', path)
  ctx.body = ''
}

/** The journey of a browser that opened such a link. Also finds out whether the issuer still signs anybody in. */
export async function invitationJourney(
  uid: string,
  standing: Standing,
  invitation: InvitationFacts,
): Promise<Journey> {
  await requireOpen()
  const { runtime, writes } = scope()
  const orDeadEnd = (error: unknown): never => {
    throw deadEnd(error, invitation)
  }
  return {
    uid,
    param: () => undefined,
    clientName: invitation.organization ?? undefined,
    orgId: null,
    choosesOrganization: false,
    allowedOrgIds: [],
    invitation,
    stillInvited: (inside) => holdInvitation(inside, runtime.issuer.id, invitation.tokenHash).catch(orDeadEnd),
    begin: async () => standing.state,
    async finish(_inside, _now, { user, asBefore }) {
      if (!user || asBefore) return
      writes.change(async (inside) => {
        await acceptInvitation(asUser(inside, user), invitation.tokenHash, user).catch(orDeadEnd)
      })
    },
    leave(ctx) {
      const view = viewOf(ctx, runtime.issuer, { clientName: invitation.organization ?? undefined })
      sendPage(ctx, view, joinedPage(view))
      return true
    },
  }
}

/** What became of the invitation while somebody was on their way. */
function deadEnd(error: unknown, { organization }: InvitationFacts): unknown {
  if (!(error instanceof ApiError)) return error
  const end = error instanceof AlreadyMember ? 'member' : ends[error.code]
  if (end === undefined) return error
  return new DeadEnd((ctx) => {
    const view = viewOf(ctx, scope().runtime.issuer, { clientName: organization ?? undefined })
    sendPage(ctx, view, unacceptedPage(view, end), statuses[end])
  })
}

const ends: Partial<Record<ErrorCode, UnacceptedEnd>> = { not_found: 'over', conflict: 'full' }
const statuses: Readonly<Record<UnacceptedEnd, number>> = { over: 410, full: 409, member: 200 }
