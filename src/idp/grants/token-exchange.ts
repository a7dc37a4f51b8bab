/**
 * Token exchange (RFC 8693) in the profile of docs/contract.md#token-exchange: a service exchanges the access token of
 * a user (the subject token) for a short-lived access token, which is for one other service and one organization, and
 * limited to what the subject token, the user and both clients allow.
 */
import { errors } from 'oidc-provider'
import { unsafeInputError } from '../../kernel/safe-json.js'
import { toUnixSeconds } from '../../kernel/time.js'
import { effectiveScopesSql } from '../../resources/authority.js'
import {
  metadataDocumentRestriction,
  type OrganizationRestriction,
  organizationRestrictionOf,
} from '../../resources/clients/organization-restriction.js'
import type { ClientSettings } from '../../resources/clients/settings.js'
import {
  decideExchange,
  type ExchangeDecision,
  type ExchangeError,
  type ExchangeFacts,
} from '../../resources/clients/token-exchange-policy.js'
import { recordEvent } from '../../resources/events/record-event.js'
import { metadataDocumentPolicyOf } from '../../resources/issuers/settings.js'
import { activeMembershipSql, type Membership, mfaSatisfiedSql } from '../../resources/organizations/membership.js'
import { type AccessTokenClaims, verifyAccessToken } from '../../resources/sessions/access-token.js'
import { clientRowOf } from '../client/client.js'
import { isClientIdUrl } from '../client/metadata-documents/client-id-url.js'
import { consumeProof } from '../hooks/dpop.js'
import { type AccessToken, type OpenIdContext, textParameter } from '../provider-types.js'
import { type RequestContext, withMachineActor } from '../request-context.js'
import { customClaimReader } from '../token/custom-claims.js'
import { addExtraClaims, jwtResourceServer } from '../token/tokens.js'
import type { GrantType } from './grant.js'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * Parameters outside the profile (rule 2), and credentials in the body (rule 1). `client_id` is accepted, because many
 * libraries send it in addition to HTTP Basic. oidc-provider rejects a `client_id` that differs from the header.
 */
const unsupportedParameters = [
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'audience',
  'actor_token',
  'actor_token_type',
]

/** `key` is the thumbprint of the key to which the token is bound; undefined for a bearer token. */
type AllowedExchange = ExchangeDecision & { error: null; key: string | undefined }

export const tokenExchange: GrantType = {
  parameters: ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope', 'org'],
  repeatable: [],
  custom: true,
  async handle(request, ctx) {
    // 1. Reject requests outside the profile.
    requireExchangeProfile(ctx)
    // 2. Verify the signature and the current state of the subject token.
    const subject = await verifySubjectToken(request, textParameter(ctx, 'subject_token'))
    const key = await requireKeyOfSubject(ctx, subject)
    // 3. Read the clients, the user and the membership from the database.
    const { facts, membership } = await loadFacts(request, ctx, subject)
    // 4. Apply the token exchange policy.
    const exchangeRequest = {
      resource: textParameter(ctx, 'resource'),
      scope: textParameter(ctx, 'scope'),
      org: textParameter(ctx, 'org'),
    }
    const decision = decideExchange(exchangeRequest, facts)
    if (decision.error !== null) throw exchangeError(decision.error, decision.description)
    // 5. Issue the token.
    await issueExchangedToken(request, ctx, subject, { ...decision, key }, membership!)
  },
}

/**
 * Checks rule 1 of docs/contract.md#token-exchange, and of rule 2 the token types and the unsupported parameters.
 * `decideExchange` checks `resource`, `scope` and `org`.
 * @throws InvalidClientAuth, InvalidRequest
 */
function requireExchangeProfile(ctx: OpenIdContext): void {
  if (!/^basic /i.test(ctx.get('authorization')))
    throw new errors.InvalidClientAuth('token exchange requires client_secret_basic; use the Authorization header')
  const body = ctx.oidc.body ?? {}
  const unsupported = unsupportedParameters.find((name) => body[name])
  if (unsupported !== undefined) throw new errors.InvalidRequest(`${unsupported} is not supported in a token exchange`)
  if (textParameter(ctx, 'subject_token_type') !== ACCESS_TOKEN) {
    throw new errors.InvalidRequest(`subject_token_type must be ${ACCESS_TOKEN}`)
  }
  const requestedTokenType = textParameter(ctx, 'requested_token_type')
  if (requestedTokenType !== undefined && requestedTokenType !== ACCESS_TOKEN) {
    throw new errors.InvalidRequest(`requested_token_type must be ${ACCESS_TOKEN}`)
  }
}

