/**
 * The token preview (docs/contract.md#token-preview): creates the claims of the tokens that a user would get from a
 * client, with the functions that issue real tokens. Nothing is signed, stored or recorded.
 */
import { errors } from 'oidc-provider'
import { badRequest, invalidField } from '../../kernel/errors.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import type { CustomClaim } from '../../resources/claims/custom-claim-rules.js'
import type { OmittedClaim } from '../../resources/claims/custom-claims.js'
import {
  type DroppedClaim,
  ORGANIZATION_SCOPE,
  type TokenPreview,
  type TokenPreviewer,
  type TokenPreviewRequest,
} from '../../resources/issuers/token-preview.js'
import { findAccount } from '../account/account.js'
import { type AccountRow, accountColumnsSql } from '../account/account-row.js'
import { clientRowOf } from '../client/client.js'
import {
  checkScopes,
  codeScopes,
  createEmptyKeyStore,
  issueTokensOfCode,
  resolveResources,
  runDetached,
  userinfoOf,
} from '../hooks/detached-issuance.js'
import { loadRuntime } from '../issuer/runtime.js'
import { createProvider } from '../provider.js'
import type { OpenIdClient, OpenIdContext, OpenIdProvider } from '../provider-types.js'
import { type RequestContext, runInRequestContext } from '../request-context.js'
import { checkOrganization } from '../session/authorization-parameters.js'
import { addScopesAndClaims } from '../session/existing-grant.js'
import { UnitOfWork } from '../store/unit-of-work.js'
import { configuredClaims, isOrganizationClaim } from './custom-claims.js'
import { OFFLINE_ACCESS } from './tokens.js'

/** Creates the function that previews tokens. */
export function createTokenPreviewer(gatehouse: Gatehouse): TokenPreviewer {
  const provider = createProvider(gatehouse)
  return async (context, input, { hidesOrganizations }) => {
    const runtime = await loadRuntime(context, input.issuerId)
    if (!runtime) throw badRequest('The issuer is deleted.')
    const omissions: OmittedClaim[] = []
    const tokenUser = await readSignedInUser(context, input)
    if (!tokenUser) throw invalidField('userId', 'invalid_value', 'is not an active user, so the sign-in would fail.')
    const request: RequestContext = {
      context,
      runtime: { ...runtime, keyStore: createEmptyKeyStore() },
      provider,
      // It is never committed.
      unitOfWork: new UnitOfWork(runtime.issuer.id, undefined),
      tokenUser,
      onOmittedClaim: (omission) => omissions.push(omission),
      hidesOrganizations,
    }
    return runInRequestContext(request, async () => {
      const client = await findSignInClient(request, input.clientId)
      const params = {
        client_id: client.clientId,
        response_type: 'code',
        scope: input.scope ?? 'openid',
        resource: input.resource ?? undefined,
        org: input.orgId ?? undefined,
      }
      const preview = await runDetached(provider, client, params, (ctx) => previewOf(request, ctx, client, input))
      const shown = { ...preview, dropped: [...preview.dropped, ...describeOmissions(omissions)] }
      return hidesOrganizations ? withoutOrganizations(shown, configuredClaims(request, clientRowOf(client))) : shown
    })
  }
}

/**
 * Reads an active user as the user of a session with the selected organization, who signed in with multi-factor
 * authentication.
 */
const signedInUserText = `
  SELECT ${accountColumnsSql('true')}
  FROM users u CROSS JOIN (SELECT NULL::text AS id, NULL::bigint AS expires_at, $3::text AS org_id, '{mfa}'::text[] AS amr) s
  WHERE u.issuer_id = $1 AND u.id = $2 AND u.status = 'active'`

async function readSignedInUser(
  context: Context,
  { issuerId, userId, orgId }: TokenPreviewRequest,
): Promise<AccountRow | undefined> {
  const values = [issuerId, userId, orgId ?? null]
  const [user] = await context.query<AccountRow & Record<string, unknown>>(
    'token-preview-user',
    signedInUserText,
    values,
  )
  return user
}

async function findSignInClient({ provider }: RequestContext, clientId: string): Promise<OpenIdClient> {
  const client = await asInvalidField('clientId', () => provider.Client.find(clientId))
  if (!client) throw invalidField('clientId', 'invalid_value', 'is a disabled client, which gets no tokens.')
  if (!client.grantTypeAllowed('authorization_code')) {
    const message = 'is a client that signs in no users: it needs a redirect URI and the grant type authorization_code.'
    throw invalidField('clientId', 'invalid_value', message)
  }
  return client
}

