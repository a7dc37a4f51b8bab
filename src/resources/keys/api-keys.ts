/**
 * API keys of accounts and of organizations (docs/contract.md#api-keys). A path with an organization selects the keys
 * of the organization; any other path selects the keys of the account. Only SHA-256 hashes of secrets are stored.
 * Except for blocking, a caller can change a key only if the caller has all authority of the key; otherwise the caller
 * could rotate the secret of a key with more authority and use the key. transitions.ts rotates secrets and changes the
 * status of keys.
 */
import { ApiError, badRequest, insufficientScope, notFound } from '../../kernel/errors.js'
import { idTimestamp, newId } from '../../kernel/ids.js'
import { checkInput, requireFuture } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import { ALL_SCOPES, coversScope, isPlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type ApiKey, type Prisma, sql } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableScopes } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  lockOrganization,
  newestFirst,
  requireAccount,
  requireOrganization,
  whereBelowCursor,
} from '../resource-path.js'
import { type ApiKeyFilter, createOrganizationKeyRules, createRules, type NewApiKey, updateRules } from './api-key.js'
import { type KeyOwner, organizationPathOf } from './key-owner.js'
import { checkResourcePaths } from './restricted-resource-paths.js'
import { type Restrictions, requireNoWiderReach } from './restrictions.js'
import { initialSecrets, resolveSecret } from './rotating-secret.js'
import { whereKeyReadable, whereKeyStatus } from './statuses.js'

export interface KeyPath extends KeyOwner {
  keyId: string
}

/**
 * Returns the columns that identify the owner of a key. Keys of an account have neither an issuer nor an organization.
 */
const ownerColumnsOf = (path: KeyOwner) =>
  organizationPathOf(path) ?? { accountId: path.accountId, issuerId: null, orgId: null }

/** Checks the input that creates a key of this owner, and removes `type`, which is not stored. */
function checkNewKey(path: KeyOwner, input: unknown): NewApiKey {
  if (!organizationPathOf(path)) return checkInput(createRules, input)
  const { type: _, ...values } = checkInput(createOrganizationKeyRules, input)
  return values
}

/** Returns whether the owner is a suspended organization. @throws not_found for an organization that does not exist */
export async function isOwnerSuspended(context: Context, path: KeyOwner): Promise<boolean> {
  const owner = organizationPathOf(path)
  return owner !== undefined && (await requireOrganization(context, owner)).status === 'suspended'
}

export const restrictionsOf = (key: ApiKey): Restrictions => key.restrictions as Restrictions

/**
 * Returns the scopes of a key. A key without scopes in its restrictions has all scopes
 * (docs/contract.md#scopes-and-authorization).
 */
export const scopesOf = (key: ApiKey): readonly string[] => restrictionsOf(key).scopes ?? [ALL_SCOPES]

export interface ApiKeyWithOwnerState extends ApiKey {
  /** Whether the organization that owns the key is suspended; undefined if the organization was not read. */
  suspended?: boolean
}

