/** What moves an API key from state to state (spec section 3, decisions D22): rotated, blocked, unblocked, revoked. */
import { z } from 'zod'
import { badRequest, notFound } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import type { ApiKey, Prisma } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import type { InOrganization } from '../place.js'
import { type ApiKeyWithSecret, aboutKey, getApiKey, isOwnerSuspended, type KeyPlace, reviseKey } from './api-keys.js'
import { chosenSecret, rotated, type StoredSecret } from './rotating-secret.js'
import { keyStatus } from './states.js'

const rotateRules = z.strictObject({
  newSecret: rules.text(256).nullable().optional(),
  hint: rules.text(32).nullable().optional(),
})

const actionRules = z.strictObject({
  by: rules.text(200).nullable().optional(),
  reason: rules.text(1000).nullable().optional(),
})

/**
 * A new secret; the old one stays good for 15 minutes.
 * @throws invalid_request for keys that are blocked, revoked, expired or suspended
 */
export async function rotateApiKey(context: Context, place: KeyPlace, input: unknown): Promise<ApiKeyWithSecret> {
  const { newSecret, hint } = check(rotateRules, input ?? {})
  const secret = chosenSecret('newSecret', newSecret)
  const key = await reviseKey(context, place, 'api_key.rotated', undefined, async (row) => {
    const status = keyStatus(context, row, await isOwnerSuspended(context, place))
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
    // Also while its organization is suspended: it is to stay blocked when that ends.
    const status = keyStatus(context, key, false)
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

/**
 * Revokes all keys of an organization that is being deleted, in the transaction that deletes it (spec section 3).
 * @returns how many were revoked
 */
export async function revokeKeysOf(context: Context, { accountId, issuerId, orgId }: InOrganization): Promise<number> {
  const where = { accountId, issuerId, orgId, status: { not: 'revoked' } }
  const before = await context.db.apiKey.findMany({ where })
  const data = { status: 'revoked', ...statusFacts(context, undefined, null), updatedAt: context.now() }
  const rows = await context.db.apiKey.updateManyAndReturn({ where, data })
  for (const key of rows) {
    const old = before.find((row) => row.id === key.id)
    await emit(context, 'api_key.revoked', {
      ...aboutKey(key),
      ...(old && { changes: changesBetween('api_key', old, key) }),
    })
  }
  return rows.length
}