/** Steps of a sign-in: authorization request, code exchange, userinfo request. */
async function previewOf(
  request: RequestContext,
  ctx: OpenIdContext,
  client: OpenIdClient,
  { userId, orgId }: TokenPreviewRequest,
): Promise<TokenPreview> {
  const { provider } = request
  // 1. The authorization request.
  const requestedScopes = [...ctx.oidc.requestParamScopes]
  await asInvalidField('scope', () => checkScopes(ctx))
  await asInvalidField('resource', () => resolveResources(provider, ctx))
  if (orgId != null) await asInvalidField('orgId', async () => checkOrganization(request, client, orgId))
  const grant = new provider.Grant({ accountId: userId, clientId: client.clientId })
  addScopesAndClaims(ctx, grant)
  const scopes = codeScopes(ctx, grant)
  if (scopes.length === 0)
    throw invalidField('scope', 'invalid_value', 'has no known scope; request openid or a scope of the client.')
  const code = createCode(provider, { client, userId, scopes, resources: Object.keys(ctx.oidc.resourceServers ?? {}) })
  // 2. The code exchange. The parameter `resource` is optional there.
  Object.assign(ctx.oidc, { params: {} })
  const response = await asInvalidField('orgId', () => issueTokensOfCode(provider, ctx, code, grant))
  const accessToken = claimsOf(response.access_token)
  // 3. The userinfo request, with the account that oidc-provider reads for an access token.
  let userinfo: Record<string, unknown> | null = null
  if (scopes.includes('openid')) {
    ctx.oidc.entity('Account', (await findAccount(request, userId, { kind: 'AccessToken' }, client))!)
    userinfo = await userinfoOf(ctx)
  }
  const dropped = requestedScopes.filter((name) => !scopes.includes(name)).map((name) => droppedScope(client, name))
  return { accessToken, idToken: response.id_token ? claimsOf(response.id_token) : null, userinfo, dropped }
}

function createCode(
  provider: OpenIdProvider,
  input: { client: OpenIdClient; userId: string; scopes: string[]; resources: string[] },
): object {
  const { client, userId, scopes, resources } = input
  return new provider.AuthorizationCode({
    accountId: userId,
    client,
    scope: scopes.join(' '),
    ...(resources.length === 0 ? {} : { resource: resources.length === 1 ? resources[0]! : resources }),
  } as never)
}

/** Ids of tokens that do not exist are left out. */
const tokenIds = ['jti', 'at_hash']

function claimsOf(jwt: string): Record<string, unknown> {
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !tokenIds.includes(name)))
}

/** Throws an error of oidc-provider as an error of a field. */
async function asInvalidField<T>(field: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof errors.InvalidGrant)
      throw invalidField(field, 'invalid_value', 'is not an organization in which the user has an active membership.')
    if (error instanceof errors.OIDCProviderError)
      throw invalidField(field, 'invalid_value', error.error_description ?? error.error)
    throw error
  }
}

const membershipClaimNames = ['organizations', 'org_id']

/**
 * Leaves out the memberships. The result does not depend on the memberships of the user.
 * @param configured the custom claims of the client; those of organizations are not in the preview
 */
function withoutOrganizations(
  { accessToken, idToken, userinfo, dropped }: TokenPreview,
  configured: readonly CustomClaim[],
): TokenPreview {
  const names = [...membershipClaimNames, ...configured.filter(isOrganizationClaim).map(({ name }) => name)]
  const reason = `Reading it requires the scope ${ORGANIZATION_SCOPE}.`
  const filter = (claims: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => !membershipClaimNames.includes(name)))
  return {
    accessToken: filter(accessToken),
    idToken: idToken && filter(idToken),
    userinfo: userinfo && filter(userinfo),
    dropped: [...dropped, ...names.map((name) => ({ name, reason }))],
  }
}

function droppedScope(client: OpenIdClient, name: string): DroppedClaim {
  if (name === OFFLINE_ACCESS)
    return { name, reason: 'The client may not use refresh tokens: add refresh_token to its grant types.' }
  const reason = clientRowOf(client).settings.scopes?.includes(name)
    ? 'The scope is not one of the requested resource.'
    : 'The client may not request this scope: add it to settings.scopes of the client.'
  return { name, reason }
}

const reasons: Record<OmittedClaim['reason'], string> = {
  no_value: 'The source has no value for this user.',
  no_organization: 'The source needs a selected organization that the client may see.',
  too_large: 'The custom claims would be larger than 8 KiB.',
}

/** Combines the places from which a claim was left out for the same reason. */
function describeOmissions(omissions: readonly OmittedClaim[]): DroppedClaim[] {
  const places = new Map<string, { name: string; reason: OmittedClaim['reason']; places: Set<string> }>()
  for (const { name, reason, place } of omissions) {
    const key = `${name} ${reason}`
    const entry = places.get(key) ?? { name, reason, places: new Set<string>() }
    places.set(key, entry)
    entry.places.add(place)
  }
  return [...places.values()].map(({ name, reason, places }) => ({
    name,
    reason: `Left out of ${[...places].join(', ')}. ${reasons[reason]}`,
  }))
}
