/**
 * API keys of accounts and of organizations (spec 2.11, 4.8, decisions D5, D8, D22), by one set of functions: a place
 * with an organization means that organization's keys. Only SHA-256 hashes are stored; a caller may touch only keys
 * whose authority its own covers, so that no rotation yields a stronger secret. What moves their state stands in transitions.ts.
 */
import { z } from 'zod'
import { ApiError, badRequest, insufficientScope, notFound } from '../../kernel/errors.js'
import { newId, timeOf } from '../../kernel/ids.js'
import { check, mustLieAhead, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { ALL, covers, isPlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type ApiKey, isDuplicate, type Prisma, sql, transaction } from '../../platform/database.js'
import { mayGrant } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { after, lockOrganization, newestFirst, requireAccount, requireOrganization } from '../place.js'
import { revise } from '../revise.js'
import { type KeyOwner, ownerOf } from './owner.js'
import { checkPlaces } from './restricted-places.js'
import { mustReachNoFurther, type Restrictions, restrictionRules } from './restrictions.js'
import { chosenSecret, firstSecret } from './rotating-secret.js'
import { statusFilter, stillKept } from './states.js'

export const MAX_KEYS = 100

/** Which key of whom. */
export interface KeyPlace extends KeyOwner {
  keyId: string
}

/** The columns that say whose a key is. */
const columnsOf = (place: KeyOwner) => ownerOf(place) ?? { accountId: place.accountId, issuerId: null, orgId: null }

const createFields = {
  name: rules.name,
  description: rules.description.optional(),
  tags: rules.tags.optional(),
  restrictions: restrictionRules,
  expiresAt: rules.moment.nullable().optional(),
  metadata: rules.metadata.optional(),
  secret: rules.text(256).nullable().optional(),
}
const createRules = z.strictObject(createFields)
/** `type` is required for keys of organizations, and known there only (spec 2.11). */
const createOrganizationKeyRules = z.strictObject({ ...createFields, type: z.literal('api_key', 'must be api_key.') })

const updateRules = z.strictObject({
  name: rules.name.optional(),
  description: rules.description.optional(),
  tags: rules.tags.optional(),
  scopes: rules.scopes.nullable().optional(),
  restrictions: restrictionRules.optional(),
  expiresAt: rules.moment.nullable().optional(),
  metadata: rules.metadata.optional(),
})

/** @throws not_found for an organization that does not exist or live */
export async function isOwnerSuspended(context: Context, place: KeyOwner): Promise<boolean> {
  const owner = ownerOf(place)
  return owner !== undefined && (await requireOrganization(context, owner)).status === 'suspended'
}

export const restrictionsOf = (key: ApiKey): Restrictions => key.restrictions as Restrictions

/** The scopes in force; a key of an account without scopes has all (decisions D7). */
export const scopesOf = (key: ApiKey): readonly string[] => restrictionsOf(key).scopes ?? [ALL]

/** A key with what was learned of its owner on the way. */
export interface KeyOfOwner extends ApiKey {
  suspended?: boolean
}

/** Newest first; the cursor is a key id. */
export async function listApiKeys(
  context: Context,
  place: KeyOwner,
  filter: { status?: string | null },
  request: PageRequest,
): Promise<Page<KeyOfOwner>> {
  const limit = limitOf(request)
  const suspended = await isOwnerSuspended(context, place)
  const rows = await context.db.apiKey.findMany({
    where: {
      AND: [
        columnsOf(place),
        stillKept(context),
        statusFilter(context, filter.status, suspended),
        await following(context, place, request.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, place)
  return pageOf(
    rows.map((key) => ({ ...key, suspended })),
    limit,
  )
}

/**
 * The keys behind a cursor. Not by its id alone, as in other lists: an operator may choose the id of the first key, so
 * that it says nothing about time.
 */
async function following(context: Context, place: KeyOwner, cursor?: string | null): Promise<Prisma.ApiKeyWhereInput> {
  const { id } = after('ak', cursor)
  if (!id) return {}
  const where = { id: id.lt, ...columnsOf(place) }
  const key = await context.db.apiKey.findFirst({ where, select: { createdAt: true } })
  const createdAt = key?.createdAt ?? timeOf(id.lt)
  return { createdAt: { lte: createdAt }, OR: [{ createdAt: { lt: createdAt } }, { id }] }
}

/** @throws not_found for an organization that does not exist or live */
async function find(context: Context, place: KeyPlace): Promise<KeyOfOwner | null> {
  const suspended = await isOwnerSuspended(context, place)
  const where = { AND: [{ id: place.keyId, ...columnsOf(place) }, stillKept(context)] }
  const key = await context.db.apiKey.findFirst({ where })
  return key && { ...key, suspended }
}

/** @throws not_found */
export async function getApiKey(context: Context, place: KeyPlace): Promise<KeyOfOwner> {
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
export async function createApiKey(context: Context, place: KeyOwner, input: unknown): Promise<ApiKeyWithSecret> {
  const values = ownerOf(place) ? check(createOrganizationKeyRules, input) : check(createRules, input)
  mustLieAhead(context.now(), 'expiresAt', values.expiresAt)
  await checkPlaces(context, place, values.restrictions)
  mayGrant(context, values.restrictions.scopes ?? [ALL])
  const { issuerId, orgId } = columnsOf(place)
  mustReachNoFurther(context, { ...values, expiresAt: values.expiresAt ?? null, issuerId, orgId })
  return transaction(context, (inside) => insertApiKey(inside, place, values))
}

/** Writes a key and its event. Unlike createApiKey it asks nobody's permission: first start and createAccount use it. */
export async function insertApiKey(
  context: Context,
  place: KeyOwner,
  values: z.infer<typeof createRules> & { id?: string },
): Promise<ApiKeyWithSecret> {
  // Locking the owner keeps the limit under parallel calls (security rule 5).
  const owner = ownerOf(place)
  if (owner) await lockOrganization(context, owner)
  else {
    const [account] = await sql(context.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', place.accountId)
    if (!account) throw notFound('account')
  }
  const count = await context.db.apiKey.count({ where: { ...columnsOf(place), status: { not: 'revoked' } } })
  if (count >= MAX_KEYS) {
    const who = owner ? 'An organization' : 'An account'
    throw new ApiError('too_many_requests', `${who} has at most ${MAX_KEYS} API keys; revoke one first.`)
  }
  const now = context.now()
  const secret = chosenSecret('secret', values.secret)
  try {
    const key = await context.db.apiKey.create({
      data: {
        id: values.id ?? newId('ak', now),
        ...columnsOf(place),
        name: values.name,
        description: values.description ?? null,
        tags: values.tags ?? [],
        restrictions: values.restrictions as Prisma.InputJsonObject,
        secrets: firstSecret(secret, now) as unknown as Prisma.InputJsonArray,
        secretHint: secret.slice(-4),
        expiresAt: values.expiresAt ?? null,
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        status: 'active',
        createdAt: now,
        updatedAt: now,
      },
    })
    await emit(context, 'api_key.created', { ...aboutKey(key), data: { name: key.name } })
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
  return reviseKey(context, place, 'api_key.updated', ifMatch, async (key) => {
    if (key.status === 'revoked') throw badRequest('A revoked key cannot be changed.')
    const next: Restrictions = { ...(restrictions ?? restrictionsOf(key)) }
    if (scopes === null) delete next.scopes
    else if (scopes !== undefined) next.scopes = scopes
    // What it has already stays, so that a key that has expired or outlived an issuer can still be changed.
    const isKept = key.expiresAt !== null && values.expiresAt === Number(key.expiresAt)
    if (!isKept) mustLieAhead(context.now(), 'expiresAt', values.expiresAt)
    await checkPlaces(context, place, next, restrictionsOf(key))
    mayGrant(context, next.scopes ?? [ALL], scopesOf(key))
    mustReachNoFurther(context, { ...key, ...values, restrictions: next })
    return {
      ...values,
      ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
      restrictions: next as Prisma.InputJsonObject,
    }
  })
}

/** @throws not_found, precondition_failed, insufficient_scope, and what `change` throws */
export function reviseKey(
  context: Context,
  place: KeyPlace,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (key: ApiKey) => Prisma.ApiKeyUncheckedUpdateManyInput | Promise<Prisma.ApiKeyUncheckedUpdateManyInput>,
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
      emit(inside, type, { ...aboutKey(key), changes: changesBetween('api_key', before, key) }),
  })
}

export const aboutKey = ({ accountId, issuerId, orgId, id }: ApiKey) => ({
  accountId,
  issuerId,
  orgId,
  target: { type: 'api_key', id },
})

/** A caller may touch only keys whose authority its own covers (decisions D22). */
function mustCover(context: Context, key: ApiKey): void {
  const lacking = scopesOf(key).find((scope) => isPlatformScope(scope) && !covers(context.actor.scopes, scope))
  if (lacking) {
    throw insufficientScope(lacking, `This key may do more than you (${lacking}), so you cannot change it.`)
  }
  mustReachNoFurther(context, { ...key, restrictions: restrictionsOf(key) })
}
