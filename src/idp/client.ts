/**
 * Clients as the library knows them, made of our rows. The row is read with every request, together with the state of
 * its issuer, so that disabling either counts at once in every process; the library's object is made once per version.
 */
import { LRUCache } from 'lru-cache'
import Provider, { type ClientMetadata, errors } from 'oidc-provider'
import type { Question } from '../platform/together.js'
import { applicationType, type ClientSettings, grantTypesOf } from '../resources/clients/settings.js'
import { fits, type StoredSecret } from '../resources/keys/rotating-secret.js'
import type { OpenIdClient } from './library.js'
import { redirectAllowed } from './redirects.js'
import { scope } from './scope.js'

export interface ClientRow {
  id: string
  name: string
  confidential: boolean
  settings: ClientSettings
  secrets: StoredSecret[]
  status: string
  updatedAt: number
}

const rowQuestion: Question = {
  name: 'idp-client',
  types: ['text', 'text'],
  shared: true,
  text: `
  SELECT i.status AS "issuerStatus", c.id, c.name, c.confidential, c.settings, c.secrets, c.status, c.updated_at AS "updatedAt"
  FROM issuers i LEFT JOIN clients c ON c.issuer_id = i.id AND c.id = $2
  WHERE i.id = $1`,
}

/** A disabled or suspended issuer issues nothing (decisions D29); a deleted one is not there (spec section 3). */
function closed(status: string | undefined): errors.OIDCProviderError {
  const gone = status === undefined || status === 'deleted'
  const error = new errors.OIDCProviderError(gone ? 404 : 403, gone ? 'not_found' : 'access_denied')
  error.error_description = gone ? 'There is no such issuer.' : 'This issuer does not issue anything at the moment.'
  error.allow_redirect = false
  return error
}

/**
 * The stored client, deleted ones too.
 * @throws OIDCProviderError when the issuer is closed
 */
export async function readClient(clientId: string): Promise<ClientRow | undefined> {
  // What cannot be an id does not reach the database.
  if (!/^[\x21-\x7e]{1,128}$/.test(clientId)) return undefined
  const { context, runtime } = scope()
  const values = [runtime.issuer.id, clientId]
  const [row] = await context.tools.ask<ClientRow & { issuerStatus: string }>(rowQuestion, values)
  if (row?.issuerStatus !== 'active') throw closed(row?.issuerStatus)
  return row.id === null ? undefined : row
}

const rows = new WeakMap<OpenIdClient, ClientRow>()

/** Our row behind the library's client. */
export function rowOf(client: OpenIdClient): ClientRow {
  const row = rows.get(client)
  if (!row) throw new Error('A client came from somewhere else than the database.')
  return row
}

/** The library's `Client.find` for one provider. */
export function clientFinder(
  provider: Provider,
  grantTypes: readonly string[],
): (id: unknown) => Promise<OpenIdClient | undefined> {
  const made = new LRUCache<string, OpenIdClient>({ max: 500 })
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => OpenIdClient
  return async (id) => {
    if (typeof id !== 'string') return undefined
    const row = await readClient(id)
    if (!row) return undefined
    // What a deleted client's users were given stays good at userinfo until it expires (spec section 3).
    const departed = row.status === 'deleted' && Provider.ctx?.oidc.route === 'userinfo'
    if (row.status !== 'active' && !departed) return undefined
    const key = `${row.id} ${row.updatedAt}`
    let client = made.get(key)
    if (!client) {
      client = new Client(metadataOf(row, grantTypes))
      made.set(key, client)
      rows.set(client, row)
    }
    return client
  }
}

/** A client in the terms of OpenID Connect Dynamic Client Registration 1.0, which the library speaks. */
function metadataOf(row: ClientRow, known: readonly string[]): ClientMetadata {
  const { openid = {} } = row.settings
  const redirectUris = openid.redirect_uris ?? []
  // An incomplete client, without callbacks, can do everything but sign people in.
  const complete = redirectUris.length > 0
  return {
    client_id: row.id,
    client_name: row.name,
    application_type: applicationType(row) === 'native' ? 'native' : 'web',
    token_endpoint_auth_method: row.confidential ? 'client_secret_basic' : 'none',
    // Required by the library, compared by nobody: see compareSecret.
    ...(row.confidential ? { client_secret: 'kept as hashes' } : {}),
    grant_types: grantTypesOf(row).filter(
      (type) => known.includes(type) && (complete || type !== 'authorization_code'),
    ),
    response_types: complete && grantTypesOf(row).includes('authorization_code') ? ['code'] : [],
    redirect_uris: redirectUris,
    id_token_signed_response_alg: openid.response_signature_alg ?? 'ES256',
  }
}

/** Is this one of the client's secrets in force? After a rotation there are two for a while (spec 5.1 rule 3). */
export const compareSecret = (client: OpenIdClient, secret: string): boolean =>
  fits(rowOf(client).secrets, secret, scope().context.now())

/** Spec 4.17: exact, but a public native client may vary the port of a loopback callback. */
export function mayRedirectTo(client: OpenIdClient, uri: string): boolean {
  const row = rowOf(client)
  const portMayVary = !row.confidential && applicationType(row) === 'native'
  return redirectAllowed(client.redirectUris ?? [], uri, portMayVary)
}
