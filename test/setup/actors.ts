import { type Api, apiAs, type Loose } from './api.js'
import type { TestApp } from './start-app.js'

/** A tenant with an issuer, as most tests need one. */
export interface Tenant {
  /** The application that it lives in, when a test has made it there. */
  app?: TestApp
  accountId: string
  issuerId: string
  /** `/v1/accounts/…` and `/v1/accounts/…/issuers/…`. */
  A: string
  I: string
  /** The account's first key: all authority in it. */
  owner: Api
}

/** Makes an account through GraphQL and an issuer with a password method through `/v1`. */
export async function makeTenant(app: TestApp, name = 'Tenant'): Promise<Tenant> {
  const { owner, accountId } = await makeAccount(app, name)
  const A = `/v1/accounts/${accountId}`
  const issuer = must(await owner.post(`${A}/issuers`, { name: `${name} issuer` }), 201)
  const I = `${A}/issuers/${issuer.data.id}`
  must(await owner.post(`${I}/auth-methods`, { name: 'Password', method: 'password' }), 201)
  return { app, accountId, issuerId: issuer.data.id, A, I, owner }
}

export async function makeAccount(app: TestApp, name = 'Account'): Promise<{ owner: Api; accountId: string }> {
  const made = await app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } apiKey { id secretPlain } } }',
    { input: { name } },
  )
  const { account, apiKey } = made.body.data.createAccount
  return { accountId: account.id, owner: apiAs(app.baseUrl, { id: apiKey.id, secret: apiKey.secretPlain }) }
}

/** A key of the account with these restrictions. */
export async function keyWith(
  { owner, A }: Tenant,
  restrictions: object,
  more: object = {},
): Promise<Api & { keyId: string }> {
  const { data } = must(await owner.post(`${A}/api-keys`, { name: 'restricted', restrictions, ...more }), 201)
  return { ...apiAs(owner.baseUrl, { id: data.id, secret: data.secret_plain }), keyId: data.id }
}

/** A user of the issuer who can sign in with this password. */
export async function makeUser(
  { owner, I }: Tenant,
  username: string,
  password = 'correct horse battery staple',
): Promise<string> {
  const { data } = must(await owner.post(`${I}/users`, { username_type: 'email', username }), 201)
  must(await owner.post(`${I}/users/${data.id}/verifiers`, { type: 'password', name: null, password }), 201)
  return data.id
}

/** The Core API as a machine of the issuer sees it, by client_credentials. */
export async function machineWith({ owner, I, issuerId, app }: Tenant, scopes: string[]): Promise<Api> {
  const resource = owner.baseUrl
  const openid = { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [resource] }
  const client = { name: 'Machine', type: 'internal', confidential: true, settings: { openid, scopes } }
  const { id, secret } = must(await owner.post(`${I}/clients`, client), 201).data
  const response = await fetch(`${app?.idpUrl}/${issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  const text = await response.text()
  return apiAs(owner.baseUrl, must({ status: response.status, text, body: JSON.parse(text) }, 200).access_token)
}

/** The Core API as a script of a user sees it, by a personal token. */
export async function scriptOf({ owner, I }: Tenant, userId: string, restrictions: object = {}): Promise<Api> {
  const body = { type: 'personal_token', name: 'script', restrictions }
  return apiAs(owner.baseUrl, must(await owner.post(`${I}/users/${userId}/tokens`, body), 201).data.token_plain)
}

/** The body of an answer that must have this status; shows the whole answer when it has not. */
export function must(answer: { status: number; text: string; body: Loose }, status: number): Loose {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`)
  return answer.body
}
