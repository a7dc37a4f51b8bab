/**
 * Decisions of the authorization endpoint (docs/contract.md#authorization-requests,
 * docs/contract.md#grant-and-client-rules): whether the user must sign in, and which session the response belongs to. A
 * session belongs to one browser sign-in, one client and one organization choice, and has one grant.
 */
import { createHash } from 'node:crypto'
import { errors, interactionPolicy } from 'oidc-provider'
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { mayDiscloseOrganization } from '../../resources/clients/organization-restriction.js'
import { membershipsOf } from '../../resources/organizations/membership.js'
import {
  createSession,
  currentSessionStatus,
  type Device,
  type SessionStatus,
} from '../../resources/sessions/sessions.js'
import { clientRowOf, restrictionOfClient } from '../client/client.js'
import { type BrowserSession, type OpenIdContext, type OpenIdGrant, textParameter } from '../provider-types.js'
import { type RequestContext, withRequest, withUserActor } from '../request-context.js'
import { SignInEndedError } from '../store/unit-of-work.js'
import { sessionLifetime } from '../token/tokens.js'
import {
  isBrowserSessionOutdated,
  isRequestedMethodMissing,
  isSecondFactorRequired,
  satisfiedAcr,
} from './authentication-requirements.js'
import { checkOrganization } from './authorization-parameters.js'

interface PriorSession {
  id: string
  userId: string
  orgId: string | null
  status: string
  expiresAt: bigint
  idleExpiresAt: bigint | null
  revocationReason: string | null
  grantId: string
  amr: string[]
  /** The user has a suspended session with this client in this browser, possibly for another organization. */
  hasSuspendedSession: boolean
  state: SessionStatus
}

// Does not use the session id of the browser session's record: of two concurrent requests, the second to write it
// overwrites the first's id.
const priorSessionText = `
  SELECT s.id, s.amr, s.user_id AS "userId", s.org_id AS "orgId", s.status, s.expires_at AS "expiresAt",
    s.idle_expires_at AS "idleExpiresAt", s.revocation_reason AS "revocationReason", s.grant_id AS "grantId",
    EXISTS (SELECT 1 FROM sessions o WHERE o.issuer_id = $1 AND o.browser_uid = $2 AND o.client_id = $3
      AND o.user_id = s.user_id AND o.status = 'suspended' AND o.expires_at > $4) AS "hasSuspendedSession"
  FROM sessions s WHERE s.issuer_id = $1 AND s.browser_uid = $2 AND s.client_id = $3
  ORDER BY s.id COLLATE "C" DESC LIMIT 1`

/** Caches a result per request, because several checks of oidc-provider need it. */
function cachePerRequest<Answer>(
  load: (request: RequestContext, ctx: OpenIdContext) => Promise<Answer>,
): (request: RequestContext, ctx: OpenIdContext) => Promise<Answer> {
  const results = new WeakMap<OpenIdContext, Promise<Answer>>()
  return (request, ctx) => {
    const result = results.get(ctx) ?? load(request, ctx)
    results.set(ctx, result)
    return result
  }
}

/** The latest session of this browser with this client, if any. */
const loadPriorSession = cachePerRequest(readPriorSession)

async function readPriorSession(
  { context, runtime }: RequestContext,
  ctx: OpenIdContext,
): Promise<PriorSession | undefined> {
  const { session, client } = ctx.oidc
  if (!session?.accountId) return undefined
  const [row] = await context.database.query<PriorSession & Record<string, unknown>>(
    'idp-prior-session',
    priorSessionText,
    [runtime.issuer.id, session.uid, clientRowOf(client!).id, context.now()],
  )
  return row && { ...row, state: currentSessionStatus(row, context.now()) }
}

const isPasswordChanged = cachePerRequest(isBrowserSessionOutdated)

/** Revocation reasons that ended only the tokens: the browser can continue without a new sign-in. */
const tokenOnlyRevocationReasons = new Set<string | null>(['token_compromised', 'other'])

