/** Clients (docs/contract.md#clients): the OAuth 2.0 and OpenID Connect applications of an issuer. */
import { badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { mergePatch } from '../../kernel/merge-patch.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import type { Client, Prisma } from '../../platform/postgres/database.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireClaimAuthority } from '../claims/claim-authority.js'
import { requireNotConsoleResource } from '../console-path.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { initialSecrets, resolveSecret, rotateSecrets, type StoredSecret } from '../keys/rotating-secret.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { requireRecentSignIn } from '../recent-sign-in.js'
import {
  type InIssuer,
  newestFirst,
  requireIssuer,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import { changesAuthentication, requireUsableAuthenticationMethod, usesPrivateKeyJwt } from './authentication-method.js'
import { type ClientFilter, type ClientPath, createRules, updateRules } from './client.js'
import { requireGrantableClientScopes, requireTokenExchangeAuthority } from './client-authority.js'
import { requireAllowedRedirectUris } from './redirect-uri-rules.js'
import { type ClientSettings, checkClientSettings, clientSettingsOf } from './settings.js'

/**
 * Lists the clients of an issuer, newest first. With `search`, lists clients whose name begins with the text or whose
 * id is the text, in the order of their names.
 * @param filter `status`: deleted clients are listed only with the status `deleted`. `name`: a substring of the name in
 *   upper or lower case, for which all clients of the issuer may be read.
 * @throws invalid_request, not_found for the issuer
 */
export async function listClients(context: Context, path: InIssuer, filter: ClientFilter): Promise<Page<Client>> {
  const { accountId, issuerId } = path
  const limit = checkPageLimit(filter)
  const notDeletedCondition = filter.status ? {} : { and: `status <> 'deleted'` }
  const where = { accountId, issuerId, status: filter.status }
  const found = await searchNames(
    context,
    { table: 'clients', prefix: 'cli', where, ...notDeletedCondition },
    filter.search,
    filter,
  )
  const rows = await context.db.client.findMany({
    where: {
      AND: [
        { accountId, issuerId, ...whereIssuerNotDeleted },
        { status: filter.status ?? { not: 'deleted' } },
        filter.status === 'deleted' ? whereDeletedClientReadable(context) : {},
        filter.name ? { name: { contains: filter.name.replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' } } : {},
        found?.where ?? whereOlderThanCursor('cli', filter.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, path)
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

/** Prisma filter: the client was deleted within the retention period of deleted clients. */
const whereDeletedClientReadable = (context: Context) => ({
  deletedAt: { gt: context.now() - limits.deletedClientRetention },
})

const findClient = (context: Context, { accountId, issuerId, clientId }: ClientPath) =>
  context.db.client.findFirst({
    where: { id: clientId, accountId, issuerId, status: { not: 'deleted' }, ...whereIssuerNotDeleted },
  })

/** @throws not_found, also for deleted clients */
export async function getClient(context: Context, path: ClientPath): Promise<Client> {
  const client = await findClient(context, path)
  if (!client) throw notFound('client')
  return client
}

export interface ClientWithSecret extends Client {
  /**
   * The secret in plain text, which later responses do not contain; null for a public client, and for a client that
   * authenticates with `private_key_jwt`.
   */
  secret: string | null
}

/**
 * Registers a client. A confidential client gets the secret in the input or a generated one, unless it authenticates with
 * `private_key_jwt`.
 * @param eventData values of `eventDataFields` for the event
 * @throws invalid_request, insufficient_scope, not_found
 */
export async function createClient(
  context: Context,
  path: InIssuer,
  input: unknown,
  eventData: Record<string, unknown> = {},
): Promise<ClientWithSecret> {
  const { secret: requestedSecret, metadata, ...values } = checkInput(createRules, input)
  const settings = checkClientSettings(values.confidential, mergePatch({}, values.settings))
  await requireGrantableClientScopes(context, { ...path, confidential: values.confidential }, settings)
  requireTokenExchangeAuthority(context, undefined, settings)
  requireClaimAuthority(context, undefined, settings)
  if (!values.confidential && requestedSecret !== null) {
    throw invalidField('secret', 'not_allowed', 'is only allowed for confidential clients.')
  }
  if (usesPrivateKeyJwt(settings) && requestedSecret !== null)
    throw invalidField('secret', 'not_allowed', 'is not allowed with token_endpoint_auth_method private_key_jwt.')
  const hasSecret = values.confidential && !usesPrivateKeyJwt(settings)
  const secret = hasSecret ? resolveSecret('secret', requestedSecret) : null
  return transaction(context, async (tx) => {
    const issuer = await requireIssuer(tx, path)
    requireAllowedRedirectUris(issuer, settings)
    requireUsableAuthenticationMethod(tx, issuer, settings)
    await checkOrganizations(tx, path, settings)
    const client = await tx.db.client.create({
      data: {
        ...newRow('cli', tx.now()),
        accountId: path.accountId,
        issuerId: path.issuerId,
        ...values,
        settings: settings as Prisma.InputJsonObject,
        secrets: (secret === null ? [] : initialSecrets(secret, tx.now())) as unknown as Prisma.InputJsonArray,
        status: 'active',
        metadata: metadata as Prisma.InputJsonObject,
      },
    })
    await recordEvent(tx, 'client.created', {
      ...clientEventSubject(client),
      data: { name: client.name, ...eventData },
    })
    return { ...client, secret }
  })
}

/**
 * Updates a client. `settings` is a JSON Merge Patch (RFC 7396), and the merged settings are validated. Enabling a
 * disabled client validates its stored redirect URIs again (docs/contract.md#redirect-uri-registration,
 * docs/contract.md#redirect-uri-rules-of-an-issuer) and requires that the caller has the
 * platform scopes of the client (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict for disabling the client of the
 *   console
 */
export async function updateClient(
  context: Context,
  path: ClientPath,
  input: unknown,
  ifMatch?: string | null,
): Promise<Client> {
  const { settings, metadata, ...values } = checkInput(updateRules, input)
  return updateClientRow(context, path, 'client.updated', ifMatch, async (client, tx) => {
    if (values.status === 'disabled') await requireNotConsoleResource(tx, 'client_id', client.id, 'be disabled')
    const before = clientSettingsOf(client)
    const isEnabling = client.status === 'disabled' && values.status === 'active'
    const merged =
      settings || isEnabling ? checkClientSettings(client.confidential, mergePatch(before, settings ?? {})) : undefined
    if (merged) {
      const isCredentialChange = changesAuthentication(before, merged)
      await requireGrantableClientScopes(tx, client, merged, isEnabling || isCredentialChange ? undefined : before)
      if (isCredentialChange) requireRecentSignIn(context)
      requireTokenExchangeAuthority(context, before, merged)
      requireClaimAuthority(context, before, merged)
      const issuer = await requireIssuer(tx, path)
      requireAllowedRedirectUris(issuer, merged)
      requireUsableAuthenticationMethod(tx, issuer, merged, before)
      await checkOrganizations(tx, path, merged, before)
    }
    return {
      ...values,
      ...(merged && { settings: merged as Prisma.InputJsonObject }),
      // A secret that was valid before must not become valid again if the method changes back.
      ...(merged && usesPrivateKeyJwt(merged) && { secrets: [] }),
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
    }
  })
}

/**
 * Deletes a client softly: new requests fail, and the issued tokens of users stay valid until they expire
 * (docs/contract.md#states-and-transitions). Users' tokens of a disabled client are invalid and become valid again when
 * the client is deleted, so deleting a disabled client requires its scopes, as enabling it does.
 * @throws conflict for the client of the console, insufficient_scope, not_found, precondition_failed
 */
export async function deleteClient(context: Context, path: ClientPath, ifMatch?: string | null): Promise<void> {
  await updateClientRow(context, path, 'client.deleted', ifMatch, async (client, tx) => {
    await requireNotConsoleResource(tx, 'client_id', client.id, 'be deleted')
    if (client.status === 'disabled') await requireGrantableClientScopes(tx, client, clientSettingsOf(client))
    return { status: 'deleted', deletedAt: tx.now() }
  })
}

/**
 * Deletes all clients of an issuer, and the initial access tokens with which others could register. Call it in the
 * transaction that deletes the issuer.
 */
export async function deleteClientsOf(context: Context, { issuerId }: InIssuer): Promise<void> {
  const now = context.now()
  await context.db.initialAccessToken.deleteMany({ where: { issuerId } })
  const rows = await context.db.client.updateManyAndReturn({
    where: { issuerId, status: { not: 'deleted' } },
    data: { status: 'deleted', deletedAt: now, updatedAt: now },
  })
  for (const client of rows) await recordEvent(context, 'client.deleted', clientEventSubject(client))
}

/**
 * Rotates the secret of a client. The old secret stays valid for `limits.secretRotationOverlap`.
 * @throws invalid_request for a public client and for a client that authenticates with `private_key_jwt`; insufficient_scope if the client has scopes that the caller lacks,
 *   because the caller could act as the client; not_found
 */
export async function rotateClientSecret(context: Context, path: ClientPath): Promise<ClientWithSecret> {
  const secret = resolveSecret('secret', null)
  const client = await updateClientRow(context, path, 'client.secret.rotated', undefined, async (row, tx) => {
    if (!row.confidential) throw badRequest('This client is public and has no secret to rotate.')
    if (usesPrivateKeyJwt(clientSettingsOf(row)))
      throw badRequest(
        'This client authenticates with private_key_jwt and has no secret. Change settings.openid.jwks or jwks_uri to replace its keys.',
      )
    await requireGrantableClientScopes(tx, row, clientSettingsOf(row))
    return {
      secrets: rotateSecrets(
        row.secrets as unknown as StoredSecret[],
        secret,
        context.now(),
      ) as unknown as Prisma.InputJsonArray,
    }
  })
  return { ...client, secret }
}

function updateClientRow(
  context: Context,
  path: ClientPath,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (
    client: Client,
    context: Context,
  ) => Prisma.ClientUncheckedUpdateManyInput | Promise<Prisma.ClientUncheckedUpdateManyInput>,
): Promise<Client> {
  return updateWithOptimisticLock<Client, Prisma.ClientUncheckedUpdateManyInput>(context, {
    resourceName: 'client',
    table: 'clients',
    ifMatch,
    read: (tx) => findClient(tx, path),
    computeChanges: change,
    write: async (tx, version, data) =>
      (await tx.db.client.updateManyAndReturn({ where: { id: path.clientId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, client) => {
      await recordEvent(tx, type, { ...clientEventSubject(client), changes: changesBetween('client', before, client) })
      await notify(tx, 'client', client.id)
    },
  })
}

const clientEventSubject = ({ accountId, issuerId, id }: Client) => ({
  accountId,
  issuerId,
  clientId: id,
  target: { type: 'client', id },
})

/**
 * Requires that organizations which a change adds to the settings belong to the issuer of the client
 * (docs/contract.md#identifiers-in-bodies). Existing entries are not checked, because their organizations may have been
 * deleted since they were added.
 * @param before the settings before the change; undefined for a new client
 * @throws invalid_request
 */
async function checkOrganizations(
  context: Context,
  path: InIssuer,
  after: ClientSettings,
  before?: ClientSettings,
): Promise<void> {
  const idsOf = (settings?: ClientSettings) => settings?.restrictions?.organizations?.allowed_org_ids ?? []
  const ids = idsOf(after)
  const added = ids.filter((id) => !idsOf(before).includes(id))
  if (added.length === 0) return
  const known = await context.db.organization.findMany({
    where: { issuerId: path.issuerId, id: { in: added }, status: { not: 'deleted' } },
    select: { id: true },
  })
  const unknownId = added.find((id) => !known.some((row) => row.id === id))
  if (unknownId !== undefined) {
    const field = `settings.restrictions.organizations.allowed_org_ids[${ids.indexOf(unknownId)}]`
    throw invalidField(field, 'unknown_organization', 'must be the id of an organization of this issuer.')
  }
}

/** Loads the newest clients of several issuers in one query. */
export async function newestClientsOf(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<Client>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, clients: { where: { status: { not: 'deleted' } }, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.clients]))
  return issuerIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/**
 * Loads clients by id for DataLoader, also deleted clients that lists with the status `deleted` show; null for another
 * id, such as the URL of a client with a metadata document.
 */
export async function clientsOf(context: Context, clientIds: readonly string[]): Promise<(Client | null)[]> {
  const rows = await context.db.client.findMany({
    where: {
      id: { in: [...clientIds] },
      OR: [{ status: { not: 'deleted' } }, whereDeletedClientReadable(context)],
      ...whereIssuerNotDeleted,
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return clientIds.map((id) => byId.get(id) ?? null)
}
