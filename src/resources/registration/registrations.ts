/**
 * Dynamic client registration (RFC 7591, RFC 7592, docs/contract.md#dynamic-client-registration). A registered client is
 * an ordinary client of the issuer, with a row in `client_registrations`.
 */
import { type Actor, unauthenticated } from '../../kernel/context.js'
import { ApiError } from '../../kernel/errors.js'
import { etagOf } from '../../kernel/etag.js'
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import { HOUR, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import type { Client, ClientRegistration, InitialAccessToken } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { areClientAssertionsEnabled } from '../clients/authentication-method.js'
import { type ClientWithSecret, createClient, deleteClient, updateClient } from '../clients/clients.js'
import { clientSettingsOf, grantTypesOf } from '../clients/settings.js'
import { dynamicRegistrationPolicyOf, type IssuerSettings } from '../issuers/settings.js'
import { matchesSecret, type StoredSecret } from '../keys/rotating-secret.js'
import type { InIssuer } from '../resource-path.js'
import {
  ClientMetadataError,
  parseClientMetadata,
  type RegistrationPolicy,
  toClientMetadataError,
} from './client-metadata.js'
import { credentialKind } from './credential-kind.js'
import { countInitialAccessTokenUse, lockIssuer } from './initial-access-tokens.js'
import { removeUnusedClient } from './purge.js'

/** The issuer at which a client registers. */
export interface RegistrationIssuer extends InIssuer {
  readonly settings: IssuerSettings
}

/** A registered client with its registration. */
export interface RegisteredClientRow extends Client {
  readonly registration: ClientRegistration
}

/** A new client with its registration access token, which is not stored. */
export interface NewRegistration {
  readonly client: ClientWithSecret
  readonly registrationAccessToken: string
}

/**
 * Registers a client. The client, its registration and the use of the initial access token commit together.
 * @param token the initial access token of the request; undefined for an open registration
 * @returns undefined if another registration has used the token up
 * @throws ClientMetadataError, too_many_requests if the issuer has too many registered clients
 */
export async function registerClient(
  context: Context,
  issuer: RegistrationIssuer,
  metadata: unknown,
  token: InitialAccessToken | undefined,
): Promise<NewRegistration | undefined> {
  const { accountId, issuerId, settings } = issuer
  const policy = policyOf(settings, token?.allowedScopes, token !== undefined)
  const { openid, scopes, ...client } = parseClientMetadata(metadata, policy)
  const actorFields = token && {
    type: 'initial_access_token' as const,
    authType: 'token' as const,
    id: token.id,
    name: token.name,
  }
  const actorContext = withRegistrationActor(context, issuer, actorFields)
  const registrationAccessToken = randomSecret()
  return withMetadataErrors(() =>
    transaction(actorContext, async (tx) => {
      await lockIssuer(tx, issuer)
      if (token && !(await countInitialAccessTokenUse(tx, token.id))) return undefined
      await requireWithinQuota(tx, issuer, token !== undefined)
      const input = { ...client, type: 'external', settings: { openid, scopes } }
      const initialAccessTokenId = token?.id ?? null
      const eventData = { registration: 'dynamic', initial_access_token_id: initialAccessTokenId }
      const created = await createClient(tx, issuer, input, eventData)
      const { id: clientId, createdAt } = created
      const tokenHash = sha256(registrationAccessToken)
      await tx.db.clientRegistration.create({
        data: { clientId, accountId, issuerId, tokenHash, initialAccessTokenId, createdAt },
        select: { clientId: true },
      })
      return { client: created, registrationAccessToken }
    }),
  )
}

/** Finds the client of a registration access token; undefined for another token, and for a deleted client. */
export async function findRegisteredClient(
  context: Context,
  { accountId, issuerId }: InIssuer,
  clientId: string,
  token: string,
): Promise<RegisteredClientRow | undefined> {
  const row = await context.db.client.findFirst({
    where: {
      id: clientId,
      accountId,
      issuerId,
      status: { not: 'deleted' },
      registration: { is: { tokenHash: sha256(token) } },
    },
    include: { registration: true },
  })
  return row?.registration ? { ...row, registration: row.registration } : undefined
}

/** Members of responses that an update must not contain (RFC 7592 section 2.2). */
const readOnlyMembers = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
]

/**
 * Replaces the metadata of a client (RFC 7592 section 2.2). Settings that are not client metadata stay. An update cannot
 * add scopes or the grant client_credentials.
 * @throws ClientMetadataError; precondition_failed if the client changes concurrently; insufficient_scope if the change widens the use of a platform scope that the issuer does
 *   not allow registered clients
 */