/** The prompts of oidc-provider, with our own reasons to sign in and to ask for consent. */
export function signInPolicy(): interactionPolicy.DefaultPolicy {
  const { Prompt, base } = interactionPolicy
  const policy = base()
  const login = policy.get('login')!
  login.checks.add(
    createCheck(
      'account_unavailable',
      'End-User authentication is required',
      'login_required',
      (_, ctx) => ctx.oidc.account === undefined,
    ),
  )
  login.checks.add(
    createCheck('session_ended', 'End-User authentication is required', 'login_required', async (request, ctx) => {
      if (ctx.oidc.result?.login) return false
      const prior = await loadPriorSession(request, ctx)
      return (
        prior?.state === 'expired' ||
        (prior?.state === 'revoked' && !tokenOnlyRevocationReasons.has(prior.revocationReason))
      )
    }),
  )
  login.checks.add(
    createCheck('password_changed', 'End-User authentication is required', 'login_required', isPasswordChanged),
  )
  login.checks.add(
    createCheck('second_factor_missing', 'A second factor is required', 'login_required', async (request, ctx) => {
      const { result, account, session } = ctx.oidc
      if (result?.login || !account || session?.amr?.includes('mfa')) return false
      const { orgId, isChoiceRequired } = await loadOrganizationSelection(request, ctx)
      // The organization is selected by the next prompt; this check runs again afterwards.
      return isSecondFactorRequired(request, account.accountId, isChoiceRequired ? undefined : orgId)
    }),
  )
  login.checks.add(
    createCheck('method_missing', 'Another way to sign in is required', 'login_required', (_, ctx) => {
      const { result, account, session } = ctx.oidc
      return !result?.login && account !== undefined && session !== undefined && isRequestedMethodMissing(ctx, session)
    }),
  )
  const organization = new Prompt(
    { name: 'select_organization', requestable: false },
    createCheck(
      'organization_not_chosen',
      'An organization must be chosen',
      'interaction_required',
      async (request, ctx) => {
        if (ctx.oidc.result?.['select_organization'] || !ctx.oidc.account) return false
        return (await loadOrganizationSelection(request, ctx)).isChoiceRequired
      },
    ),
  )
  // Registered clients need no consent, and `prompt=consent` has no effect for them. Metadata document clients do, as
  // the last prompt.
  const consent = policy.get('consent')!
  consent.checks.clear()
  consent.checks.add(
    createCheck('client_unknown', 'End-User consent is required', 'consent_required', isConsentRequired),
  )
  policy.remove('consent')
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0)
  policy.add(organization)
  policy.add(consent)
  return policy
}

/** Creates a check that oidc-provider calls for each authorization request. */
const createCheck = (
  reason: string,
  description: string,
  error: string,
  isRequired: (request: RequestContext, ctx: OpenIdContext) => boolean | Promise<boolean>,
) => new interactionPolicy.Check(reason, description, error, withRequest(isRequired))

interface OrganizationSelection {
  orgId: string | null
  /** Several organizations are possible, and the user has not selected one. */
  isChoiceRequired: boolean
}

/**
 * The organization of the response: the requested one (docs/contract.md#grant-and-client-rules rule 6). If the client
 * asks users to choose, the chosen one, or the only possible one.
 */
const loadOrganizationSelection = cachePerRequest(readOrganizationSelection)

async function readOrganizationSelection(request: RequestContext, ctx: OpenIdContext): Promise<OrganizationSelection> {
  const requested = textParameter(ctx, 'org')
  if (requested !== undefined) return { orgId: requested, isChoiceRequired: false }
  const { context, runtime } = request
  const client = clientRowOf(ctx.oidc.client!)
  const userId = ctx.oidc.session?.accountId
  if (!client.settings.restrictions?.organizations?.ask || !userId) return { orgId: null, isChoiceRequired: false }
  const restriction = restrictionOfClient(request, client)
  const memberships = await membershipsOf(context, { issuerId: runtime.issuer.id, userId })
  const selectableOrgIds = memberships
    .map(({ id }) => id)
    .filter((id) => mayDiscloseOrganization(restriction, id, null))
  const prior = await loadPriorSession(request, ctx)
  const priorOrgId = prior?.userId === userId ? selectableOrgIds.find((id) => id === prior.orgId) : undefined
  if (priorOrgId !== undefined) return { orgId: priorOrgId, isChoiceRequired: false }
  return {
    orgId: selectableOrgIds.length === 1 ? selectableOrgIds[0]! : null,
    isChoiceRequired: selectableOrgIds.length > 1,
  }
}

/**
 * Checks whether the user must give consent: for a metadata document client, unless this browser's session with it
 * covers the requested scopes.
 */
