import { type AnyJson, type ApiClient, createApiClient } from './api.js'
import type { TestApp } from './start-app.js'

/** A tenant with an issuer. */
export interface Tenant {
  /** Required only by `createMachineClient`. */
  app?: TestApp
  accountId: string
  issuerId: string
  /** Path of the account, `/v1/accounts/…`. */
  A: string
  /** Path of the issuer, `/v1/accounts/…/issuers/…`. */
  I: string
  /** Calls the Core API with the first API key of the account, which has full authority over the account. */
  owner: ApiClient
}

/** Creates an account through GraphQL and an issuer with a password method through `/v1`. */
export async function createTenant(app: TestApp, name = 'Tenant'): Promise<Tenant> {
  const { owner, accountId } = await createAccount(app, name)
  const A = `/v1/accounts/${accountId}`
  const issuer = expectStatus(await owner.post(`${A}/issuers`, { name: `${name} issuer` }), 201)
  const I = `${A}/issuers/${issuer.data.id}`
  expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Password', method: 'password' }), 201)
  return { app, accountId, issuerId: issuer.data.id, A, I, owner }
}

/** Creates an account through GraphQL. `owner` calls the Core API with the first API key of the account. */
export async function createAccount(app: TestApp, name = 'Account'): Promise<{ owner: ApiClient; accountId: string }> {
  const response = await app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } apiKey { id secretPlain } } }',
    { input: { name } },
  )
  const { account, apiKey } = response.body.data.createAccount
  return { accountId: account.id, owner: createApiClient(app.baseUrl, { id: apiKey.id, secret: apiKey.secretPlain }) }
}

/**
 * Creates an API key of the account with these restrictions.
 * @param overrides further fields of the request
 * @returns a client of the Core API that uses the key
 */
export async function createRestrictedKey(
  { owner, A }: Tenant,
  restrictions: object,
  overrides: object = {},
): Promise<ApiClient & { keyId: string }> {
  const { data } = expectStatus(
    await owner.post(`${A}/api-keys`, { name: 'restricted', restrictions, ...overrides }),
    201,
  )
  return { ...createApiClient(owner.baseUrl, { id: data.id, secret: data.secret_plain }), keyId: data.id }
}

/** Creates a user of the issuer who can sign in with this password, and returns the user id. */
export async function createUser(
  { owner, I }: Tenant,
  username: string,
  password = 'correct horse battery staple',
): Promise<string> {
  const { data } = expectStatus(await owner.post(`${I}/users`, { username_type: 'email', username }), 201)
  expectStatus(await owner.post(`${I}/users/${data.id}/verifiers`, { type: 'password', name: null, password }), 201)
  return data.id
}

/** Creates a client of the Core API that uses a client credentials token of the issuer. The tenant needs `app`. */
export async function createMachineClient({ owner, I, issuerId, app }: Tenant, scopes: string[]): Promise<ApiClient> {
  const resource = owner.baseUrl
  const openid = { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [resource] }
  const client = { name: 'Machine', type: 'internal', confidential: true, settings: { openid, scopes } }
  const { id, secret } = expectStatus(await owner.post(`${I}/clients`, client), 201).data
  const response = await fetch(`${app?.idpUrl}/${issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  const text = await response.text()
  return createApiClient(
    owner.baseUrl,
    expectStatus({ status: response.status, text, body: JSON.parse(text) }, 200).access_token,
  )
}

/** Creates a client of the Core API that uses a new personal token of the user. */
export async function createPersonalTokenClient(
  { owner, I }: Tenant,
  userId: string,
  restrictions: object = {},
): Promise<ApiClient> {
  const body = { type: 'personal_token', name: 'script', restrictions }
  return createApiClient(
    owner.baseUrl,
    expectStatus(await owner.post(`${I}/users/${userId}/tokens`, body), 201).data.token_plain,
  )
}

/**
 * Returns the body of the response.
 * @throws Error with the text of the response if it has another status
 */
export function expectStatus(response: { status: number; text: string; body: AnyJson }, status: number): AnyJson {
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${response.text}`)
  return response.body
}