export async function updateRegisteredClient(
  context: Context,
  issuer: RegistrationIssuer,
  client: RegisteredClientRow,
  metadata: unknown,
): Promise<Client> {
  requireSameClient(context, client, metadata)
  const stored = clientSettingsOf(client).scopes ?? []
  const policy = policyOf(issuer.settings, stored, grantTypesOf(client).includes('client_credentials'))
  const { openid, scopes, confidential, ...values } = parseClientMetadata(metadata, policy)
  if (credentialKind({ confidential, settings: { openid } }) !== credentialKind(client)) {
    throw new ClientMetadataError(
      'invalid_client_metadata',
      'token_endpoint_auth_method: cannot change between none, a client secret and private_key_jwt; register a new client.',
    )
  }
  const changes = { ...values, settings: { openid, scopes } }
  // With If-Match, scopes that an administrator takes away concurrently do not come back.
  const ifMatch = etagOf(client)
  return withMetadataErrors(() =>
    updateClient(withClientActor(context, issuer, client), pathOf(client), changes, ifMatch),
  )
}

/** @throws ClientMetadataError */
function requireSameClient(context: Context, client: Client, metadata: unknown): void {
  const invalid = (message: string) => new ClientMetadataError('invalid_client_metadata', message)
  if (!isObject(metadata)) throw invalid('The body must be a JSON object with client metadata.')
  if (metadata['client_id'] !== client.id) throw invalid('client_id: is required and must be the id of this client.')
  const readOnly = readOnlyMembers.find((name) => metadata[name] !== undefined)
  if (readOnly !== undefined) throw invalid(`${readOnly}: must not be sent; leave it out.`)
  const secret = metadata['client_secret']
  if (secret === undefined || secret === null) return
  const secrets = client.secrets as unknown as StoredSecret[]
  if (typeof secret !== 'string' || !matchesSecret(secrets, secret, context.now()))
    throw invalid('client_secret: must be the current secret of the client, which cannot be changed; or leave it out.')
}

/**
 * Deletes a client (RFC 7592 section 2.3). A client that no user has signed in to and that cannot use client credentials
 * is removed at once, so that repeated registrations do not fill the database. Others stay in lists, as after a deletion
 * by an administrator.
 */
export async function deleteRegisteredClient(
  context: Context,
  issuer: RegistrationIssuer,
  client: RegisteredClientRow,
): Promise<void> {
  await transaction(withClientActor(context, issuer, client), async (tx) => {
    await deleteClient(tx, pathOf(client))
    await removeUnusedClient(tx, client.id)
  })
}

const pathOf = ({ accountId, issuerId, id }: Client) => ({ accountId, issuerId, clientId: id })

/**
 * Returns what a client may have.
 * @param scopes the scopes to which the client is limited, in addition to the current settings of the issuer; undefined
 *   for an open registration
 */
const policyOf = (
  settings: IssuerSettings,
  scopes: readonly string[] | undefined,
  allowsClientCredentials: boolean,
): RegistrationPolicy => ({
  allowedScopes: dynamicRegistrationPolicyOf(settings).allowedScopes.filter((name) => scopes?.includes(name) ?? true),
  allowsClientCredentials,
  allowsPrivateKeyJwt: areClientAssertionsEnabled({ settings }),
})

/**
 * Requires that the issuer can have another registered client. Open registrations are counted separately, so that
 * anonymous callers cannot use up the quota of initial access tokens. Deleted clients count while their rows exist.
 * @throws too_many_requests
 */
async function requireWithinQuota(tx: Context, { issuerId }: InIssuer, hasToken: boolean): Promise<void> {
  const where = { issuerId, initialAccessTokenId: hasToken ? { not: null } : null }
  const max = hasToken ? limits.maxDynamicClientsPerIssuer : limits.maxOpenDynamicClientsPerIssuer
  if ((await tx.db.clientRegistration.count({ where })) < max) return
  throw new ApiError(
    'too_many_requests',
    `An issuer can have at most ${max} clients that registered ${hasToken ? 'with' : 'without'} an initial access token.`,
    { headers: { 'Retry-After': String(HOUR / SECOND) } },
  )
}

/**
 * Returns the context in which a registration acts. Its scopes are those that the issuer allows registered clients: an
 * administrator with these scopes has allowed them (docs/contract.md#authority-for-changes).
 */
function withRegistrationActor(
  context: Context,
  { accountId, issuerId, settings }: RegistrationIssuer,
  fields: Partial<Actor> = {},
): Context {
  const scopes = dynamicRegistrationPolicyOf(settings).allowedScopes
  return { ...context, actor: { ...unauthenticated, ...fields, accountId, issuerId, scopes } }
}

const withClientActor = (context: Context, issuer: RegistrationIssuer, { id, name }: Client): Context =>
  withRegistrationActor(context, issuer, { type: 'client', authType: 'client', id, name })

async function withMetadataErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toClientMetadataError(error)
  }
}