/**
 * Verifies the subject token (rules 3 and 4): it must be an active access token of a user's sign-in at this issuer, and
 * not the result of a token exchange. Any other token is `invalid_request` (RFC 8693 section 2.2.2).
 * @throws InvalidRequest
 */
async function verifySubjectToken(
  { context, runtime }: RequestContext,
  token: string | undefined,
): Promise<AccessTokenClaims> {
  if (token === undefined) throw new errors.InvalidRequest('subject_token is required')
  const liveToken = await verifyAccessToken(context, token)
  if (liveToken?.issuerId !== runtime.issuer.id)
    throw new errors.InvalidRequest('subject_token is not an active access token of this issuer')
  const { claims, personalToken } = liveToken
  if (claims.sub === claims.client_id || personalToken !== null) {
    throw new errors.InvalidRequest(
      'subject_token must be an access token of a user sign-in, not of a client, and not a personal token',
    )
  }
  if (claims['act'] !== undefined)
    throw new errors.InvalidRequest('subject_token is the result of a token exchange and cannot be exchanged again')
  return claims
}

/**
 * Consumes the DPoP proof of the request. If the subject token is bound to a key, the proof must be of that key, so that a
 * service that has received the token cannot exchange it for a token without that key (rule 7).
 * @returns the thumbprint of the key; undefined without a proof
 * @throws InvalidDpopProof; InvalidRequest, as for any other subject token that is not acceptable (RFC 8693 section
 *   2.2.2)
 */
async function requireKeyOfSubject(ctx: OpenIdContext, { cnf }: AccessTokenClaims): Promise<string | undefined> {
  const key = await consumeProof(ctx)
  if (cnf?.jkt !== undefined && cnf.jkt !== key)
    throw new errors.InvalidRequest('subject_token is bound to a key; send a DPoP proof of that key')
  return key
}

const factsText = `
  SELECT c.status, c.confidential, c.settings, source.settings AS "sourceSettings", u.status AS "userStatus",
    member.membership
  FROM issuers i
  LEFT JOIN clients c ON c.issuer_id = i.id AND c.id = $2
  LEFT JOIN clients source ON source.issuer_id = i.id AND source.id = $6
  LEFT JOIN users u ON u.issuer_id = i.id AND u.id = $3
  LEFT JOIN LATERAL (
    SELECT json_build_object('id', o.id, 'name', o.name, 'scopes', ${effectiveScopesSql},
      'groups', ARRAY(SELECT gm.group_id FROM organization_group_members gm WHERE gm.member_id = m.id ORDER BY 1)) AS membership
    FROM organization_members m JOIN organizations o ON o.id = m.org_id AND o.issuer_id = m.issuer_id
    WHERE m.issuer_id = i.id AND m.user_id = u.id AND m.org_id = $4 AND ${activeMembershipSql}
      AND ${mfaSatisfiedSql(`EXISTS (SELECT 1 FROM sessions s
        WHERE s.issuer_id = i.id AND s.id = $5 AND s.user_id = u.id AND 'mfa' = ANY(s.amr))`)}
  ) member ON true
  WHERE i.id = $1`

interface ExchangeFactsRow {
  status: string | null
  confidential: boolean
  settings: ClientSettings
  /**
   * Settings of the client that the subject token was issued to; null for a client without a row
   * (`sourceRestrictionOf`).
   */
  sourceSettings: ClientSettings | null
  userStatus: string | null
  membership: Membership | null
}

async function loadFacts(
  request: RequestContext,
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
): Promise<{ facts: ExchangeFacts; membership: Membership | null }> {
  const { context, runtime } = request
  const org = textParameter(ctx, 'org')
  // Text that cannot be an organization id must not reach the database.
  const orgId = org === undefined || unsafeInputError(org) || org.length > 128 ? null : org
  const { client_id: sourceId, sub, sid = null } = subject
  const values = [runtime.issuer.id, ctx.oidc.client!.clientId, sub, orgId, sid, sourceId]
  const [row] = await context.database.query<ExchangeFactsRow & Record<string, unknown>>(
    'idp-exchange-facts',
    factsText,
    values,
  )
  const claimedOrganizations = Array.isArray(subject['organizations'])
    ? (subject['organizations'] as { id?: unknown }[])
    : []
  const facts: ExchangeFacts = {
    now: toUnixSeconds(context.now()),
    actor: row?.status ? { status: row.status, confidential: row.confidential, settings: row.settings } : undefined,
    subject: {
      audiences: [subject.aud].flat(),
      scopes: (subject.scope ?? '').split(' ').filter(Boolean),
      exp: subject.exp,
      orgIds: claimedOrganizations.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
      orgId: subject.org_id,
      restriction: sourceRestrictionOf(request, sourceId, row?.sourceSettings ?? null),
    },
    userStatus: row?.userStatus ?? undefined,
    memberScopes: row?.membership?.scopes ?? null,
  }
  return { facts, membership: row?.membership ?? null }
}

