/** Issuers (docs/contract.md#issuers): identity providers with their own users, keys and policies. */
import { randomBytes } from 'node:crypto'
import { ApiError, invalidField } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { mergePatch } from '../../kernel/merge-patch.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Issuer, type Prisma } from '../../platform/postgres/database.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfAllPrincipals, requireAuthorityOfIssuer, requireGrantableScopes } from '../authority.js'
import { requireClaimAuthority } from '../claims/claim-authority.js'
import { deleteClientsOf } from '../clients/clients.js'
import { requireNotConsoleResource } from '../console-path.js'
import { unassignDomainsOf } from '../domains/domains.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  type InAccount,
  type InIssuer,
  newestFirst,
  requireAccount,
  requireIssuer,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import { createRules, type IssuerStatus, updateRules } from './issuer.js'
import {
  defaultIssuerSettings,
  isFapi2,
  issuerSettingsOf,
  issuerSettingsRules,
  unmanagedClientScopes,
} from './settings.js'
import { claimKeyPairs, publishInitialKeys } from './signing-keys.js'
import { hasWeakerSettings } from './weaker-settings.js'

/**
 * Lists the issuers of an account, newest first. With `search`, lists issuers whose name begins with the text or whose
 * id is the text, in the order of their names.
 * @throws invalid_request, not_found for the account
 */
