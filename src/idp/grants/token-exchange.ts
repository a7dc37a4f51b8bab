/**
 * Token exchange (RFC 8693) in the profile of spec 4.18: a service that a person called gets a short token of that
 * person for one other service, in one organization, for no more than all concerned allow.
 */
import { errors } from 'oidc-provider'
import { gateFault } from '../../kernel/gate.js'
import { seconds } from '../../kernel/time.js'
import { effectiveScopesSql } from '../../resources/authority.js'
import {
  decideExchange,
  type ExchangeDecision,
  type ExchangeError,
  type ExchangeFacts,
} from '../../resources/clients/exchange-policy.js'
import {
  documentRestriction,
  type OrganizationRestriction,
  restrictionOf,
} from '../../resources/clients/organization-restriction.js'
import type { ClientSettings } from '../../resources/clients/settings.js'
import { emit } from '../../resources/events/events.js'
import { documentPolicyOf } from '../../resources/issuers/settings.js'
import { countsSql, type Membership, provedSql } from '../../resources/organizations/membership.js'
import { type AccessTokenClaims, verifyAccessToken } from '../../resources/sessions/access-token.js'
import { rowOf } from '../client.js'
import { isAddress } from '../documents/address.js'
import { type AccessToken, type OpenIdContext, param } from '../library.js'
import { asMachine, scope } from '../scope.js'
import { addClaims, signedTokens } from '../tokens.js'
import type { Grant } from './grant.js'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * Not part of the profile (rule 2), nor is a credential in the body (rule 1). A client_id is none: many libraries send it
 * beside Basic, and the library refuses one that differs.
 */
const foreign = [
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'audience',
  'actor_token',
  'actor_token_type',
]

type Granted = ExchangeDecision & { error: null }

export const tokenExchange: Grant = {
  parameters: ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope', 'org'],
  repeatable: [],
  ours: true,
  async handle(ctx) {
    // 1. Refuse what is not of the profile.
    refuseForeign(ctx)
    // 2. Verify the subject token, and that nothing has ended it.
    const subject = await verifySubject(param(ctx, 'subject_token'))
    // 3. Load what is so now: the actor, the user, the membership.
    const { facts, membership } = await loadFacts(ctx, subject)
    // 4. Decide.
    const request = { resource: param(ctx, 'resource'), scope: param(ctx, 'scope'), org: param(ctx, 'org') }
    const decision = decideExchange(request, facts)
    if (decision.error !== null) throw refusal(decision.error, decision.description)
    // 5. Mint.
    await mint(ctx, subject, decision, membership!)
  },
}

/** Rules 1 and 2. @throws InvalidClientAuth, InvalidRequest */
function refuseForeign(ctx: OpenIdContext): void {
  if (!/^basic /i.test(ctx.get('authorization'))) throw new errors.InvalidClientAuth('client_secret_basic is required')
  const body = ctx.oidc.body ?? {}
  const stranger = foreign.find((name) => body[name])
  if (stranger !== undefined) throw new errors.InvalidRequest(`${stranger} is not part of this exchange`)
  if (param(ctx, 'subject_token_type') !== ACCESS_TOKEN) {
    throw new errors.InvalidRequest(`subject_token_type must be ${ACCESS_TOKEN}`)
  }
  const asked = param(ctx, 'requested_token_type')
  if (asked !== undefined && asked !== ACCESS_TOKEN) {
    throw new errors.InvalidRequest(`requested_token_type must be ${ACCESS_TOKEN}`)
  }
}

/**
 * Rules 3 and 4: the living access token of a person at this issuer, as it was given to a client that the person signed
 * in to. RFC 8693 2.2.2 calls every other one an invalid request.
 * @throws InvalidRequest
 */
