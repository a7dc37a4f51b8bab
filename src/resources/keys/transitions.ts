/** Status transitions and rotation of API keys (docs/contract.md#key-operations-and-status-transitions). */
import { badRequest, notFound } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import type { ApiKey, Prisma } from '../../platform/postgres/database.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import type { InOrganization } from '../resource-path.js'
import { actionRules, rotateRules } from './api-key.js'
import {
  type ApiKeyWithSecret,
  apiKeyEventSubject,
  getApiKey,
  isOwnerSuspended,
  type KeyPath,
  updateKeyWithLock,
} from './api-keys.js'
import { resolveSecret, rotateSecrets, type StoredSecret } from './rotating-secret.js'
import { currentKeyStatus } from './statuses.js'

/**
 * Rotates the secret of a key. The old secret is valid for another 15 minutes.
 * @throws invalid_request, also if the key is not active; not_found, insufficient_scope or forbidden if the key has
 *   more authority than the caller
 */
export async function rotateApiKey(context: Context, path: KeyPath, input: unknown): Promise<ApiKeyWithSecret> {
  const { newSecret, hint } = checkInput(rotateRules, input ?? {})
  const secret = resolveSecret('newSecret', newSecret)
  const key = await updateKeyWithLock(context, path, 'api_key.rotated', undefined, async (row) => {
    const status = currentKeyStatus(context, row, await isOwnerSuspended(context, path))
    if (status !== 'active') throw badRequest(`Only an active key can be rotated. The status of this key is ${status}.`)
    const secrets = rotateSecrets(row.secrets as unknown as StoredSecret[], secret, context.now())
    return { secrets: secrets as unknown as Prisma.InputJsonArray, secretHint: hint ?? secret.slice(-4) }
  })
  return { ...key, secretPlain: secret }
}

/** @throws invalid_request, also if the key is blocked, revoked or expired; not_found */
export async function blockApiKey(context: Context, path: KeyPath, input: unknown): Promise<ApiKey> {
  const { by, reason } = checkInput(actionRules, input ?? {})
  return updateKeyWithLock(context, path, 'api_key.blocked', undefined, (key) => {
    // A key can be blocked while its organization is suspended, so that it stays blocked after the suspension.
    const status = currentKeyStatus(context, key, false)
    if (status !== 'active') throw badRequest(`Only an active key can be blocked. The status of this key is ${status}.`)
    return { status: 'blocked', ...statusColumns(context, by, reason) }
  })
}

/**
 * @throws invalid_request if the key is not blocked, not_found, insufficient_scope or forbidden if the key has more
 *   authority than the caller
 */
export async function unblockApiKey(context: Context, path: KeyPath): Promise<ApiKey> {
  return updateKeyWithLock(context, path, 'api_key.unblocked', undefined, (key) => {
    if (key.status !== 'blocked')
      throw badRequest(`Only a blocked key can be unblocked. The status of this key is ${key.status}.`)
    return { status: 'active', ...statusColumns(context, undefined, undefined) }
  })
}

/**
 * Revokes a key permanently. If the key is already revoked, returns it unchanged.
 * @throws invalid_request, not_found, insufficient_scope or forbidden if the key has more authority than the caller
 */
export async function revokeApiKey(context: Context, path: KeyPath, input: unknown): Promise<ApiKey> {
  const { by, reason } = checkInput(actionRules, input ?? {})
  const key = await getApiKey(context, path)
  if (key.status === 'revoked') return key
  return revoke(context, path, undefined, by, reason)
}

/**
 * Revokes a key permanently.
 * @throws not_found, also if the key is already revoked; precondition_failed, insufficient_scope or forbidden if the
 *   key has more authority than the caller
 */
export async function deleteApiKey(context: Context, path: KeyPath, ifMatch?: string | null): Promise<void> {
  await revoke(context, path, ifMatch, undefined, undefined)
}

function revoke(
  context: Context,
  path: KeyPath,
  ifMatch: string | null | undefined,
  by: string | null | undefined,
  reason: string | null | undefined,
): Promise<ApiKey> {
  return updateKeyWithLock(context, path, 'api_key.revoked', ifMatch, (key) => {
    if (key.status === 'revoked') throw notFound('API key')
    return { status: 'revoked', ...statusColumns(context, by, reason) }
  })
}

const statusColumns = (context: Context, by: string | null | undefined, reason: string | null | undefined) => ({
  statusAt: context.now(),
  statusBy: by ?? context.actor.id,
  statusReason: reason ?? null,
})

/**
 * Revokes all keys of an organization. Call it in the transaction that deletes the organization.
 * @returns the number of revoked keys
 */
export async function revokeKeysOfOrganization(
  context: Context,
  { accountId, issuerId, orgId }: InOrganization,
): Promise<number> {
  const where = { accountId, issuerId, orgId, status: { not: 'revoked' } }
  const before = await context.db.apiKey.findMany({ where })
  const data = { status: 'revoked', ...statusColumns(context, undefined, null), updatedAt: context.now() }
  const rows = await context.db.apiKey.updateManyAndReturn({ where, data })
  for (const key of rows) {
    const old = before.find((row) => row.id === key.id)
    await recordEvent(context, 'api_key.revoked', {
      ...apiKeyEventSubject(key),
      ...(old && { changes: changesBetween('api_key', old, key) }),
    })
  }
  return rows.length
}
