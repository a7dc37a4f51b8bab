/**
 * The authorization endpoint's decisions (spec 4.17, 5.2): must somebody sign in, and with which session does the
 * answer go out. A session belongs to one browser sign-in, one client and one organization choice; it has one grant.
 */
import { createHash } from 'node:crypto'
import { errors, interactionPolicy } from 'oidc-provider'
import { newId } from '../kernel/ids.js'
import type { Context } from '../platform/context.js'
import { mayLearnOf } from '../resources/clients/organization-restriction.js'
import { membershipsOf } from '../resources/organizations/membership.js'
import { beginSession, type Device, type SessionState, stateOf } from '../resources/sessions/sessions.js'
import { checkOrganization } from './authorization.js'
import { organizationRestriction, rowOf } from './client.js'
import { type BrowserSession, type OpenIdContext, type OpenIdGrant, param } from './library.js'
import { demandsSecondFactor, fulfilledWish, isBrowserOutdated, lacksMethod } from './proof.js'
import { asUser, scope } from './scope.js'
import { sessionLifetime } from './tokens.js'
import { SignedOutMeanwhile } from './writes.js'

interface Prior {
  id: string
  userId: string
  orgId: string | null
  status: string
  expiresAt: bigint
  idleExpiresAt: bigint | null
  revocationReason: string | null
  grantId: string
  amr: string[]
  /** This user has a session here that an administrator suspended, be it for another organization. */
  barred: boolean
  state: SessionState
}

// Not by the id that the browser's record names: of two requests at once the second to write it forgets the first's.
const priorText = `
  SELECT s.id, s.amr, s.user_id AS "userId", s.org_id AS "orgId", s.status, s.expires_at AS "expiresAt",
    s.idle_expires_at AS "idleExpiresAt", s.revocation_reason AS "revocationReason", s.grant_id AS "grantId",
    EXISTS (SELECT 1 FROM sessions o WHERE o.issuer_id = $1 AND o.browser_uid = $2 AND o.client_id = $3
      AND o.user_id = s.user_id AND o.status = 'suspended' AND o.expires_at > $4) AS barred
  FROM sessions s WHERE s.issuer_id = $1 AND s.browser_uid = $2 AND s.client_id = $3
  ORDER BY s.id COLLATE "C" DESC LIMIT 1`

/** What one request asks once, however many of the library's checks want to know. */
function once<Answer>(ask: (ctx: OpenIdContext) => Promise<Answer>): (ctx: OpenIdContext) => Promise<Answer> {
  const answers = new WeakMap<OpenIdContext, Promise<Answer>>()
  return (ctx) => {
    const answer = answers.get(ctx) ?? ask(ctx)
    answers.set(ctx, answer)
    return answer
  }
}

/** The session that this browser began last with this client, if any. */
const priorSession = once(readPrior)

async function readPrior(ctx: OpenIdContext): Promise<Prior | undefined> {
  const { context, runtime } = scope()
  const { session, client } = ctx.oidc
  if (!session?.accountId) return undefined
  const [row] = await context.tools.query<Prior & Record<string, unknown>>('idp-prior-session', priorText, [
    runtime.issuer.id,
    session.uid,
    rowOf(client!).id,
    context.now(),
  ])
  return row && { ...row, state: stateOf(row, context.now()) }
}

const passwordChanged = once(isBrowserOutdated)

/** Endings after which the same browser may come back without a password: it was the tokens that were ended. */
const tokensOnly = new Set<string | null>(['token_compromised', 'other'])