/**
 * Returns which organizations the client that the subject token was issued to may see: none, if the client neither has
 * a row nor a metadata document.
 */
function sourceRestrictionOf(
  { runtime }: RequestContext,
  clientId: string,
  settings: ClientSettings | null,
): OrganizationRestriction {
  if (settings) return organizationRestrictionOf(settings)
  if (isClientIdUrl(clientId))
    return metadataDocumentRestriction(metadataDocumentPolicyOf(runtime.issuer.settings)?.organization_policy)
  return { organizationIds: [], selectedOnly: false }
}

function exchangeError(error: ExchangeError, description: string): errors.OIDCProviderError {
  switch (error) {
    case 'unauthorized_client':
      return new errors.UnauthorizedClient(description)
    case 'invalid_target':
      return new errors.InvalidTarget(description)
    case 'invalid_grant':
      return new errors.InvalidGrant(description)
    case 'invalid_scope':
      return new errors.InvalidScope(description, '')
    case 'invalid_request':
      return new errors.InvalidRequest(description)
  }
}

/**
 * Issues the access token (rule 5): for the user and session of the subject token and the target audience, with this
 * client as the actor and one organization.
 */
async function issueExchangedToken(
  request: RequestContext,
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
  { audience, scopes, orgId, lifetime, key }: AllowedExchange,
  membership: Membership,
): Promise<void> {
  const { provider } = ctx.oidc
  const client = ctx.oidc.client!
  const scopeText = scopes.join(' ')
  const { sid, sub, auth_time, acr } = subject
  const token = new (provider.AccessToken as unknown as new (payload: object) => AccessToken)({
    accountId: sub,
    client,
    scope: scopeText,
    ...(sid === undefined ? {} : { sid }),
    expiresIn: lifetime,
  })
  token.jkt = key
  const format = jwtResourceServer(client, { audience, scope: scopeText, lifetime })
  token.resourceServer = new provider.ResourceServer(audience, format)
  const visibleMembership = { ...membership, scopes }
  const customClaims = customClaimReader(request, clientRowOf(client), {
    userId: sub,
    sessionId: sid ?? null,
    memberships: [visibleMembership],
    selectedOrgId: orgId,
  })
  addExtraClaims(token, {
    ...(await customClaims('access_token')),
    ...(auth_time === undefined ? {} : { auth_time }),
    ...(acr === undefined ? {} : { acr }),
    act: { sub: client.clientId },
    organizations: [visibleMembership],
    org_id: orgId,
  })
  const value = await token.save()
  recordTokenExchanged(request, ctx, subject, { audience, scopes, orgId, jti: token.jti })
  ctx.body = {
    access_token: value,
    issued_token_type: ACCESS_TOKEN,
    token_type: token.tokenType,
    expires_in: lifetime,
    scope: scopeText,
  }
}

function recordTokenExchanged(
  { runtime, unitOfWork }: RequestContext,
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
  { audience, scopes, orgId, jti }: { audience: string; scopes: string[]; orgId: string; jti: string },
): void {
  const { id: issuerId, accountId } = runtime.issuer
  const { id: clientId, name } = clientRowOf(ctx.oidc.client!)
  const { sub: userId, sid: sessionId = null, jti: subjectJti, client_id: subject_client_id } = subject
  unitOfWork.addChange((tx) =>
    recordEvent(withMachineActor(tx, { type: 'client', id: clientId, name, accountId, issuerId }), 'token.exchanged', {
      accountId,
      issuerId,
      orgId,
      userId,
      clientId,
      sessionId,
      target: { type: 'token', id: jti },
      data: { resource: audience, scopes, subject_client_id, subject_jti: subjectJti },
    }),
  )
}
