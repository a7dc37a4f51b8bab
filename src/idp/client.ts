/**
 * Clients as the library knows them, made of our rows: registered clients, and agents, which are clients that may do one
 * thing. The database is asked with every request, together with the state of the issuer, so that disabling either counts
 * at once in every process; but it sends a row only if that is another than the one that is known here.
 */
import { LRUCache } from 'lru-cache'
import Provider, { type ClientMetadata, errors } from 'oidc-provider'
import { isId } from '../kernel/ids.js'
import type { Context } from '../platform/context.js'
import type { Tools } from '../platform/database.js'
import type { Question } from '../platform/together.js'
import {
  documentRestriction,
  type OrganizationRestriction,
  restrictionOf,
} from '../resources/clients/organization-restriction.js'
import { redirectUriRulesOf, refusingRule } from '../resources/clients/redirect-uri-rules.js'
import {
  applicationType,
  type ClientSettings,
  grantTypesOf,
  isActor,
  TOKEN_EXCHANGE,
} from '../resources/clients/settings.js'
import { documentPolicyOf } from '../resources/issuers/settings.js'
import type { StoredSecret } from '../resources/keys/rotating-secret.js'
import { isAddress } from './documents/address.js'
import type { DocumentClient } from './documents/document.js'
import { documentClient, documentsEnabled } from './documents/index.js'
import type { OpenIdClient } from './library.js'
import type { IssuerFacts } from './runtime.js'
import { asMachine, scope } from './scope.js'
import type { Writes } from './writes.js'

export interface ClientRow {
  kind: 'client' | 'agent'
  id: string
  name: string
  confidential: boolean
  settings: ClientSettings
  /** An agent's carry the id of their verifier. */
  secrets: (StoredSecret & { id?: string })[]
  status: string
  /** A metadata document in place of a registration: the host it stands at, and the name it gives itself. */
  document?: { host: string; name: string | null }
}

/** Clients that a process remembers; one takes some 5 KB. */
const KNOWN_ROWS = 10_000
/** Tokens of agents live this long (spec section 8), in seconds. */
const AGENT_TOKEN_AGE = 300

/** With another version after every change. */
type KnownRow = ClientRow & { version: string }

/** The answer to both questions; there is none while an active issuer's row has the version that was known ($3). */
interface Answer extends Record<string, unknown> {
  issuerStatus: string | null
  version: string | null
  row: ClientRow | null
}

const client: Question = {
  name: 'idp-client',
  types: ['text', 'text', 'text'],
  shared: true,
  text: `
  SELECT i.status AS "issuerStatus", c.updated_at::text AS version,
    CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('kind', 'client', 'id', c.id, 'name', c.name,
      'confidential', c.confidential, 'settings', c.settings, 'secrets', c.secrets, 'status', c.status) END AS row
  FROM (SELECT) one LEFT JOIN issuers i ON i.id = $1 LEFT JOIN clients c ON c.issuer_id = i.id AND c.id = $2
  WHERE (i.status = 'active' AND c.updated_at::text = $3) IS NOT TRUE`,
}

const agent: Question = {
  name: 'idp-agent',
  types: ['text', 'text', 'text'],
  shared: true,
  text: `
  SELECT i.status AS "issuerStatus", v.version,
    CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('kind', 'agent', 'id', a.id, 'name', a.name, 'confidential', true,
      'settings', jsonb_build_object('scopes', a.scopes, 'default_access_token_age', ${AGENT_TOKEN_AGE},
        'openid', '{"application_type": "m2m", "grant_types": ["client_credentials"]}'::jsonb),
      'secrets', coalesce(v.secrets, '[]'), 'status', a.status) END AS row
  FROM (SELECT) one LEFT JOIN issuers i ON i.id = $1 LEFT JOIN agents a ON a.issuer_id = i.id AND a.id = $2
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('id', id, 'hash', hash, 'expires_at', null) ORDER BY id) AS secrets,
      concat(a.updated_at, ' ', string_agg(id, ' ' ORDER BY id)) AS version
    FROM agent_verifiers WHERE agent_id = a.id AND type = 'secret'
  ) v ON a.id IS NOT NULL
  WHERE (i.status = 'active' AND v.version = $3) IS NOT TRUE`,
}