/** The prompts of the library, with our reasons to sign in added and its reasons to ask for consent taken away. */
export function signInPolicy(): interactionPolicy.DefaultPolicy {
  const { Check, Prompt, base } = interactionPolicy
  const policy = base()
  const login = policy.get('login')!
  login.checks.add(
    new Check(
      'account_unavailable',
      'End-User authentication is required',
      'login_required',
      (ctx) => ctx.oidc.account === undefined,
    ),
  )
  login.checks.add(
    new Check('session_ended', 'End-User authentication is required', 'login_required', async (ctx) => {
      if (ctx.oidc.result?.login) return false
      const prior = await priorSession(ctx)
      return prior?.state === 'expired' || (prior?.state === 'revoked' && !tokensOnly.has(prior.revocationReason))
    }),
  )
  login.checks.add(
    new Check('password_changed', 'End-User authentication is required', 'login_required', passwordChanged),
  )
  login.checks.add(
    new Check('second_factor_missing', 'A second factor is required', 'login_required', async (ctx) => {
      const { result, account, session } = ctx.oidc
      if (result?.login || !account || session?.amr?.includes('mfa')) return false
      const { orgId, ask } = await organizationOf(ctx)
      // Which organization it will be is asked next; then this is looked at again.
      return demandsSecondFactor(account.accountId, ask ? undefined : orgId)
    }),
  )
  login.checks.add(
    new Check('method_missing', 'Another way to sign in is required', 'login_required', (ctx) => {
      const { result, account, session } = ctx.oidc
      return !result?.login && account !== undefined && session !== undefined && lacksMethod(ctx, session)
    }),
  )
  const organization = new Prompt(
    { name: 'select_organization', requestable: false },
    new Check('organization_not_chosen', 'An organization must be chosen', 'interaction_required', async (ctx) => {
      if (ctx.oidc.result?.['select_organization'] || !ctx.oidc.account) return false
      return (await organizationOf(ctx)).ask
    }),
  )
  // Registered clients need no consent (decisions part 0); asking for the prompt does no harm. Others do, at the end.
  const consent = policy.get('consent')!
  consent.checks.clear()
  consent.checks.add(new Check('client_unknown', 'End-User consent is required', 'consent_required', needsConsent))
  policy.remove('consent')
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0)
  policy.add(organization)
  policy.add(consent)
  return policy
}

interface Organization {
  orgId: string | null
  /** Several fit, and the person has not said which. */
  ask: boolean
}

/**
 * The organization that the answer is bound to: the requested one (spec 5.2 rule 6); where the client wants people to
 * choose, the one that they chose, or the only one that fits.
 */
const organizationOf = once(chooseOrganization)

async function chooseOrganization(ctx: OpenIdContext): Promise<Organization> {
  const requested = param(ctx, 'org')
  if (requested !== undefined) return { orgId: requested, ask: false }
  const { context, runtime } = scope()
  const client = rowOf(ctx.oidc.client!)
  const userId = ctx.oidc.session?.accountId
  if (!client.settings.restrictions?.organizations?.ask || !userId) return { orgId: null, ask: false }
  const restriction = organizationRestriction(client)
  const all = await membershipsOf(context, { issuerId: runtime.issuer.id, userId })
  const fitting = all.map(({ id }) => id).filter((id) => mayLearnOf(restriction, id, null))
  const prior = await priorSession(ctx)
  const before = prior?.userId === userId ? fitting.find((id) => id === prior.orgId) : undefined
  if (before !== undefined) return { orgId: before, ask: false }
  return { orgId: fitting.length === 1 ? fitting[0]! : null, ask: fitting.length > 1 }
}

/**
 * Must the person be asked whether this client is meant? For one that nobody has registered: unless this browser's
 * session with it covers what it wants.
 */
async function needsConsent(ctx: OpenIdContext): Promise<boolean> {
  const { client, account, session, result, prompts, requestParamScopes, resourceServers } = ctx.oidc
  if (!rowOf(client!).document || result?.consent || !account) return false
  const prior = await priorSession(ctx)
  const { orgId } = await organizationOf(ctx)
  const lives = prior?.state === 'active' || prior?.state === 'inactive'
  if (prompts.has('consent') || !lives || prior.userId !== session?.accountId || prior.orgId !== orgId) return true
  const grant = await ctx.oidc.provider.Grant.find(prior.grantId)
  return Object.entries(resourceServers ?? {}).some(([indicator, server]) => {
    const granted = new Set(grant?.getResourceScope(indicator).split(' '))
    return [...requestParamScopes].some((name) => server.scopes.has(name) && !granted.has(name))
  })
}

async function signInPending(ctx: OpenIdContext, policy: interactionPolicy.DefaultPolicy): Promise<boolean> {
  for (const { checks } of policy) {
    for (const { check } of checks) if (await check(ctx)) return true
  }
  return false
}

/**
 * The library's `loadExistingGrant`: the grant for this request, with the session that carries it.
 * @returns undefined while somebody has to sign in first
 * @throws AccessDenied while an administrator has the session suspended, InvalidRequest for an organization that the
 * client may not select any more
 */
