/**
 * Finds or creates the session and the grant of an authorization response (docs/contract.md#authorization-requests). A
 * session belongs to one browser session, one client and one selected organization (or none), and has one grant.
 */
import { createHash } from 'node:crypto'
import { errors, type interactionPolicy } from 'oidc-provider'
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { markRegistrationUsed } from '../../resources/registration/purge.js'
import { createSession, type Device } from '../../resources/sessions/sessions.js'
import { clientRowOf } from '../client/client.js'
import { redirectTarget } from '../client/unmanaged-clients.js'
import { type BrowserSession, type OpenIdContext, type OpenIdGrant, textParameter } from '../provider-types.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { SignInEndedError } from '../store/unit-of-work.js'
import { sessionLifetime } from '../token/tokens.js'
import { satisfiedAcr } from './authentication-requirements.js'
import { checkOrganization } from './authorization-parameters.js'
import { grantRequestedClaims } from './claims-parameter.js'
import { loadOrganizationSelection, loadPriorSession } from './sign-in-policy.js'

async function isInteractionPending(ctx: OpenIdContext, policy: interactionPolicy.DefaultPolicy): Promise<boolean> {
  for (const { checks } of policy) {
    for (const { check } of checks) if (await check(ctx)) return true
  }
  return false
}

/**
 * oidc-provider's `loadExistingGrant`: returns the grant for this request, and creates or updates its session.
 * @returns undefined while an interaction is pending
 * @throws AccessDenied while the session is suspended, InvalidRequest if the client may no longer select the
 *   organization
 */
export async function loadExistingGrant(
  request: RequestContext,
  ctx: OpenIdContext,
  policy: interactionPolicy.DefaultPolicy,
): Promise<OpenIdGrant | undefined> {
  if (await isInteractionPending(ctx, policy)) return undefined
  const { context, unitOfWork } = request
  const { session, client } = ctx.oidc
  const prior = await loadPriorSession(request, ctx)
  const { orgId } = await loadOrganizationSelection(request, ctx)
  // The parameter `org` of the request was checked when the authorization request began. The client's restrictions may
  // have changed during the sign-in.
  if (orgId !== null) checkOrganization(request, client!, orgId)
  // The ID token has the requested `acr` if the sign-in of this browser satisfies it.
  const acr = satisfiedAcr(ctx, session!)
  if (acr !== undefined) session!.acr = acr
  const userSession = prior?.userId === session!.accountId ? prior : undefined
  if (userSession?.hasSuspendedSession)
    throw new errors.AccessDenied('the session of the user is suspended; an administrator can reactivate it')

  if (
    userSession &&
    userSession.orgId === orgId &&
    (userSession.state === 'active' || userSession.state === 'inactive')
  ) {
    const grant = await ctx.oidc.provider.Grant.find(userSession.grantId)
    if (grant) {
      addScopesAndClaims(ctx, grant)
      addRedirectTarget(ctx, grant)
      await grant.save()
      if (session!.sidFor(client!.clientId) !== userSession.id) session!.sidFor(client!.clientId, userSession.id)
      unitOfWork.updateSession(context, userSession.id)
      // The user may have proved a second factor in this browser during a sign-in for another client.
      const hasNewSecondFactor = session!.amr?.includes('mfa') === true && !userSession.amr.includes('mfa')
      if (ctx.oidc.result?.login || hasNewSecondFactor)
        unitOfWork.addChange((tx) => updateSessionAuthentication(request, tx, userSession.id, session!))
      return grant
    }
  }

  const grant = new ctx.oidc.provider.Grant({ accountId: session!.accountId!, clientId: client!.clientId })
  addScopesAndClaims(ctx, grant)
  addRedirectTarget(ctx, grant)
  const grantId = await grant.save()
  const sid = newId('ses', context.now())
  session!.sidFor(client!.clientId, sid)
  saveNewSession(request, ctx, session!, { sid, grantId, orgId })
  return grant
}

/**
 * Adds the requested scopes to the grant: OpenID Connect scopes, and the scopes of each requested resource. Sets the
 * individually requested claims.
 */
export function addScopesAndClaims(ctx: OpenIdContext, grant: OpenIdGrant): void {
  const { oidc } = ctx
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '))
  for (const [indicator, server] of Object.entries(oidc.resourceServers ?? {})) {
    grant.addResourceScope(indicator, [...oidc.requestParamScopes].filter((name) => server.scopes.has(name)).join(' '))
  }
  grantRequestedClaims(ctx, grant)
}

/** Adds the target of the redirect URI, to which the user has consented, to the grant of a registered client. */
function addRedirectTarget(ctx: OpenIdContext, grant: OpenIdGrant): void {
  if (!clientRowOf(ctx.oidc.client!).isDynamic) return
  const target = redirectTarget(textParameter(ctx, 'redirect_uri')!)
  grant.redirectTargets = [...new Set([...(grant.redirectTargets ?? []), target])]
}

function saveNewSession(
  request: RequestContext,
  ctx: OpenIdContext,
  session: BrowserSession,
  { sid, grantId, orgId }: { sid: string; grantId: string; orgId: string | null },
): void {
  const { context, runtime, unitOfWork } = request
  const { id: issuerId, accountId, settings } = runtime.issuer
  const now = context.now()
  const { id: clientId, isDynamic } = clientRowOf(ctx.oidc.client!)
  const userId = session.accountId!
  const username = String(ctx.oidc.account?.['username'])
  const idle = settings.sessions?.idle_timeout
  unitOfWork.addChange(async (tx) => {
    const isStarted = await createSession(withUserActor(tx, { id: userId, username, accountId, issuerId }), {
      id: sid,
      accountId,
      issuerId,
      userId,
      clientId,
      orgId,
      browserUid: session.uid,
      grantId,
      host: runtime.host,
      device: deviceOf(request, ctx, settings.sessions?.device_fingerprinting === true),
      authTime: session.loginTs ?? Math.floor(now / 1000),
      since: session.since,
      acr: session.acr ?? null,
      amr: session.amr ?? [],
      expiresAt: now + sessionLifetime(request) * 1000,
      idleExpiresAt: idle === undefined ? null : now + idle * 1000,
    })
    if (!isStarted) throw new SignInEndedError()
    if (isDynamic) await markRegistrationUsed(tx, clientId)
  })
}

async function updateSessionAuthentication(
  { runtime }: RequestContext,
  tx: Context,
  sid: string,
  { loginTs, acr, amr }: BrowserSession,
): Promise<void> {
  await tx.db.session.updateMany({
    where: { id: sid, issuerId: runtime.issuer.id },
    data: {
      ...(loginTs === undefined ? {} : { authTime: loginTs }),
      acr: acr ?? null,
      amr: amr ?? [],
      updatedAt: tx.now(),
    },
  })
}

/**
 * Returns device data for the session. The fingerprint is a hash of request headers; null unless the issuer enables it.
 */
function deviceOf({ context }: RequestContext, ctx: OpenIdContext, fingerprinting: boolean): Device {
  const browserHeaders = ['user-agent', 'accept-language', 'sec-ch-ua', 'sec-ch-ua-platform'].map((name) =>
    ctx.get(name),
  )
  const fingerprint = fingerprinting ? createHash('sha256').update(browserHeaders.join('\n')).digest('base64url') : null
  const { userAgent, ip } = context.request
  return { user_agent: userAgent, ip_address: ip, fingerprint }
}