async function verifySubject(token: string | undefined): Promise<AccessTokenClaims> {
  if (token === undefined) throw new errors.InvalidRequest('subject_token is required')
  const { context, runtime } = scope()
  const live = await verifyAccessToken(context, token)
  if (live?.issuerId !== runtime.issuer.id) throw new errors.InvalidRequest('subject_token is no access token in force')
  const { claims, personalToken } = live
  if (claims.sub === claims.client_id || personalToken !== null) {
    throw new errors.InvalidRequest('subject_token is not one that a person signed in for')
  }
  if (claims['act'] !== undefined) throw new errors.InvalidRequest('subject_token has been exchanged already')
  return claims
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
    WHERE m.issuer_id = i.id AND m.user_id = u.id AND m.org_id = $4 AND ${countsSql}
      AND ${provedSql(`EXISTS (SELECT 1 FROM sessions s
        WHERE s.issuer_id = i.id AND s.id = $5 AND s.user_id = u.id AND 'mfa' = ANY(s.amr))`)}
  ) member ON true
  WHERE i.id = $1`

interface Row {
  status: string | null
  confidential: boolean
  settings: ClientSettings
  /** Of the client that the subject token was issued to; null for a metadata document. */
  sourceSettings: ClientSettings | null
  userStatus: string | null
  membership: Membership | null
}

async function loadFacts(
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
): Promise<{ facts: ExchangeFacts; membership: Membership | null }> {
  const { context, runtime } = scope()
  const org = param(ctx, 'org')
  // What cannot be an id does not reach the database.
  const orgId = org === undefined || gateFault(org) || org.length > 128 ? null : org
  const { client_id: sourceId, sub, sid = null } = subject
  const values = [runtime.issuer.id, ctx.oidc.client!.clientId, sub, orgId, sid, sourceId]
  const [row] = await context.tools.query<Row & Record<string, unknown>>('idp-exchange-facts', factsText, values)
  const named = Array.isArray(subject['organizations']) ? (subject['organizations'] as { id?: unknown }[]) : []
  const facts: ExchangeFacts = {
    now: seconds(context.now()),
    actor: row?.status ? { status: row.status, confidential: row.confidential, settings: row.settings } : undefined,
    subject: {
      audiences: [subject.aud].flat(),
      scopes: (subject.scope ?? '').split(' ').filter(Boolean),
      exp: subject.exp,
      orgIds: named.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
      orgId: subject.org_id,
      restriction: restrictionOfSource(sourceId, row?.sourceSettings ?? null),
    },
    userStatus: row?.userStatus ?? undefined,
    memberScopes: row?.membership?.scopes ?? null,
  }
  return { facts, membership: row?.membership ?? null }
}

/** A client that is neither registered nor a metadata document may learn of nothing. */
function restrictionOfSource(clientId: string, settings: ClientSettings | null): OrganizationRestriction {
  if (settings) return restrictionOf(settings)
  if (isAddress(clientId))
    return documentRestriction(documentPolicyOf(scope().runtime.issuer.settings)?.organization_policy)
  return { organizationIds: [], selectedOnly: false }
}

function refusal(error: ExchangeError, description: string): errors.OIDCProviderError {
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

/** Rule 5: the same person and session, another audience, this actor, one organization. */
async function mint(
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
  { audience, scopes, orgId, lifetime }: Granted,
  membership: Membership,
): Promise<void> {
  const { provider } = ctx.oidc
  const client = ctx.oidc.client!
  const scopeText = scopes.join(' ')
  const { sid, sub, auth_time } = subject
  const token = new (provider.AccessToken as unknown as new (payload: object) => AccessToken)({
    accountId: sub,
    client,
    scope: scopeText,
    ...(sid === undefined ? {} : { sid }),
    expiresIn: lifetime,
  })
  const format = signedTokens(client, { audience, scope: scopeText, lifetime })
  token.resourceServer = new provider.ResourceServer(audience, format)
  addClaims(token, {
    ...(auth_time === undefined ? {} : { auth_time }),
    act: { sub: client.clientId },
    organizations: [{ ...membership, scopes }],
    org_id: orgId,
  })
  const value = await token.save()
  tell(ctx, subject, { audience, scopes, orgId, jti: token.jti })
  ctx.body = {
    access_token: value,
    issued_token_type: ACCESS_TOKEN,
    token_type: 'Bearer',
    expires_in: lifetime,
    scope: scopeText,
  }
}

function tell(
  ctx: OpenIdContext,
  subject: AccessTokenClaims,
  { audience, scopes, orgId, jti }: { audience: string; scopes: string[]; orgId: string; jti: string },
): void {
  const { runtime, writes } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const { id: clientId, name } = rowOf(ctx.oidc.client!)
  const { sub: userId, sid: sessionId = null, jti: from, client_id: subject_client_id } = subject
  writes.change((inside) =>
    emit(asMachine(inside, { type: 'client', id: clientId, name, accountId, issuerId }), 'token.exchanged', {
      accountId,
      issuerId,
      orgId,
      userId,
      clientId,
      sessionId,
      target: { type: 'token', id: jti },
      data: { resource: audience, scopes, subject_client_id, subject_jti: from },
    }),
  )
}
