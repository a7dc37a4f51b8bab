/**
 * Webhooks: endpoints that receive the events of an account (docs/contract.md#webhooks, #webhook-fields,
 * #webhook-delivery-rules). This folder manages webhooks with their secrets and deliveries. `recordEvent` creates one
 * delivery per event and subscribed webhook (resources/events).
 */
import { ApiError, invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import {
  type Prisma,
  sql,
  type Webhook,
  type WebhookDailyCount,
  type WebhookDeliveryQueue,
} from '../../platform/postgres/database.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireScope } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { CHANGED, type Changes, changesBetween } from '../events/event-fields.js'
import { checkEventTypes } from '../events/event-list.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { requireRecentSignIn } from '../recent-sign-in.js'
import { type InAccount, newestFirst, requireAccount, whereOlderThanCursor } from '../resource-path.js'
import { decryptSecrets, encryptSecrets, generateSecrets, type Secrets } from './secrets.js'
import { createRules, updateRules, type WebhookAuthType, type WebhookFilter, type WebhookPath } from './webhook.js'
import { addressError } from './webhook-url.js'

/** A webhook with the rows from which its statistics are computed. */
export type WebhookWithStatistics = Webhook & {
  deliveryQueue: WebhookDeliveryQueue | null
  dailyCounts: WebhookDailyCount[]
}

/** A webhook with the secrets that the operation created, in plain text; undefined if it did not create them. */
export interface WebhookWithSecrets extends Webhook {
  bearerTokenPlain: string | undefined
  signatureSecretPlain: string | undefined
}

const withSecrets = (webhook: Webhook, { bearer, signature }: Secrets): WebhookWithSecrets => ({
  ...webhook,
  bearerTokenPlain: bearer,
  signatureSecretPlain: signature,
})

/** @throws invalid_request for a URL that webhooks must not have, or for an unknown event type */
function checkWebhookValues(
  { config }: Context,
  { url, eventTypes }: { url?: string; eventTypes?: string[] | null },
): void {
  const urlError = url === undefined ? undefined : addressError(url, config.allowPrivateNetworks)
  if (urlError) throw invalidField('url', 'invalid_format', urlError)
  checkEventTypes(eventTypes)
}

export const statisticsInclude = (context: Context) =>
  ({
    deliveryQueue: true,
    dailyCounts: { where: { day: { gt: dayOf(context.now() - limits.webhookDeliveryRetention) } } },
  }) satisfies Prisma.WebhookInclude

/** Returns the UTC day of a time as the number of days since January 1, 1970. @param moment Unix milliseconds */
export const dayOf = (moment: number): number => Math.floor(moment / DAY)

/** Lists webhooks, newest first. Deleted webhooks are only in the list with the filter `deleted`. */
export async function listWebhooks(
  context: Context,
  { accountId }: InAccount,
  filter: WebhookFilter,
): Promise<Page<WebhookWithStatistics>> {
  const { status, cursor } = filter
  const limit = checkPageLimit(filter)
  const statusFilter = status === 'active' ? { in: ['active', 'failing'] } : status
  const rows = await context.db.webhook.findMany({
    relationLoadStrategy: 'join',
    where: {
      AND: [{ accountId, status: statusFilter ?? { not: 'deleted' } }, whereOlderThanCursor('whk', cursor)],
    },
    orderBy: newestFirst,
    take: limit + 1,
    include: statisticsInclude(context),
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return toPage(rows, limit)
}

/** @throws not_found, also for a deleted webhook */
export async function getWebhook(
  context: Context,
  { accountId, webhookId }: WebhookPath,
): Promise<WebhookWithStatistics> {
  const webhook = await context.db.webhook.findFirst({
    relationLoadStrategy: 'join',
    where: { id: webhookId, accountId, status: { not: 'deleted' } },
    include: statisticsInclude(context),
  })
  if (!webhook) throw notFound('webhook')
  return webhook
}

/**
 * Creates a webhook. Only the response to this request contains the secrets.
 * @throws invalid_request, too_many_requests at `limits.maxWebhooksPerAccount`, not_found for the account
 */
export async function createWebhook(context: Context, path: InAccount, input: unknown): Promise<WebhookWithSecrets> {
  const { eventTypes: requestedTypes, metadata, ...values } = checkInput(createRules, input)
  checkWebhookValues(context, { url: values.url, eventTypes: requestedTypes })
  const { auth } = values
  const createdSecrets = generateSecrets(context, auth)
  return transaction(context, async (tx) => {
    const { accountId } = path
    // The row lock enforces the limit under parallel requests (docs/contract.md#limits-under-parallel-requests).
    const [account] = await sql(tx.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
    if (!account) throw notFound('account')
    const count = await tx.db.webhook.count({ where: { accountId, status: { not: 'deleted' } } })
    if (count >= limits.maxWebhooksPerAccount) {
      throw new ApiError(
        'too_many_requests',
        `An account can have at most ${limits.maxWebhooksPerAccount} webhooks. Delete one first.`,
      )
    }
    const row = newRow('whk', tx.now())
    const webhook = await tx.db.webhook.create({
      data: {
        ...row,
        accountId,
        ...values,
        eventTypes: [...new Set(requestedTypes ?? [])],
        secrets: encryptSecrets(tx, createdSecrets),
        metadata: metadata as Prisma.InputJsonObject,
        status: 'active',
      },
    })
    await tx.db.webhookDeliveryQueue.create({ data: { webhookId: row.id, accountId } })
    const { name, eventTypes, status } = webhook
    const data = { name, url: originOf(webhook), auth, event_types: eventTypes, status }
    await recordEvent(tx, 'webhook.created', { ...webhookEventSubject(webhook), data })
    return withSecrets(webhook, createdSecrets)
  })
}

/**
 * Updates a webhook. `metadata` is replaced. A different `auth` creates new secrets. A different origin of `url`
 * replaces the bearer token, if there is one, because the new receiver must not learn the old one. Only the response to
 * this request contains the new secrets. `status: active` closes the circuit breaker. Changing the URL, adding event
 * types and enabling the webhook require the scope `events:read`, because these changes disclose events to the receiver
 * (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, insufficient_user_authentication for new secrets after an old sign-in,
 *   not_found, precondition_failed
 */
export async function updateWebhook(
  context: Context,
  path: WebhookPath,
  input: unknown,
  ifMatch?: string | null,
): Promise<WebhookWithSecrets> {
  const { eventTypes, metadata, ...values } = checkInput(updateRules, input)
  checkWebhookValues(context, { ...values, eventTypes: eventTypes ?? null })
  let createdSecrets: Secrets = {}
  const webhook = await updateWebhookRow(
    context,
    path,
    'webhook.updated',
    ifMatch,
    (before) => {
      const { auth = before.auth as WebhookAuthType, url = before.url } = values
      const enables = values.status === 'active' && before.status === 'disabled'
      if (enables || url !== before.url || addsEventTypes(before.eventTypes, eventTypes))
        requireScope(context, 'events:read')
      const old = decryptSecrets(context, before.secrets)
      createdSecrets = {}
      if (auth !== before.auth) createdSecrets = generateSecrets(context, auth, old)
      else if (originOf({ url }) !== originOf(before) && old.bearer !== undefined) {
        createdSecrets = { ...generateSecrets(context, 'bearer') }
      }
      if (Object.keys(createdSecrets).length > 0) requireRecentSignIn(context)
      return {
        ...values,
        ...(eventTypes !== undefined && { eventTypes: [...new Set(eventTypes ?? [])] }),
        ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
        ...(auth !== before.auth && { secrets: encryptSecrets(context, createdSecrets) }),
        ...(auth === before.auth &&
          createdSecrets.bearer !== undefined && { secrets: encryptSecrets(context, { ...old, ...createdSecrets }) }),
      }
    },
    values.status === 'active' ? breakerReset(path) : undefined,
  )
  return withSecrets(webhook, createdSecrets)
}

/**
 * Deletes a webhook softly (docs/contract.md#states-and-transitions): no more attempts are made, a periodic job cancels
 * the pending deliveries (cancellation.ts), and the list with the filter `deleted` contains the webhook for 31 days.
 * @throws not_found, precondition_failed
 */
export async function deleteWebhook(context: Context, path: WebhookPath, ifMatch?: string | null): Promise<void> {
  await updateWebhookRow(
    context,
    path,
    'webhook.deleted',
    ifMatch,
    // The secrets are erased, because they are no longer needed.
    () => ({ status: 'deleted', deletedAt: context.now(), secrets: encryptSecrets(context, {}) }),
  )
}

/** A write that belongs to an update of a webhook. */
interface FurtherWrite {
  isNeeded(context: Context): Promise<boolean>
  run(context: Context): Promise<void>
}

const closedBreaker = { consecutiveFailures: 0, breakerOpenUntil: 0, breakerOpenMs: 0 }

/** Closes the circuit breaker of a webhook. */
const breakerReset = ({ webhookId }: WebhookPath): FurtherWrite => ({
  isNeeded: async ({ db }) => (await db.webhookDeliveryQueue.count({ where: { webhookId, NOT: closedBreaker } })) > 0,
  async run({ db }) {
    await db.webhookDeliveryQueue.update({ where: { webhookId }, data: closedBreaker })
  },
})

function updateWebhookRow(
  context: Context,
  { accountId, webhookId }: WebhookPath,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (webhook: Webhook) => Prisma.WebhookUncheckedUpdateManyInput,
  further?: FurtherWrite,
): Promise<Webhook> {
  return updateWithOptimisticLock<Webhook, Prisma.WebhookUncheckedUpdateManyInput>(context, {
    resourceName: 'webhook',
    table: 'webhooks',
    ifMatch,
    read: (tx) => tx.db.webhook.findFirst({ where: { id: webhookId, accountId, status: { not: 'deleted' } } }),
    computeChanges: change,
    ...(further && { writesMore: (_, tx) => further.isNeeded(tx) }),
    write: async (tx, version, data) =>
      (await tx.db.webhook.updateManyAndReturn({ where: { id: webhookId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, webhook) => {
      await further?.run(tx)
      const changes = recordedChanges(withDecryptedSecrets(context, before), withDecryptedSecrets(context, webhook))
      await recordEvent(tx, type, { ...webhookEventSubject(webhook), changes })
      // On this notification, the delivery loop reads the webhook again.
      await notify(tx, 'webhook', webhookId)
    },
  })
}

/**
 * Changes the status of a webhook because of its deliveries. Does nothing if the status is no longer `from`.
 * @param eventData `data` of the event
 */
export async function changeWebhookStatus(
  context: Context,
  webhookId: string,
  [from, to]: ['active', 'failing'] | ['failing', 'active'],
  eventData: Record<string, unknown>,
): Promise<void> {
  await transaction(context, async (tx) => {
    const data = { status: to, updatedAt: tx.now() }
    const [webhook] = await tx.db.webhook.updateManyAndReturn({ where: { id: webhookId, status: from }, data })
    if (!webhook) return
    const changes = { status: { old: from, new: to } }
    const type = to === 'failing' ? 'webhook.failing' : 'webhook.updated'
    await recordEvent(tx, type, { ...webhookEventSubject(webhook), data: eventData, changes })
  })
}

/** Returns whether `after` contains an event type that is not in `before`. Null and an empty list mean all types. */
function addsEventTypes(before: readonly string[], after: readonly string[] | null | undefined): boolean {
  if (after === undefined || before.length === 0) return false
  return after === null || after.length === 0 || after.some((type) => !before.includes(type))
}

const originOf = ({ url }: { url: string }): string => new URL(url).origin

export const webhookEventSubject = ({ accountId, id }: Webhook) => ({ accountId, target: { type: 'webhook', id } })

const withDecryptedSecrets = (context: Context, webhook: Webhook) => ({
  ...webhook,
  ...decryptSecrets(context, webhook.secrets),
})

/**
 * Returns `changes` of the event. Of the URL, they contain only the origin, because the path and query are often
 * secrets.
 */
function recordedChanges(before: Webhook, after: Webhook): Changes {
  const { url, ...changes } = changesBetween('webhook', before, after)
  const [old, now] = [originOf(before), originOf(after)]
  return { ...changes, ...(url && { url: old === now ? CHANGED : { old, new: now } }) }
}
