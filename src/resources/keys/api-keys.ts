/**
 * API keys (spec 2.11, 4.8, decisions D5, D8, D22). Only SHA-256 hashes are stored; a caller may touch only keys whose
 * authority its own covers, so that no rotation yields a stronger secret.
 */
import { z } from 'zod'
import { ApiError, badRequest, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { ALL, covers, isPlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type ApiKey, isDuplicate, type Prisma, sql, transaction } from '../../platform/database.js'
import { mayGrant } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { changesBetween, emit } from '../events/events.js'
import { after, type InAccount, requireAccount } from '../place.js'
import { revise } from '../revise.js'
import { type Restrictions, restrictionRules } from './restrictions.js'
import { chosenSecret, firstSecret, rotated, type StoredSecret } from './rotating-secret.js'
import { keyStatus, statusFilter, stillKept } from './states.js'

export const MAX_KEYS = 100
/** Which key of which account. */
export interface KeyPlace extends InAccount {
  keyId: string
}

const createRules = z.strictObject({
  name: rules.name,
  description: rules.description.optional(),
  tags: rules.tags.optional(),
  restrictions: restrictionRules,
  expiresAt: rules.moment.nullable().optional(),
  metadata: rules.metadata.optional(),
  secret: rules.text(256).nullable().optional(),
})

const updateRules = z.strictObject({
  name: rules.name.optional(),
  description: rules.description.optional(),
  tags: rules.tags.optional(),
  scopes: rules.scopes.nullable().optional(),
  restrictions: restrictionRules.optional(),
  expiresAt: rules.moment.nullable().optional(),
  metadata: rules.metadata.optional(),
})

const rotateRules = z.strictObject({
  newSecret: rules.text(256).nullable().optional(),
  hint: rules.text(32).nullable().optional(),
})

const actionRules = z.strictObject({
  by: rules.text(200).nullable().optional(),
  reason: rules.text(1000).nullable().optional(),
})

export const restrictionsOf = (key: ApiKey): Restrictions => key.restrictions as Restrictions

/** The scopes in force; a key of an account without scopes has all (decisions D7). */
export const scopesOf = (key: ApiKey): readonly string[] => restrictionsOf(key).scopes ?? [ALL]

/** Keys of an account, newest first; the cursor is a key id. */
export async function listApiKeys(
  context: Context,
  { accountId }: InAccount,
  filter: { status?: string | null },
  request: PageRequest,
): Promise<Page<ApiKey>> {
  const limit = limitOf(request)
  const rows = await context.db.apiKey.findMany({
    where: {
      AND: [
        { accountId, orgId: null },
        stillKept(context),
        statusFilter(context, filter.status),
        after('ak', request.cursor),
      ],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return pageOf(rows, limit)
}

const find = (context: Context, { accountId, keyId }: KeyPlace) =>
  context.db.apiKey.findFirst({ where: { AND: [{ id: keyId, accountId, orgId: null }, stillKept(context)] } })

/** @throws not_found */
export async function getApiKey(context: Context, place: KeyPlace): Promise<ApiKey> {
  const key = await find(context, place)
  if (!key) throw notFound('API key')
  return key
}

export interface ApiKeyWithSecret {
  key: ApiKey
  /** Shown once. */
  secret: string
}

/**
 * Makes a key; the secret is in the answer and nowhere else.
 * @throws invalid_request, insufficient_scope when the key would be stronger than the caller, too_many_requests at 100
 */
export async function createApiKey(context: Context, place: InAccount, input: unknown): Promise<ApiKeyWithSecret> {
  const values = check(createRules, input)
  mayGrant(context, values.restrictions.scopes ?? [ALL])
  return transaction(context, (inside) => insertApiKey(inside, place, values))
}

/** Writes a key and its event. Unlike createApiKey it asks nobody's permission: first start and createAccount use it. */
export async function insertApiKey(
  context: Context,
  { accountId }: InAccount,
  values: z.infer<typeof createRules> & { id?: string },
): Promise<ApiKeyWithSecret> {
  // Locking the account keeps the limit under parallel calls (security rule 5).
  const [account] = await sql<{ id: string }>(context.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
  if (!account) throw notFound('account')
  const count = await context.db.apiKey.count({ where: { accountId, orgId: null, status: { not: 'revoked' } } })
  if (count >= MAX_KEYS) {
    throw new ApiError('too_many_requests', `An account has at most ${MAX_KEYS} API keys; revoke one first.`)
  }
  const now = context.now()
  const secret = chosenSecret('secret', values.secret)
  try {
    const key = await context.db.apiKey.create({
      data: {
        id: values.id ?? newId('ak', now),
        accountId,
        name: values.name,
        description: values.description ?? null,
        tags: values.tags ?? [],
        restrictions: values.restrictions as Prisma.InputJsonObject,
        secrets: firstSecret(secret) as unknown as Prisma.InputJsonArray,
        secretHint: secret.slice(-4),
        expiresAt: values.expiresAt ?? null,
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        status: 'active',
        createdAt: now,
        updatedAt: now,
      },
    })
    await emit(context, 'api_key.created', {
      accountId,
      target: { type: 'api_key', id: key.id },
      data: { name: key.name },
    })
    return { key, secret }
  } catch (error) {
    if (isDuplicate(error)) throw new ApiError('conflict', 'There is an API key with this id already.')
    throw error
  }
}

/**
 * PATCH. `scopes` at the top level writes `restrictions.scopes`; null lifts that restriction.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateApiKey(context: Context, place: KeyPlace, input: unknown, ifMatch?: string | null) {
  const { scopes, restrictions, metadata, ...values } = check(updateRules, input)
  return reviseKey(context, place, 'api_key.updated', ifMatch, (key) => {
    if (key.status === 'revoked') throw badRequest('A revoked key cannot be changed.')
    const next: Restrictions = { ...(restrictions ?? restrictionsOf(key)) }
    if (scopes === null) delete next.scopes
    else if (scopes !== undefined) next.scopes = scopes
    mayGrant(context, next.scopes ?? [ALL], scopesOf(key))
    return {
      ...values,
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
      restrictions: next as Prisma.InputJsonObject,
    }
  })
}

/**
 * A new secret; the old one stays good for 15 minutes.
 * @throws invalid_request for keys that are blocked, revoked or expired
 */
export async function rotateApiKey(context: Context, place: KeyPlace, input: unknown): Promise<ApiKeyWithSecret> {
  const { newSecret, hint } = check(rotateRules, input ?? {})
  const secret = chosenSecret('newSecret', newSecret)
  const key = await reviseKey(context, place, 'api_key.rotated', undefined, (row) => {
    const status = keyStatus(context, row)
    if (status !== 'active') throw badRequest(`Only an active key can be rotated; this one is ${status}.`)
    const secrets = rotated(row.secrets as unknown as StoredSecret[], secret, context.now())
    return { secrets: secrets as unknown as Prisma.InputJsonArray, secretHint: hint ?? secret.slice(-4) }
  })
  return { key, secret }
}

/** @throws invalid_request unless the key is active */
export async function blockApiKey(context: Context, place: KeyPlace, input: unknown): Promise<ApiKey> {
  const { by, reason } = check(actionRules, input ?? {})
  return reviseKey(context, place, 'api_key.blocked', undefined, (key) => {
    const status = keyStatus(context, key)
    if (status !== 'active') throw badRequest(`Only an active key can be blocked; this one is ${status}.`)
    return { status: 'blocked', ...statusFacts(context, by, reason) }
  })
}

/** @throws invalid_request unless the key is blocked (decisions D22) */
export async function unblockApiKey(context: Context, place: KeyPlace): Promise<ApiKey> {
  return reviseKey(context, place, 'api_key.unblocked', undefined, (key) => {
    if (key.status !== 'blocked') throw badRequest(`Only a blocked key can be unblocked; this one is ${key.status}.`)
    return { status: 'active', ...statusFacts(context, undefined, undefined) }
  })
}

/** Permanent. Repeating it changes nothing and answers the key as it is (decisions D22). */
export async function revokeApiKey(context: Context, place: KeyPlace, input: unknown): Promise<ApiKey> {
  const { by, reason } = check(actionRules, input ?? {})
  const key = await getApiKey(context, place)
  if (key.status === 'revoked') return key
  return revoke(context, place, undefined, by, reason)
}

/** DELETE: revokes; a second one is 404. */
export async function deleteApiKey(context: Context, place: KeyPlace, ifMatch?: string | null): Promise<void> {
  await revoke(context, place, ifMatch, undefined, undefined)
}

function revoke(
  context: Context,
  place: KeyPlace,
  ifMatch: string | null | undefined,
  by: string | null | undefined,
  reason: string | null | undefined,
): Promise<ApiKey> {
  return reviseKey(context, place, 'api_key.revoked', ifMatch, (key) => {
    if (key.status === 'revoked') throw notFound('API key')
    return { status: 'revoked', ...statusFacts(context, by, reason) }
  })
}

const statusFacts = (context: Context, by: string | null | undefined, reason: string | null | undefined) => ({
  statusAt: context.now(),
  statusBy: by ?? context.actor.id,
  statusReason: reason ?? null,
})

function reviseKey(
  context: Context,
  place: KeyPlace,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (key: ApiKey) => Prisma.ApiKeyUncheckedUpdateManyInput,
): Promise<ApiKey> {
  return revise<ApiKey, Prisma.ApiKeyUncheckedUpdateManyInput>(context, {
    what: 'API key',
    table: 'api_keys',
    ifMatch,
    read: (now) => find(now, place),
    change: (key) => {
      // Blocking takes authority away and is undone by a stronger key only: in need, anybody may pull the brake.
      if (type !== 'api_key.blocked') mustCover(context, key)
      return change(key)
    },
    write: async (now, version, data) =>
      (await now.db.apiKey.updateManyAndReturn({ where: { id: place.keyId, updatedAt: version }, data }))[0],
    also: (inside, before, key) =>
      emit(inside, type, {
        accountId: key.accountId,
        target: { type: 'api_key', id: key.id },
        changes: changesBetween(before, key),
      }),
  })
}

/** A caller may touch only keys whose authority its own covers (decisions D22). */
function mustCover(context: Context, key: ApiKey): void {
  const lacking = scopesOf(key).find((scope) => isPlatformScope(scope) && !covers(context.actor.scopes, scope))
  if (lacking) {
    throw new ApiError('insufficient_scope', `This key may do more than you (${lacking}), so you cannot change it.`)
  }
}
