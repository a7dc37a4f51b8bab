/**
 * Decides at the authorization endpoint whether the user must sign in, choose an organization or give consent
 * (docs/contract.md#authorization-requests, docs/contract.md#grant-and-client-rules).
 */
import { interactionPolicy } from 'oidc-provider'
import { mayDiscloseOrganization } from '../../resources/clients/organization-restriction.js'
import { membershipsOf } from '../../resources/organizations/membership.js'
import type { SessionStatus } from '../../resources/sessions/session.js'
import { currentSessionStatus } from '../../resources/sessions/sessions.js'
import { clientRowOf } from '../client/client.js'
import { isUnmanaged, redirectTarget, restrictionOfClient } from '../client/unmanaged-clients.js'
import { type OpenIdContext, type OpenIdGrant, textParameter } from '../provider-types.js'
import { type RequestContext, withRequest } from '../request-context.js'
import {
  isBrowserSessionOutdated,
  isRequestedMethodMissing,
  isSecondFactorRequired,
} from './authentication-requirements.js'

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

// Finds the session by the browser (`browser_uid`), not by the session id in the browser session, because
// with two concurrent requests, one overwrites the id that the other has stored.
const priorSessionText = `
  SELECT s.id, s.amr, s.user_id AS "userId", s.org_id AS "orgId", s.status, s.expires_at AS "expiresAt",
    s.idle_expires_at AS "idleExpiresAt", s.revocation_reason AS "revocationReason", s.grant_id AS "grantId",
    EXISTS (SELECT 1 FROM sessions o WHERE o.issuer_id = $1 AND o.browser_uid = $2 AND o.client_id = $3
      AND o.user_id = s.user_id AND o.status = 'suspended' AND o.expires_at > $4) AS "hasSuspendedSession"
  FROM sessions s WHERE s.issuer_id = $1 AND s.browser_uid = $2 AND s.client_id = $3
  ORDER BY s.id COLLATE "C" DESC LIMIT 1`

/** Returns a function that loads a result once per request, because several checks need the result. */
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

/** Returns the latest session of this browser with this client; undefined if there is none or no user is signed in. */
export const loadPriorSession = cachePerRequest(readPriorSession)

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

/** Reasons for revoking a session and its tokens after which the user of the browser need not sign in again. */
const tokenOnlyRevocationReasons = new Set<string | null>(['token_compromised', 'other'])

/**
 * Creates the interaction policy of oidc-provider: its prompts with additional reasons to sign in, prompts to choose
 * an account or an organization, and consent for clients that no administrator has created.
 */
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
      // If the user must choose an organization, the next prompt asks for it, and this check runs again after that.
      return isSecondFactorRequired(request, account.accountId, isChoiceRequired ? undefined : orgId)
    }),
  )
  login.checks.add(
    createCheck(
      'method_missing',
      'The user has not used an authentication method that acr_values requests',
      'login_required',
      (_, ctx) => {
        const { result, account, session } = ctx.oidc
        return (
          !result?.login && account !== undefined && session !== undefined && isRequestedMethodMissing(ctx, session)
        )
      },
    ),
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
  // Clients of an administrator need no consent, so `prompt=consent` has no effect for them. Clients with a metadata
  // document and dynamically registered clients need consent, which is the last prompt.
  const consent = policy.get('consent')!
  consent.checks.clear()
  consent.checks.add(
    createCheck('client_unknown', 'End-User consent is required', 'consent_required', isConsentRequired),
  )
  policy.remove('consent')
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0)
  // Initiating User Registration via OpenID Connect 1.0.
  policy.add(new Prompt({ name: 'create', requestable: true }), 0)
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
  /** Null if none is selected. */
  orgId: string | null
  /** Several organizations are possible, and the user has not selected one. */
  isChoiceRequired: boolean
}

/**
 * Returns the organization that the tokens will name: the parameter `org`, which the request or the user's choice has
 * set (docs/contract.md#grant-and-client-rules rule 6). Without `org`, and if the client asks users to choose, it is
 * the organization of the latest session of this browser with the client, or the only possible one.
 */
export const loadOrganizationSelection = cachePerRequest(readOrganizationSelection)

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
 * Checks whether the user must give consent: for a client that no administrator has created, unless the session of this browser
 * with the client has the same organization and covers the requested scopes, and `prompt=consent` is not requested. For a
 * dynamically registered client, the consent must also cover the target of the redirect URI: such a client can register
 * URIs of several hosts and change them.
 */
async function isConsentRequired(request: RequestContext, ctx: OpenIdContext): Promise<boolean> {
  const { client, account, session, result, prompts, requestParamScopes, resourceServers } = ctx.oidc
  if (!isUnmanaged(clientRowOf(client!)) || result?.consent || !account) return false
  const prior = await loadPriorSession(request, ctx)
  const { orgId } = await loadOrganizationSelection(request, ctx)
  const isPriorSessionLive = prior?.state === 'active' || prior?.state === 'inactive'
  if (prompts.has('consent') || !isPriorSessionLive || prior.userId !== session?.accountId || prior.orgId !== orgId)
    return true
  const grant: OpenIdGrant | undefined = await ctx.oidc.provider.Grant.find(prior.grantId)
  if (
    clientRowOf(client!).isDynamic &&
    !grant?.redirectTargets?.includes(redirectTarget(textParameter(ctx, 'redirect_uri')!))
  )
    return true
  return Object.entries(resourceServers ?? {}).some(([indicator, server]) => {
    const granted = new Set(grant?.getResourceScope(indicator).split(' '))
    return [...requestParamScopes].some((name) => server.scopes.has(name) && !granted.has(name))
  })
}
