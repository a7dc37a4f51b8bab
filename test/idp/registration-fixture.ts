/** Requests of clients that register themselves. */
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { type HttpRequestOptions, sendRequest } from '../setup/http-request.js'
import { type IdpResponse, REDIRECT_URI, type Realm, readResponse } from './realm.js'

/** Sets the policy of the issuer; other members of it keep their values. */
export async function setRegistrationPolicy(realm: Realm, policy: object): Promise<void> {
  const settings = { security: { openid_policy: { dynamic_registration: policy } } }
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
}

/** Metadata of a public client. */
export const publicMetadata = (change: object = {}) => ({
  client_name: 'Notes',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...change,
})

/** Sends a JSON request to the issuer, with a Bearer token. */
export async function sendJson(
  realm: Realm,
  path: string,
  {
    method = 'POST',
    token,
    body,
    headers = {},
  }: Omit<HttpRequestOptions, 'body'> & { token?: string | undefined; body?: unknown },
): Promise<IdpResponse> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return readResponse(
    await sendRequest(path.startsWith('http') ? path : `${realm.url}${path}`, {
      method,
      headers: {
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(text !== undefined && { body: text }),
    }),
  )
}

export const register = (realm: Realm, body: unknown = publicMetadata(), token?: string): Promise<IdpResponse> =>
  sendJson(realm, '/register', { body, token })

/** Registers a client and returns its client information. */
export async function registered(realm: Realm, body: unknown = publicMetadata(), token?: string): Promise<AnyJson> {
  const response = await register(realm, body, token)
  return expectStatus({ ...response, text: JSON.stringify(response.body) }, 201)
}

const createTokenText = `mutation ($accountId: ID!, $issuerId: ID!, $input: CreateInitialAccessTokenInput!) {
  createInitialAccessToken(accountId: $accountId, issuerId: $issuerId, input: $input) {
    id name maxUses uses status expiresAt lastUsedAt createdBy tokenPlain createdAt updatedAt } }`

/** Creates an initial access token through GraphQL. */
export async function createInitialAccessToken(
  { tenant }: Realm,
  input: object = {},
  api = tenant.owner,
): Promise<{ token: AnyJson; error: AnyJson }> {
  const { accountId, issuerId } = tenant
  const variables = { accountId, issuerId, input: { expiresIn: 3600, ...input } }
  const { body } = await api.graphql(createTokenText, variables)
  return { token: body.data?.createInitialAccessToken, error: body.errors?.[0] }
}

/** Creates an initial access token and returns its text. */
export const initialAccessToken = async (realm: Realm, input: object = {}): Promise<string> =>
  (await createInitialAccessToken(realm, input)).token.tokenPlain
