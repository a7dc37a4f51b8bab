/** Clients (spec 2.5, 4.5, 4.16): the applications that authenticate users through an issuer. */
import { z } from 'zod'
import { badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { mergePatch } from '../../kernel/merge.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type Client, type Prisma, transaction } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { refuseAtConsole } from '../console-place.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { chosenSecret, firstSecret, rotated, type StoredSecret } from '../keys/rotating-secret.js'
import { type InIssuer, newestFirst, ofLivingIssuer, older, requireIssuer } from '../place.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'
import { mayChangeExchange, mayGrantAll } from './authority.js'
import { requireAllowedUris } from './redirect-uri-rules.js'
import { type ClientSettings, checkSettings, settingsOf } from './settings.js'

export const clientStatuses = ['active', 'disabled', 'deleted'] as const
export type ClientStatus = (typeof clientStatuses)[number]
export const clientTypes = ['internal', 'external'] as const

/** How long deleted clients can still be listed (spec section 8). */
export const DELETED_RETENTION = 31 * DAY

export interface ClientPlace extends InIssuer {
  clientId: string
}

const createRules = z.strictObject({
  name: rules.name,
  type: z.enum(clientTypes, 'must be internal or external.'),
  confidential: rules.boolean,
  settings: rules.object,
  description: rules.description.optional(),
  logoUrl: rules.url.optional(),
  secret: rules.text(256).nullable().optional(),
  metadata: rules.metadata.optional(),
})

const updateRules = z.strictObject({
  name: rules.name.optional(),
  status: z.enum(['active', 'disabled'], 'must be active or disabled.').optional(),
  description: rules.description.optional(),
  logoUrl: rules.url.optional(),
  settings: rules.object.optional(),
  metadata: rules.metadata.optional(),
})

/**
 * Newest first, with `search` by the beginning of a name in the order of names; deleted ones only when asked for by
 * status. `name` matches anywhere, in any case: where few do, all clients of the issuer are read.
 */
export async function listClients(
  context: Context,
  place: InIssuer,
  filter: { status?: string | null; name?: string | null; search?: string | null },
  request: PageRequest,
): Promise<Page<Client>> {
  const { accountId, issuerId } = place
  const limit = limitOf(request)
  const living = filter.status ? {} : { and: `status <> 'deleted'` }
  const where = { accountId, issuerId, status: filter.status }
  const found = await searchNames(
    context,
    { table: 'clients', prefix: 'cli', where, ...living },
    filter.search,
    request,
  )
  const rows = await context.db.client.findMany({
    where: {
      AND: [
        { accountId, issuerId, ...ofLivingIssuer },
        { status: filter.status ?? { not: 'deleted' } },
        filter.status === 'deleted' ? { deletedAt: { gt: context.now() - DELETED_RETENTION } } : {},
        filter.name ? { name: { contains: filter.name.replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' } } : {},
        found?.where ?? older('cli', request.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, place)
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

const find = (context: Context, { accountId, issuerId, clientId }: ClientPlace) =>
  context.db.client.findFirst({
    where: { id: clientId, accountId, issuerId, status: { not: 'deleted' }, ...ofLivingIssuer },
  })

/** @throws not_found for deleted ones too (decisions D29) */
export async function getClient(context: Context, place: ClientPlace): Promise<Client> {
  const client = await find(context, place)
  if (!client) throw notFound('client')
  return client
}

export interface ClientWithSecret {
  client: Client
  /** Shown once; null for a public client. */
  secret: string | null
}

/**
 * Registers a client. A confidential one gets a secret, its own or a new one, shown in this answer only.
 * @throws invalid_request, insufficient_scope, not_found
 */
export async function createClient(context: Context, place: InIssuer, input: unknown): Promise<ClientWithSecret> {
  const values = check(createRules, input)
  const settings = checkSettings(values.confidential, mergePatch({}, values.settings))
  await mayGrantAll(context, { ...place, confidential: values.confidential }, settings)
  mayChangeExchange(context, undefined, settings)
  if (!values.confidential && values.secret !== undefined && values.secret !== null) {
    throw invalidField('secret', 'not_allowed', 'belongs to confidential clients only.')
  }
  const secret = values.confidential ? chosenSecret('secret', values.secret) : null
  return transaction(context, async (inside) => {
    requireAllowedUris(await requireIssuer(inside, place), settings)
    await checkOrganizations(inside, place, settings)
    const client = await inside.db.client.create({
      data: {
        ...newRow('cli', inside.now()),
        accountId: place.accountId,
        issuerId: place.issuerId,
        name: values.name,
        type: values.type,
        confidential: values.confidential,
        settings: settings as Prisma.InputJsonObject,
        description: values.description ?? null,
        logoUrl: values.logoUrl ?? null,
        secrets: (secret === null ? [] : firstSecret(secret, inside.now())) as unknown as Prisma.InputJsonArray,
        status: 'active',
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
      },
    })
    await emit(inside, 'client.created', { ...aboutClient(client), data: { name: client.name } })
    return { client, secret }
  })
}

/**
 * PATCH: settings by JSON Merge Patch; the merged whole is checked. Enabling a disabled client checks its stored
 * callbacks again (spec 4.16 rule 5, decisions D34), and asks for its scopes (decisions D30).
 */
export async function updateClient(
  context: Context,
  place: ClientPlace,
  input: unknown,
  ifMatch?: string | null,
): Promise<Client> {
  const { settings, metadata, ...values } = check(updateRules, input)
  return reviseClient(context, place, 'client.updated', ifMatch, async (client, inside) => {
    if (values.status === 'disabled') await refuseAtConsole(inside, 'client_id', client.id, 'be disabled')
    const before = settingsOf(client)
    const enabling = client.status === 'disabled' && values.status === 'active'
    const merged =
      settings || enabling ? checkSettings(client.confidential, mergePatch(before, settings ?? {})) : undefined
    if (merged) {
      await mayGrantAll(inside, client, merged, enabling ? undefined : before)
      mayChangeExchange(context, before, merged)
      requireAllowedUris(await requireIssuer(inside, place), merged)
      await checkOrganizations(inside, place, merged, before)
    }
    return {
      ...values,
      ...(merged && { settings: merged as Prisma.InputJsonObject }),
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
    }
  })
}

/**
 * Soft delete: flows fail at once, issued tokens stay good until they expire (spec section 3). Those of a disabled client
 * are good again, so that asks for its scopes, as enabling it does.
 * @throws conflict for the console's client, insufficient_scope, not_found, precondition_failed
 */
export async function deleteClient(context: Context, place: ClientPlace, ifMatch?: string | null): Promise<void> {
  await reviseClient(context, place, 'client.deleted', ifMatch, async (client, inside) => {
    await refuseAtConsole(inside, 'client_id', client.id, 'be deleted')
    if (client.status === 'disabled') await mayGrantAll(inside, client, settingsOf(client))
    return { status: 'deleted', deletedAt: inside.now() }
  })
}

/** All clients of an issuer that is being deleted, in the transaction that deletes it. */
export async function deleteClientsOf(context: Context, { issuerId }: InIssuer): Promise<void> {
  const now = context.now()
  const rows = await context.db.client.updateManyAndReturn({
    where: { issuerId, status: { not: 'deleted' } },
    data: { status: 'deleted', deletedAt: now, updatedAt: now },
  })
  for (const client of rows) await emit(context, 'client.deleted', aboutClient(client))
}

/**
 * A new secret; the old one stays good for 15 minutes.
 * @throws invalid_request for a public client, insufficient_scope for one that may do more than the caller, who could
 * act as it from then on; not_found
 */
export async function rotateClientSecret(context: Context, place: ClientPlace): Promise<ClientWithSecret> {
  const secret = chosenSecret('secret', null)
  const client = await reviseClient(context, place, 'client.secret.rotated', undefined, async (row, inside) => {
    if (!row.confidential) throw badRequest('A public client has no secret to rotate.')
    await mayGrantAll(inside, row, settingsOf(row))
    return {
      secrets: rotated(
        row.secrets as unknown as StoredSecret[],
        secret,
        context.now(),
      ) as unknown as Prisma.InputJsonArray,
    }
  })
  return { client, secret }
}

function reviseClient(
  context: Context,
  place: ClientPlace,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (
    client: Client,
    context: Context,
  ) => Prisma.ClientUncheckedUpdateManyInput | Promise<Prisma.ClientUncheckedUpdateManyInput>,
): Promise<Client> {
  return revise<Client, Prisma.ClientUncheckedUpdateManyInput>(context, {
    what: 'client',
    table: 'clients',
    ifMatch,
    read: (now) => find(now, place),
    change,
    write: async (now, version, data) =>
      (await now.db.client.updateManyAndReturn({ where: { id: place.clientId, updatedAt: version }, data }))[0],
    also: async (inside, before, client) => {
      await emit(inside, type, { ...aboutClient(client), changes: changesBetween('client', before, client) })
      await announce(inside, 'client', client.id)
    },
  })
}

const aboutClient = ({ accountId, issuerId, id }: Client) => ({
  accountId,
  issuerId,
  clientId: id,
  target: { type: 'client', id },
})

/**
 * Organizations that settings come to name must be of the same issuer (security rule 7). One that stood there before
 * may have been deleted since, and is no fault of this change.
 */
async function checkOrganizations(
  context: Context,
  place: InIssuer,
  after: ClientSettings,
  before?: ClientSettings,
): Promise<void> {
  const idsOf = (settings?: ClientSettings) => settings?.restrictions?.organizations?.allowed_org_ids ?? []
  const ids = idsOf(after)
  const added = ids.filter((id) => !idsOf(before).includes(id))
  if (added.length === 0) return
  const known = await context.db.organization.findMany({
    where: { issuerId: place.issuerId, id: { in: added }, status: { not: 'deleted' } },
    select: { id: true },
  })
  const strange = added.find((id) => !known.some((row) => row.id === id))
  if (strange !== undefined) {
    const field = `settings.restrictions.organizations.allowed_org_ids[${ids.indexOf(strange)}]`
    throw invalidField(field, 'unknown_organization', 'must be the id of an organization of this issuer.')
  }
}

/** The first page of clients of several issuers, in one query. */
export async function clientsOf(
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
  return issuerIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
