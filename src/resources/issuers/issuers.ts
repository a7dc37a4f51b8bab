/** Issuers (spec 2.3, 4.4, section 3): identity providers with their own user pool, keys and policies. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { ApiError, invalidField } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { mergePatch } from '../../kernel/merge.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Issuer, type Prisma, transaction } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { mayGrant, requireAuthorityOfAllIn, requireAuthorityOfIssuer } from '../authority.js'
import { deleteClientsOf } from '../clients/clients.js'
import { refuseAtConsole } from '../console-place.js'
import { unassignDomainsOf } from '../domains/domains.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { type InAccount, type InIssuer, newestFirst, older, requireAccount, requireIssuer } from '../place.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'
import { documentPolicyOf, issuerSettingsRules, newIssuerSettings, settingsOf } from './settings.js'
import { giveSigningKeys, takeKeyPairs } from './signing-keys.js'
import { weakens } from './weaker-settings.js'

export const issuerStatuses = ['active', 'disabled', 'suspended', 'deleted'] as const
export type IssuerStatus = (typeof issuerStatuses)[number]

const statusRule = z.enum(issuerStatuses, `must be one of ${issuerStatuses.join(', ')}.`)

const createRules = z.strictObject({
  name: rules.name,
  description: rules.description.optional(),
  links: rules.object.optional(),
  availableScopes: rules.scopes.optional(),
  status: statusRule.optional(),
  settings: rules.object.optional(),
  metadata: rules.metadata.optional(),
})

const updateRules = createRules.partial()

/** Newest first; with `search` by the beginning of a name, in the order of names. */
export async function listIssuers(
  context: Context,
  { accountId }: InAccount,
  request: PageRequest & { search?: string | null },
): Promise<Page<Issuer>> {
  const limit = limitOf(request)
  const names = { table: 'issuers', prefix: 'iss', where: { accountId }, and: `status <> 'deleted'` } as const
  const found = await searchNames(context, names, request.search, request)
  const rows = await context.db.issuer.findMany({
    where: { AND: [{ accountId, status: { not: 'deleted' } }, found?.where ?? older('iss', request.cursor)] },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

/** @throws not_found */
export const getIssuer = requireIssuer

/**
 * Makes an issuer together with its signing keys.
 * @throws invalid_request, not_found for the account
 */
export async function createIssuer(context: Context, { accountId }: InAccount, input: unknown): Promise<Issuer> {
  const values = check(createRules, input)
  const settings = check(issuerSettingsRules, mergePatch(newIssuerSettings, values.settings ?? {}), ['settings'])
  mayGrant(context, documentPolicyOf(settings)?.allowed_scopes ?? [])
  const status = writableStatus(context, values.status) ?? 'active'
  await requireAccount(context, { accountId })
  const pairs = await takeKeyPairs(context)
  return transaction(context, async (inside) => {
    const issuer = await inside.db.issuer.create({
      data: {
        ...newRow('iss', inside.now()),
        accountId,
        name: values.name,
        description: values.description ?? null,
        links: (values.links ?? {}) as Prisma.InputJsonObject,
        availableScopes: values.availableScopes ?? [],
        status,
        settings: settings as Prisma.InputJsonObject,
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        usernameKey: inside.sealer.seal(randomBytes(32).toString('base64')),
      },
    })
    await giveSigningKeys(inside, { accountId, issuerId: issuer.id }, pairs)
    await emit(inside, 'issuer.created', { ...aboutIssuer(issuer), data: { name: issuer.name } })
    return issuer
  })
}

/**
 * PATCH: settings by JSON Merge Patch, metadata and the rest replaced (decisions D29). A weaker `security` or `signup`
 * setting asks for the authority of the issuer's users (decisions D30); enabling it again, for that of all who act there.
 * @throws invalid_request, insufficient_scope, forbidden, not_found, precondition_failed, conflict for a status that
 * closes the console issuer
 */
export async function updateIssuer(
  context: Context,
  place: InIssuer,
  input: unknown,
  ifMatch?: string | null,
): Promise<Issuer> {
  const { settings, metadata, links, ...values } = check(updateRules, input)
  return reviseIssuer(context, place, ifMatch, 'issuer.updated', async (issuer, inside) => {
    const merged = settings && check(issuerSettingsRules, mergePatch(issuer.settings, settings), ['settings'])
    const before = documentPolicyOf(settingsOf(issuer))?.allowed_scopes
    if (merged) mayGrant(context, documentPolicyOf(merged)?.allowed_scopes ?? [], before)
    if (values.status === 'active' && issuer.status !== 'active') await requireAuthorityOfAllIn(inside, place.issuerId)
    if (merged && weakens(settingsOf(issuer), merged)) await requireAuthorityOfIssuer(inside, place.issuerId)
    const status = writableStatus(context, values.status, issuer.status)
    if (status !== undefined && status !== 'active')
      await refuseAtConsole(inside, 'issuer_id', issuer.id, `be ${status}`)
    return {
      ...values,
      ...(merged && { settings: merged as Prisma.InputJsonObject }),
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
      ...(links && { links: links as Prisma.InputJsonObject }),
    }
  })
}

/**
 * Soft delete (spec section 3): sign-ins fail, its addresses answer 404, its clients go with it.
 * @throws not_found, precondition_failed, conflict for the console issuer
 */
export async function deleteIssuer(context: Context, place: InIssuer, ifMatch?: string | null): Promise<void> {
  await reviseIssuer(
    context,
    place,
    ifMatch,
    'issuer.deleted',
    async ({ id }, now) => {
      await refuseAtConsole(now, 'issuer_id', id, 'be deleted')
      return { status: 'deleted', deletedAt: now.now() }
    },
    async (inside) => {
      await deleteClientsOf(inside, place)
      await unassignDomainsOf(inside, place)
    },
  )
}

function reviseIssuer(
  context: Context,
  place: InIssuer,
  ifMatch: string | null | undefined,
  type: 'issuer.updated' | 'issuer.deleted',
  change: (
    issuer: Issuer,
    context: Context,
  ) => Prisma.IssuerUncheckedUpdateManyInput | Promise<Prisma.IssuerUncheckedUpdateManyInput>,
  cascade?: (context: Context) => Promise<void>,
): Promise<Issuer> {
  const { accountId, issuerId } = place
  return revise<Issuer, Prisma.IssuerUncheckedUpdateManyInput>(context, {
    what: 'issuer',
    table: 'issuers',
    ifMatch,
    read: (now) => now.db.issuer.findFirst({ where: { id: issuerId, accountId, status: { not: 'deleted' } } }),
    change,
    write: async (now, version, data) =>
      (await now.db.issuer.updateManyAndReturn({ where: { id: issuerId, updatedAt: version }, data }))[0],
    also: async (inside, before, row) => {
      await cascade?.(inside)
      await emit(inside, type, { ...aboutIssuer(row), changes: changesBetween('issuer', before, row) })
      await announce(inside, 'issuer', issuerId)
    },
  })
}

const aboutIssuer = ({ accountId, id }: Issuer) => ({ accountId, issuerId: id, target: { type: 'issuer', id } })

/** Who may set which status (decisions D22): suspension belongs to operators, deletion to DELETE. */
function writableStatus(context: Context, status: IssuerStatus | undefined, before?: string): IssuerStatus | undefined {
  if (status === undefined || status === before) return status
  if (status === 'deleted') throw invalidField('status', 'invalid_value', 'cannot be set to deleted; use DELETE.')
  if ((status === 'suspended' || before === 'suspended') && !context.actor.operator) {
    throw new ApiError('forbidden', 'Only an operator can suspend an issuer or lift its suspension.')
  }
  return status
}

/** The first page of issuers of several accounts, in one query. */
export async function issuersOf(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<Issuer>[]> {
  const rows = await context.db.account.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...accountIds] } },
    select: {
      id: true,
      issuers: { where: { status: { not: 'deleted' } }, orderBy: newestFirst, take: limit + 1 },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.issuers]))
  return accountIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