export async function grantFor(
  ctx: OpenIdContext,
  policy: interactionPolicy.DefaultPolicy,
): Promise<OpenIdGrant | undefined> {
  if (await signInPending(ctx, policy)) return undefined
  const { context, writes } = scope()
  const { session, client } = ctx.oidc
  const prior = await priorSession(ctx)
  const { orgId } = await organizationOf(ctx)
  // The library checks the parameters of a request once; the person may have taken a while to sign in.
  if (orgId !== null) checkOrganization(client!, orgId)
  // The answer names the context that was asked for, where this sign-in is one of that kind.
  const acr = fulfilledWish(ctx, session!)
  if (acr !== undefined) session!.acr = acr
  const own = prior?.userId === session!.accountId ? prior : undefined
  if (own?.barred) throw new errors.AccessDenied('the session is suspended')

  if (own && own.orgId === orgId && (own.state === 'active' || own.state === 'inactive')) {
    const grant = await ctx.oidc.provider.Grant.find(own.grantId)
    if (grant) {
      addScopes(ctx, grant)
      await grant.save()
      if (session!.sidFor(client!.clientId) !== own.id) session!.sidFor(client!.clientId, own.id)
      writes.touch(context, own.id)
      // With two factors the browser may have come back at another client.
      const more = session!.amr?.includes('mfa') === true && !own.amr.includes('mfa')
      if (ctx.oidc.result?.login || more) writes.change((inside) => refreshAuthentication(inside, own.id, session!))
      return grant
    }
  }

  const grant = new ctx.oidc.provider.Grant({ accountId: session!.accountId!, clientId: client!.clientId })
  addScopes(ctx, grant)
  const grantId = await grant.save()
  const sid = newId('ses', context.now())
  session!.sidFor(client!.clientId, sid)
  beginWith(ctx, session!, { sid, grantId, orgId })
  return grant
}

/** The grant covers what is asked for: as OpenID scopes, and for each resource that a token may be meant for. */
function addScopes({ oidc }: OpenIdContext, grant: OpenIdGrant): void {
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '))
  for (const [indicator, server] of Object.entries(oidc.resourceServers ?? {})) {
    grant.addResourceScope(indicator, [...oidc.requestParamScopes].filter((name) => server.scopes.has(name)).join(' '))
  }
}

function beginWith(
  ctx: OpenIdContext,
  session: BrowserSession,
  { sid, grantId, orgId }: { sid: string; grantId: string; orgId: string | null },
): void {
  const { context, runtime, writes } = scope()
  const { id: issuerId, accountId, settings } = runtime.issuer
  const now = context.now()
  const { id: clientId } = rowOf(ctx.oidc.client!)
  const userId = session.accountId!
  const username = String(ctx.oidc.account?.['username'])
  const idle = settings.sessions?.idle_timeout
  writes.change(async (inside) => {
    const begun = await beginSession(asUser(inside, { id: userId, username, accountId, issuerId }), {
      id: sid,
      accountId,
      issuerId,
      userId,
      clientId,
      orgId,
      browserUid: session.uid,
      grantId,
      host: runtime.host,
      device: deviceOf(ctx, context, settings.sessions?.device_fingerprinting === true),
      authTime: session.loginTs ?? Math.floor(now / 1000),
      since: session.since,
      acr: session.acr ?? null,
      amr: session.amr ?? [],
      expiresAt: now + sessionLifetime() * 1000,
      idleExpiresAt: idle === undefined ? null : now + idle * 1000,
    })
    if (!begun) throw new SignedOutMeanwhile()
  })
}

async function refreshAuthentication(
  inside: Context,
  sid: string,
  { loginTs, acr, amr }: BrowserSession,
): Promise<void> {
  await inside.db.session.updateMany({
    where: { id: sid, issuerId: scope().runtime.issuer.id },
    data: {
      ...(loginTs === undefined ? {} : { authTime: loginTs }),
      acr: acr ?? null,
      amr: amr ?? [],
      updatedAt: inside.now(),
    },
  })
}

/** What can be told of the device. The fingerprint is a hash of what every browser sends anyway. */
function deviceOf(ctx: OpenIdContext, { request }: Context, fingerprinting: boolean): Device {
  const traits = ['user-agent', 'accept-language', 'sec-ch-ua', 'sec-ch-ua-platform'].map((name) => ctx.get(name))
  const fingerprint = fingerprinting ? createHash('sha256').update(traits.join('\n')).digest('base64url') : null
  return { user_agent: request.userAgent, ip_address: request.ip, fingerprint }
}