export async function listIssuers(
  context: Context,
  { accountId }: InAccount,
  request: PageRequest & { search?: string | null },
): Promise<Page<Issuer>> {
  const limit = checkPageLimit(request)
  const searchOptions = { table: 'issuers', prefix: 'iss', where: { accountId }, and: `status <> 'deleted'` } as const
  const found = await searchNames(context, searchOptions, request.search, request)
  const rows = await context.db.issuer.findMany({
    where: {
      AND: [{ accountId, status: { not: 'deleted' } }, found?.where ?? whereOlderThanCursor('iss', request.cursor)],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

/** @throws not_found */
export const getIssuer = requireIssuer

/**
 * Creates an issuer and its signing keys.
 * @throws invalid_request, not_found for the account, insufficient_scope for scopes that the caller cannot grant to
 *   clients with a metadata document, forbidden for the status `suspended` unless the caller is an operator
 */
export async function createIssuer(context: Context, { accountId }: InAccount, input: unknown): Promise<Issuer> {
  const { links, metadata, settings: requestedSettings, ...values } = checkInput(createRules, input)
  const settings = checkInput(issuerSettingsRules, mergePatch(defaultIssuerSettings, requestedSettings), ['settings'])
  for (const scopesOf of unmanagedClientScopes) requireGrantableScopes(context, scopesOf(settings))
  requireClaimAuthority(context, undefined, settings)
  checkStatusChange(context, values.status, 'active')
  await requireAccount(context, { accountId })
  const pairs = await claimKeyPairs(context)
  return transaction(context, async (tx) => {
    const issuer = await tx.db.issuer.create({
      data: {
        ...newRow('iss', tx.now()),
        accountId,
        ...values,
        links: links as Prisma.InputJsonObject,
        settings: settings as Prisma.InputJsonObject,
        metadata: metadata as Prisma.InputJsonObject,
        usernameKey: tx.encryptor.encrypt(randomBytes(32).toString('base64')),
      },
    })
    await publishInitialKeys(tx, { accountId, issuerId: issuer.id }, pairs)
    await recordEvent(tx, 'issuer.created', { ...issuerEventSubject(issuer), data: { name: issuer.name } })
    return issuer
  })
}

/**
 * Updates an issuer. `settings` is a JSON Merge Patch (RFC 7396); other fields are replaced
 * (docs/contract.md#request-bodies). Weaker `security` or `signup` settings require the authority of the issuer's
 * users, and enabling the issuer requires the authority of all its principals (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, forbidden, not_found, precondition_failed, conflict for changing the
 *   status of the console issuer to another value than `active`
 */
export async function updateIssuer(
  context: Context,
  path: InIssuer,
  input: unknown,
  ifMatch?: string | null,
): Promise<Issuer> {
  const { settings, metadata, links, ...values } = checkInput(updateRules, input)
  return updateIssuerRow(context, path, ifMatch, 'issuer.updated', async (issuer, tx) => {
    const merged = settings && checkInput(issuerSettingsRules, mergePatch(issuer.settings, settings), ['settings'])
    const before = issuerSettingsOf(issuer)
    if (merged)
      for (const scopesOf of unmanagedClientScopes) requireGrantableScopes(context, scopesOf(merged), scopesOf(before))
    if (merged) requireClaimAuthority(context, before, merged)
    if (values.status === 'active' && issuer.status !== 'active')
      await requireAuthorityOfAllPrincipals(tx, path.issuerId)
    if (merged && hasWeakerSettings(before, merged)) await requireAuthorityOfIssuer(tx, path.issuerId)
    checkStatusChange(context, values.status, issuer.status)
    if (values.status !== undefined && values.status !== 'active')
      await requireNotConsoleResource(tx, 'issuer_id', issuer.id, `be ${values.status}`)
    if (merged && isFapi2(merged)) await requireNotConsoleResource(tx, 'issuer_id', issuer.id, 'have the profile fapi2')
    return {
      ...values,
      ...(merged && { settings: merged as Prisma.InputJsonObject }),
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
      ...(links && { links: links as Prisma.InputJsonObject }),
    }
  })
}

/**
 * Deletes an issuer softly (docs/contract.md#states-and-transitions): sign-ins fail, its endpoints return 404, its
 * clients are deleted, and its domains are no longer assigned to it.
 * @throws not_found, precondition_failed, conflict for the console issuer
 */
export async function deleteIssuer(context: Context, path: InIssuer, ifMatch?: string | null): Promise<void> {
  await updateIssuerRow(
    context,
    path,
    ifMatch,
    'issuer.deleted',
    async ({ id }, tx) => {
      await requireNotConsoleResource(tx, 'issuer_id', id, 'be deleted')
      return { status: 'deleted', deletedAt: tx.now() }
    },
    async (tx) => {
      await deleteClientsOf(tx, path)
      await unassignDomainsOf(tx, path)
    },
  )
}

function updateIssuerRow(
  context: Context,
  path: InIssuer,
  ifMatch: string | null | undefined,
  type: 'issuer.updated' | 'issuer.deleted',
  change: (
    issuer: Issuer,
    context: Context,
  ) => Prisma.IssuerUncheckedUpdateManyInput | Promise<Prisma.IssuerUncheckedUpdateManyInput>,
  cascade?: (context: Context) => Promise<void>,
): Promise<Issuer> {
  const { accountId, issuerId } = path
  return updateWithOptimisticLock<Issuer, Prisma.IssuerUncheckedUpdateManyInput>(context, {
    resourceName: 'issuer',
    table: 'issuers',
    ifMatch,
    read: (tx) => tx.db.issuer.findFirst({ where: { id: issuerId, accountId, status: { not: 'deleted' } } }),
    computeChanges: change,
    write: async (tx, version, data) =>
      (await tx.db.issuer.updateManyAndReturn({ where: { id: issuerId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, row) => {
      await cascade?.(tx)
      await recordEvent(tx, type, { ...issuerEventSubject(row), changes: changesBetween('issuer', before, row) })
      await notify(tx, 'issuer', issuerId)
    },
  })
}

const issuerEventSubject = ({ accountId, id }: Issuer) => ({ accountId, issuerId: id, target: { type: 'issuer', id } })

/**
 * Checks that the caller may set a status. Only operators can suspend an issuer or end its suspension, and only
 * `deleteIssuer` sets the status `deleted`.
 * @param before the current status; `active` for a new issuer
 * @throws forbidden, invalid_request
 */
function checkStatusChange(context: Context, status: IssuerStatus | undefined, before: string): void {
  if (status === undefined || status === before) return
  if (status === 'deleted')
    throw invalidField('status', 'invalid_value', 'cannot be set to deleted. Delete the issuer instead.')
  if ((status === 'suspended' || before === 'suspended') && !context.actor.operator) {
    throw new ApiError('forbidden', 'Only an operator can suspend an issuer or end its suspension.')
  }
}

/**
 * Loads the newest issuers of several accounts in one query.
 * @returns a page per account, in the order of `accountIds`
 */
export async function newestIssuersOf(
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
  return accountIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Loads issuers by id for DataLoader; null for an unknown or deleted issuer. */
export async function issuersOf(context: Context, issuerIds: readonly string[]): Promise<(Issuer | null)[]> {
  const where = { id: { in: [...issuerIds] }, status: { not: 'deleted' } }
  const byId = new Map((await context.db.issuer.findMany({ where })).map((row) => [row.id, row]))
  return issuerIds.map((id) => byId.get(id) ?? null)
}