/** A disabled or suspended issuer issues nothing (decisions D29); a deleted one is not there (spec section 3). */
function closed(status: string | null | undefined): errors.OIDCProviderError {
  const gone = !status || status === 'deleted'
  const error = new errors.OIDCProviderError(gone ? 404 : 403, gone ? 'not_found' : 'access_denied')
  error.error_description = gone ? 'There is no such issuer.' : 'This issuer does not issue anything at the moment.'
  error.allow_redirect = false
  return error
}

/**
 * The stored client, deleted ones too, or the one that a metadata document makes.
 * @throws OIDCProviderError when the issuer is closed, or the document is of no use
 */
export async function readClient(clientId: string): Promise<ClientRow | undefined> {
  const current = scope()
  const { context, runtime, foreseen } = current
  const isDocument = isAddress(clientId) && documentsEnabled(runtime.issuer.settings)
  // What cannot be an id does not reach the database.
  if (!isDocument && !/^[\x21-\x7e]{1,128}$/.test(clientId)) return undefined
  const issuerId = runtime.issuer.id
  const known = knownRows(context.tools)
  const key = `${issuerId} ${clientId}`
  const before = known.get(key)
  await foreseen?.answer
  // What this request has read already is not asked again.
  const { client: seen } = current
  if (seen?.id === clientId && seen.version === before?.version) {
    if (seen.issuerStatus !== 'active') throw closed(seen.issuerStatus)
    return before
  }
  const values = [issuerId, isDocument ? null : clientId, before?.version ?? 'none']
  const [answer] = await context.tools.ask<Answer>(isId('agt', clientId) ? agent : client, values)
  if (answer && answer.issuerStatus !== 'active') throw closed(answer.issuerStatus)
  if (isDocument) return documentRow(context, clientId)
  const found = answer ? keep(known, key, answer) : before
  if (found) current.client = { id: clientId, version: found.version, issuerStatus: 'active' }
  return found
}

/** The askers of one answer share one row, and with it the library's client that is made of it. */
function keep(known: LRUCache<string, KnownRow>, key: string, { version, row }: Answer): KnownRow | undefined {
  if (!version || !row) return undefined
  const other = known.get(key)
  if (other?.version === version) return other
  const read = { ...row, version }
  known.set(key, read)
  return read
}

/** Rows that were read by one process, by issuer and id. */
const rowsOf = new WeakMap<Tools, LRUCache<string, KnownRow>>()

function knownRows(tools: Tools): LRUCache<string, KnownRow> {
  let known = rowsOf.get(tools)
  if (!known) {
    known = new LRUCache({ max: KNOWN_ROWS })
    rowsOf.set(tools, known)
  }
  return known
}

/** @throws OIDCProviderError when the issuer is closed */
export async function requireOpen(): Promise<void> {
  const { context, runtime } = scope()
  const text = 'SELECT status FROM issuers WHERE id = $1'
  const [row] = await context.tools.query<{ status: string }>('idp-issuer-status', text, [runtime.issuer.id])
  if (row?.status !== 'active') throw closed(row?.status)
}

/**
 * A document as if it were registered: public, with no scope, audience or resource beyond everybody's, and with those of
 * its redirect URIs that the issuer's rules allow (decisions D34).
 */