/** Lists keys, newest first. The cursor is a key id. */
export async function listApiKeys(
  context: Context,
  path: KeyOwner,
  filter: ApiKeyFilter,
): Promise<Page<ApiKeyWithOwnerState>> {
  const limit = checkPageLimit(filter)
  const suspended = await isOwnerSuspended(context, path)
  const rows = await context.db.apiKey.findMany({
    where: {
      AND: [
        ownerColumnsOf(path),
        whereKeyReadable(context),
        whereKeyStatus(context, filter.status, suspended),
        await whereAfterKeyCursor(context, path, filter.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, path)
  return toPage(
    rows.map((key) => ({ ...key, suspended })),
    limit,
  )
}

/**
 * Returns the Prisma filter for keys after the cursor. Unlike other ids, the id of an API key does not always contain
 * the time of creation, because the operator can choose the id of the first key (BOOTSTRAP_API_KEY).
 */
async function whereAfterKeyCursor(
  context: Context,
  path: KeyOwner,
  cursor?: string | null,
): Promise<Prisma.ApiKeyWhereInput> {
  const { id } = whereBelowCursor('ak', cursor)
  if (!id) return {}
  const where = { id: id.lt, ...ownerColumnsOf(path) }
  const key = await context.db.apiKey.findFirst({ where, select: { createdAt: true } })
  const createdAt = key?.createdAt ?? idTimestamp(id.lt)
  return { createdAt: { lte: createdAt }, OR: [{ createdAt: { lt: createdAt } }, { id }] }
}

/** @throws not_found for an organization that does not exist */
async function findApiKey(context: Context, path: KeyPath): Promise<ApiKeyWithOwnerState | null> {
  const suspended = await isOwnerSuspended(context, path)
  const where = { AND: [{ id: path.keyId, ...ownerColumnsOf(path) }, whereKeyReadable(context)] }
  const key = await context.db.apiKey.findFirst({ where })
  return key && { ...key, suspended }
}

/** @throws not_found */
export async function getApiKey(context: Context, path: KeyPath): Promise<ApiKeyWithOwnerState> {
  const key = await findApiKey(context, path)
  if (!key) throw notFound('API key')
  return key
}

export interface ApiKeyWithSecret extends ApiKey {
  /** The secret in plain text, which is not stored. */
  secretPlain: string
}

/**
 * Creates a key.
 * @throws invalid_request, not_found, insufficient_scope or forbidden if the key would have more authority than the
 *   caller, too_many_requests at `limits.maxApiKeysPerOwner`
 */
export async function createApiKey(context: Context, path: KeyOwner, input: unknown): Promise<ApiKeyWithSecret> {
  const values = checkNewKey(path, input)
  requireFuture(context.now(), 'expiresAt', values.expiresAt)
  await checkResourcePaths(context, path, values.restrictions)
  requireGrantableScopes(context, values.restrictions.scopes ?? [ALL_SCOPES])
  const { issuerId, orgId } = ownerColumnsOf(path)
  requireNoWiderReach(context, { ...values, issuerId, orgId })
  return transaction(context, (tx) => insertApiKey(tx, path, values))
}

/**
 * Creates a key and its event without checking the authority of the caller. The first start and `createAccount` call it
 * too.
 * @param id the id of the key; generated by default
 * @throws invalid_request, not_found for the owner, too_many_requests at `limits.maxApiKeysPerOwner`, conflict if a key
 *   with this id exists
 */
export async function insertApiKey(
  context: Context,
  path: KeyOwner,
  input: Pick<NewApiKey, 'name' | 'restrictions'> & Partial<NewApiKey>,
  id?: string,
): Promise<ApiKeyWithSecret> {
  const { secret: requestedSecret, ...values } = checkInput(createRules, input)
  // The row of the owner is locked, so that concurrent requests cannot exceed the limit.
  const owner = organizationPathOf(path)
  if (owner) await lockOrganization(context, owner)
  else {
    const [account] = await sql(context.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', path.accountId)
    if (!account) throw notFound('account')
  }
  const count = await context.db.apiKey.count({ where: { ...ownerColumnsOf(path), status: { not: 'revoked' } } })
  if (count >= limits.maxApiKeysPerOwner) {
    const ownerLabel = owner ? 'An organization' : 'An account'
    throw new ApiError(
      'too_many_requests',
      `${ownerLabel} can have at most ${limits.maxApiKeysPerOwner} API keys. Revoke one first.`,
    )
  }
  const now = context.now()
  const secret = resolveSecret('secret', requestedSecret)
  try {
    const key = await context.db.apiKey.create({
      data: {
        id: id ?? newId('ak', now),
        ...ownerColumnsOf(path),
        ...values,
        restrictions: values.restrictions as Prisma.InputJsonObject,
        metadata: values.metadata as Prisma.InputJsonObject,
        secrets: initialSecrets(secret, now) as unknown as Prisma.InputJsonArray,
        secretHint: secret.slice(-4),
        status: 'active',
        createdAt: now,
        updatedAt: now,
      },
    })
    await recordEvent(context, 'api_key.created', { ...apiKeyEventSubject(key), data: { name: key.name } })
    return { ...key, secretPlain: secret }
  } catch (error) {
    if (isDuplicate(error)) throw new ApiError('conflict', 'An API key with this id already exists.')
    throw error
  }
}

/**
 * Updates a key. `metadata` is replaced. `scopes` sets `restrictions.scopes`; null removes the restriction of scopes.
 * @throws invalid_request, insufficient_scope, forbidden, not_found, precondition_failed
 */
export async function updateApiKey(context: Context, path: KeyPath, input: unknown, ifMatch?: string | null) {
  const { scopes, restrictions, metadata, ...values } = checkInput(updateRules, input)
  return updateKeyWithLock(context, path, 'api_key.updated', ifMatch, async (key) => {
    if (key.status === 'revoked') throw badRequest('A revoked key cannot be changed.')
    const nextRestrictions: Restrictions = { ...(restrictions ?? restrictionsOf(key)) }
    if (scopes === null) delete nextRestrictions.scopes
    else if (scopes !== undefined) nextRestrictions.scopes = scopes
    // Unchanged values are not checked, so that a key that has expired or names a deleted issuer can be changed.
    const isExpiryUnchanged = key.expiresAt !== null && values.expiresAt === Number(key.expiresAt)
    if (!isExpiryUnchanged) requireFuture(context.now(), 'expiresAt', values.expiresAt)
    await checkResourcePaths(context, path, nextRestrictions, restrictionsOf(key))
    requireGrantableScopes(context, nextRestrictions.scopes ?? [ALL_SCOPES], scopesOf(key))
    requireNoWiderReach(context, { ...key, ...values, restrictions: nextRestrictions })
    return {
      ...values,
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
      restrictions: nextRestrictions as Prisma.InputJsonObject,
    }
  })
}

/**
 * Updates a key with optimistic locking and records the event.
 * @throws not_found, precondition_failed, insufficient_scope, forbidden, and the errors of `computeChanges`
 */
export function updateKeyWithLock(
  context: Context,
  path: KeyPath,
  type: EventType,
  ifMatch: string | null | undefined,
  computeChanges: (
    key: ApiKey,
  ) => Prisma.ApiKeyUncheckedUpdateManyInput | Promise<Prisma.ApiKeyUncheckedUpdateManyInput>,
): Promise<ApiKey> {
  return updateWithOptimisticLock<ApiKey, Prisma.ApiKeyUncheckedUpdateManyInput>(context, {
    resourceName: 'API key',
    table: 'api_keys',
    ifMatch,
    read: (tx) => findApiKey(tx, path),
    computeChanges: (key) => {
      // Blocking only removes authority, so any caller with the scope can block a key in an emergency.
      if (type !== 'api_key.blocked') requireCoveredKey(context, key)
      return computeChanges(key)
    },
    write: async (tx, version, data) =>
      (await tx.db.apiKey.updateManyAndReturn({ where: { id: path.keyId, updatedAt: version }, data }))[0],
    afterWrite: (tx, before, key) =>
      recordEvent(tx, type, { ...apiKeyEventSubject(key), changes: changesBetween('api_key', before, key) }),
  })
}

export const apiKeyEventSubject = ({ accountId, issuerId, orgId, id }: ApiKey) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'api_key', id },
})

/** Refuses keys with authority that the caller lacks (docs/contract.md#key-operations-and-status-transitions). */
function requireCoveredKey(context: Context, key: ApiKey): void {
  const missing = scopesOf(key).find((scope) => isPlatformScope(scope) && !coversScope(context.actor.scopes, scope))
  if (missing) {
    throw insufficientScope(
      missing,
      `This key has the scope ${missing}, which you do not have, so you cannot change it.`,
    )
  }
  requireNoWiderReach(context, { ...key, restrictions: restrictionsOf(key) })
}