async function isConsentRequired(request: RequestContext, ctx: OpenIdContext): Promise<boolean> {
  const { client, account, session, result, prompts, requestParamScopes, resourceServers } = ctx.oidc
  if (!clientRowOf(client!).document || result?.consent || !account) return false
  const prior = await loadPriorSession(request, ctx)
  const { orgId } = await loadOrganizationSelection(request, ctx)
  const isPriorSessionLive = prior?.state === 'active' || prior?.state === 'inactive'
  if (prompts.has('consent') || !isPriorSessionLive || prior.userId !== session?.accountId || prior.orgId !== orgId)
    return true
  const grant = await ctx.oidc.provider.Grant.find(prior.grantId)
  return Object.entries(resourceServers ?? {}).some(([indicator, server]) => {
    const granted = new Set(grant?.getResourceScope(indicator).split(' '))
    return [...requestParamScopes].some((name) => server.scopes.has(name) && !granted.has(name))
  })
}

async function isInteractionPending(ctx: OpenIdContext, policy: interactionPolicy.DefaultPolicy): Promise<boolean> {
  for (const { checks } of policy) {
    for (const { check } of checks) if (await check(ctx)) return true
  }
  return false
}

/**
 * oidc-provider's `loadExistingGrant`: returns the grant for this request and connects it with a session.
 * @returns undefined while an interaction is pending
 * @throws AccessDenied while the session is suspended, InvalidRequest if the client may no longer select the
 * organization
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
  // The organization was checked when the authorization request began. The client's restrictions may have changed
  // during the sign-in.
  if (orgId !== null) checkOrganization(request, client!, orgId)
  // The response names the requested authentication context if this sign-in satisfies it.
  const acr = satisfiedAcr(ctx, session!)
  if (acr !== undefined) session!.acr = acr
  const userSession = prior?.userId === session!.accountId ? prior : undefined
  if (userSession?.hasSuspendedSession) throw new errors.AccessDenied('the session is suspended')

  if (
    userSession &&
    userSession.orgId === orgId &&
    (userSession.state === 'active' || userSession.state === 'inactive')
  ) {
    const grant = await ctx.oidc.provider.Grant.find(userSession.grantId)
    if (grant) {
      addScopes(ctx, grant)
      await grant.save()
      if (session!.sidFor(client!.clientId) !== userSession.id) session!.sidFor(client!.clientId, userSession.id)
      unitOfWork.updateSession(context, userSession.id)
      // The browser may have added the second factor during a sign-in for another client.
      const hasNewSecondFactor = session!.amr?.includes('mfa') === true && !userSession.amr.includes('mfa')
      if (ctx.oidc.result?.login || hasNewSecondFactor)
        unitOfWork.addChange((tx) => updateSessionAuthentication(request, tx, userSession.id, session!))
      return grant
    }
  }

  const grant = new ctx.oidc.provider.Grant({ accountId: session!.accountId!, clientId: client!.clientId })
  addScopes(ctx, grant)
  const grantId = await grant.save()
  const sid = newId('ses', context.now())
  session!.sidFor(client!.clientId, sid)
  saveNewSession(request, ctx, session!, { sid, grantId, orgId })
  return grant
}

/** Adds the requested scopes to the grant: OpenID scopes, and those of each requested resource. */
function addScopes({ oidc }: OpenIdContext, grant: OpenIdGrant): void {
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '))
  for (const [indicator, server] of Object.entries(oidc.resourceServers ?? {})) {
    grant.addResourceScope(indicator, [...oidc.requestParamScopes].filter((name) => server.scopes.has(name)).join(' '))
  }
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
  const { id: clientId } = clientRowOf(ctx.oidc.client!)
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

/** Device data of the session. The fingerprint is a hash of headers that every browser sends anyway. */
function deviceOf({ context }: RequestContext, ctx: OpenIdContext, fingerprinting: boolean): Device {
  const browserHeaders = ['user-agent', 'accept-language', 'sec-ch-ua', 'sec-ch-ua-platform'].map((name) =>
    ctx.get(name),
  )
  const fingerprint = fingerprinting ? createHash('sha256').update(browserHeaders.join('\n')).digest('base64url') : null
  const { userAgent, ip } = context.request
  return { user_agent: userAgent, ip_address: ip, fingerprint }
}