async function documentRow(context: Context, address: string): Promise<ClientRow | undefined> {
  const { writes, runtime } = scope()
  const tried = answers.get(writes) ?? new Map<string, ReturnType<typeof documentClient>>()
  answers.set(writes, tried)
  const answer = tried.get(address) ?? documentClient(context, address)
  tried.set(address, answer)
  const document = await answer
  if (!document) return undefined
  const rows = documentRows.get(runtime.issuer) ?? new WeakMap<DocumentClient, ClientRow>()
  documentRows.set(runtime.issuer, rows)
  const made = rows.get(document)
  if (made) return made
  const { name, redirectUris, logoutUris, grantTypes } = document
  const { host } = new URL(address)
  const rules = redirectUriRulesOf(runtime.issuer)
  const allowed = (uris: string[]) => uris.filter((uri) => refusingRule(rules, uri) === undefined)
  const openid = {
    redirect_uris: allowed(redirectUris),
    post_logout_redirect_uris: allowed(logoutUris),
    grant_types: grantTypes,
  }
  const settings: ClientSettings = { openid: { application_type: 'native', ...openid } }
  // Pages call it by its host, which it cannot choose as it chooses its name.
  const about = { kind: 'client' as const, id: address, name: host, document: { host, name } }
  const row = { ...about, confidential: false, settings, secrets: [], status: 'active' }
  rows.set(document, row)
  return row
}

/** What one request was told: the library looks for a client again when it has not found it, and once is enough. */
const answers = new WeakMap<Writes, Map<string, ReturnType<typeof documentClient>>>()

/**
 * One row per document that was read, so that the library's client is made of it once. By the facts of the issuer, which
 * are new ones after each change of its settings.
 */
const documentRows = new WeakMap<IssuerFacts, WeakMap<DocumentClient, ClientRow>>()

const rows = new WeakMap<OpenIdClient, ClientRow>()

/** Our row behind the library's client. */
export function rowOf(client: OpenIdClient): ClientRow {
  const row = rows.get(client)
  if (!row) throw new Error('A client came from somewhere else than the database.')
  return row
}

/** Which organizations of a user this client may learn of, as its settings or the issuer's say now (decisions D33). */
export function organizationRestriction({ document, settings }: ClientRow): OrganizationRestriction {
  if (!document) return restrictionOf(settings)
  return documentRestriction(documentPolicyOf(scope().runtime.issuer.settings)?.organization_policy)
}

/** The library's `Client.find`. */
export function clientFinder(
  provider: Provider,
  grantTypes: readonly string[],
): (id: unknown) => Promise<OpenIdClient | undefined> {
  const made = new WeakMap<ClientRow, OpenIdClient>()
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => OpenIdClient
  return async (id) => {
    if (typeof id !== 'string') return undefined
    const row = await readClient(id)
    if (!row) return undefined
    // What a deleted client's users were given stays good at userinfo until it expires (spec section 3).
    const departed = row.status === 'deleted' && Provider.ctx?.oidc.route === 'userinfo'
    if (row.status !== 'active' && !departed) return undefined
    let client = made.get(row)
    if (!client) {
      client = new Client(metadataOf(row, grantTypes))
      made.set(row, client)
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
    // Required by the library, compared by nobody: see client-authentication.ts.
    ...(row.confidential ? { client_secret: 'kept as hashes' } : {}),
    grant_types: grantTypesOf(row).filter(
      (type) =>
        known.includes(type) &&
        (complete || type !== 'authorization_code') &&
        // Spec 5.2 rule 2, 4.18 rule 3: machines only.
        (type !== 'client_credentials' || (row.confidential && applicationType(row) === 'm2m')) &&
        (type !== TOKEN_EXCHANGE || isActor(row)),
    ),
    response_types: complete && grantTypesOf(row).includes('authorization_code') ? ['code'] : [],
    redirect_uris: redirectUris,
    id_token_signed_response_alg: openid.response_signature_alg ?? 'ES256',
  }
}

/** The same context, acting for the client that sent this request. */
export function asClient(context: Context, client: OpenIdClient): Context {
  const { kind: type, id, name } = rowOf(client)
  const { id: issuerId, accountId } = scope().runtime.issuer
  return asMachine(context, { type, id, name, accountId, issuerId })
}
