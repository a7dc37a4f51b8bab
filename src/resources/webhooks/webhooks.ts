/**
 * Webhooks (spec 2.15, 4.15, 6.2, decisions D4, D15): where the events of an account are sent. This room owns who is
 * told, with which secrets, and every attempt; what happened is the trail's, which makes a delivery with each event that
 * a webhook wants (resources/events).
 */
import { z } from 'zod'
import { ApiError, invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import {
  type Prisma,
  sql,
  transaction,
  type Webhook,
  type WebhookDay,
  type WebhookLane,
} from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { requireScope } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { checkTypes } from '../events/listing.js'
import { CHANGED, type Changes, changesBetween } from '../events/names.js'
import { type InAccount, newestFirst, older, requireAccount } from '../place.js'
import { requireRecentSignIn } from '../recent-sign-in.js'
import { revise } from '../revise.js'
import { addressFault } from './address.js'
import { auths, newSecrets, openSecrets, type Secrets, sealSecrets } from './secrets.js'

export const MAX_WEBHOOKS = 20
/** How long records of deliveries are kept, and so what the success rate is about (spec section 8). */
export const RECORDS_KEPT = 14 * DAY

/** What a list can be asked for. A failing webhook is an active one in trouble. */
export const webhookFilters = ['active', 'disabled', 'deleted'] as const
export const webhookStatuses = ['active', 'disabled', 'failing', 'deleted'] as const

export interface WebhookPlace extends InAccount {
  webhookId: string
}

/** A webhook with what its statistics are made of. */
export type WebhookWithFigures = Webhook & { lane: WebhookLane | null; days: WebhookDay[] }

/** A webhook with the secrets that were made for it just now. */
export interface WebhookWithSecrets {
  webhook: Webhook
  made: Secrets
}

const authRule = z.enum(auths, `must be one of ${auths.join(', ')}.`)
const createRules = z.strictObject({
  url: rules.text(2048),
  eventTypes: z.array(z.string(), 'must be an array of event types, or null for all.').nullable().optional(),
  auth: authRule.optional(),
  name: rules.name.nullable().optional(),
  description: rules.description.optional(),
  metadata: rules.metadata.optional(),
})
const updateRules = createRules
  .partial()
  .extend({ status: z.enum(['active', 'disabled'], 'must be active or disabled.').optional() })

type Values = Partial<z.infer<typeof createRules>>

/** @throws invalid_request for an address that is never called, or a type that there is not */
function checkValues({ config }: Context, { url, eventTypes }: Values): void {
  const fault = url === undefined ? undefined : addressFault(url, config.allowPrivateNetworks)
  if (fault) throw invalidField('url', 'invalid_format', fault)
  checkTypes(eventTypes)
}

export const figuresOf = (context: Context) =>
  ({
    lane: true,
    days: { where: { day: { gt: dayOf(context.now() - RECORDS_KEPT) } } },
  }) satisfies Prisma.WebhookInclude

/** Days since 1970, UTC. */
export const dayOf = (moment: number): number => Math.floor(moment / DAY)

/** Newest first. */
export async function listWebhooks(
  context: Context,
  { accountId }: InAccount,
  { status }: { status?: (typeof webhookFilters)[number] | null },
  request: PageRequest,
): Promise<Page<WebhookWithFigures>> {
  const limit = limitOf(request)
  const wanted = status === 'active' ? { in: ['active', 'failing'] } : status
  const rows = await context.db.webhook.findMany({
    relationLoadStrategy: 'join',
    where: { AND: [{ accountId, status: wanted ?? { not: 'deleted' } }, older('whk', request.cursor)] },
    orderBy: newestFirst,
    take: limit + 1,
    include: figuresOf(context),
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return pageOf(rows, limit)
}

/** @throws not_found, also for a deleted one, which only the list still shows */
export async function getWebhook(
  context: Context,
  { accountId, webhookId }: WebhookPlace,
): Promise<WebhookWithFigures> {
  const webhook = await context.db.webhook.findFirst({
    relationLoadStrategy: 'join',
    where: { id: webhookId, accountId, status: { not: 'deleted' } },
    include: figuresOf(context),
  })
  if (!webhook) throw notFound('webhook')
  return webhook
}

/**
 * Makes a webhook; its secrets are in the answer and nowhere else.
 * @throws invalid_request, too_many_requests at 20, not_found for the account
 */
export async function createWebhook(context: Context, place: InAccount, input: unknown): Promise<WebhookWithSecrets> {
  const values = check(createRules, input)
  checkValues(context, values)
  const auth = values.auth ?? 'signature'
  const made = newSecrets(context, auth)
  return transaction(context, async (inside) => {
    const { accountId } = place
    // Locking the account keeps the limit under parallel calls (security rule 5).
    const [account] = await sql(inside.db, 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
    if (!account) throw notFound('account')
    const count = await inside.db.webhook.count({ where: { accountId, status: { not: 'deleted' } } })
    if (count >= MAX_WEBHOOKS) {
      throw new ApiError('too_many_requests', `An account has at most ${MAX_WEBHOOKS} webhooks; delete one first.`)
    }
    const row = newRow('whk', inside.now())
    const webhook = await inside.db.webhook.create({
      data: {
        ...row,
        accountId,
        name: values.name ?? null,
        description: values.description ?? null,
        url: values.url,
        eventTypes: [...new Set(values.eventTypes ?? [])],
        auth,
        secrets: sealSecrets(inside, made),
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        status: 'active',
      },
    })
    await inside.db.webhookLane.create({ data: { webhookId: row.id, accountId } })
    const { name, eventTypes, status } = webhook
    const data = { name, url: originOf(webhook), auth, event_types: eventTypes, status }
    await emit(inside, 'webhook.created', { ...aboutWebhook(webhook), data })
    return { webhook, made }
  })
}

/**
 * PATCH. Another `auth` brings new secrets, once; so does another origin for the bearer token, which would otherwise be
 * told to whoever the new address belongs to (security rule 19). `status: active` closes the circuit breaker. Who chooses
 * the address, adds event types or enables it reads those events, which asks for `events:read` as well (decisions D30).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateWebhook(
  context: Context,
  place: WebhookPlace,
  input: unknown,
  ifMatch?: string | null,
): Promise<WebhookWithSecrets> {
  const { eventTypes, metadata, ...values } = check(updateRules, input)
  checkValues(context, { ...values, eventTypes: eventTypes ?? null })
  let made: Secrets = {}
  const webhook = await reviseWebhook(
    context,
    place,
    'webhook.updated',
    ifMatch,
    (before) => {
      const { auth = before.auth as (typeof auths)[number], url = before.url } = values
      const enables = values.status === 'active' && before.status === 'disabled'
      if (enables || url !== before.url || widens(before.eventTypes, eventTypes)) requireScope(context, 'events:read')
      const old = openSecrets(context, before.secrets)
      made = {}
      if (auth !== before.auth) made = newSecrets(context, auth, old)
      else if (originOf({ url }) !== originOf(before) && old.bearer !== undefined) {
        made = { ...newSecrets(context, 'bearer') }
      }
      if (Object.keys(made).length > 0) requireRecentSignIn(context)
      return {
        ...values,
        ...(eventTypes !== undefined && { eventTypes: [...new Set(eventTypes ?? [])] }),
        ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
        ...(auth !== before.auth && { secrets: sealSecrets(context, made) }),
        ...(auth === before.auth &&
          made.bearer !== undefined && { secrets: sealSecrets(context, { ...old, ...made }) }),
      }
    },
    async (inside) => {
      if (values.status === 'active') {
        const data = { failures: 0, openUntil: 0, openFor: 0 }
        await inside.db.webhookLane.update({ where: { webhookId: place.webhookId }, data })
      }
    },
  )
  return { webhook, made }
}

/**
 * Soft delete (spec section 3): nothing is sent from now on, what waits is cancelled soon
 * (cancelling.ts); the list shows it for 31 days.
 * @throws not_found, precondition_failed
 */
export async function deleteWebhook(context: Context, place: WebhookPlace, ifMatch?: string | null): Promise<void> {
  await reviseWebhook(
    context,
    place,
    'webhook.deleted',
    ifMatch,
    // A secret that nothing is sent with is not kept.
    () => ({ status: 'deleted', deletedAt: context.now(), secrets: sealSecrets(context, {}) }),
  )
}

function reviseWebhook(
  context: Context,
  { accountId, webhookId }: WebhookPlace,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (webhook: Webhook) => Prisma.WebhookUncheckedUpdateManyInput,
  also?: (context: Context) => Promise<void>,
): Promise<Webhook> {
  return revise<Webhook, Prisma.WebhookUncheckedUpdateManyInput>(context, {
    what: 'webhook',
    table: 'webhooks',
    ifMatch,
    read: (now) => now.db.webhook.findFirst({ where: { id: webhookId, accountId, status: { not: 'deleted' } } }),
    change,
    write: async (now, version, data) =>
      (await now.db.webhook.updateManyAndReturn({ where: { id: webhookId, updatedAt: version }, data }))[0],
    also: async (inside, before, webhook) => {
      await also?.(inside)
      const changes = toldChanges(withSecrets(context, before), withSecrets(context, webhook))
      await emit(inside, type, { ...aboutWebhook(webhook), changes })
      // Whoever sends for it right now sends the next one as it is from now on, or not at all.
      await announce(inside, 'webhook', webhookId)
    },
  })
}

/**
 * Moves a webhook from one status to another because of its deliveries, unless somebody was faster.
 * @param why for the trail
 */
export async function moveWebhook(
  context: Context,
  webhookId: string,
  [from, to]: ['active', 'failing'] | ['failing', 'active'],
  why: Record<string, unknown>,
): Promise<void> {
  await transaction(context, async (inside) => {
    const data = { status: to, updatedAt: inside.now() }
    const [webhook] = await inside.db.webhook.updateManyAndReturn({ where: { id: webhookId, status: from }, data })
    if (!webhook) return
    const changes = { status: { old: from, new: to } }
    const type = to === 'failing' ? 'webhook.failing' : 'webhook.updated'
    await emit(inside, type, { ...aboutWebhook(webhook), data: why, changes })
  })
}

/** Would these event types send more than those before? Null and an empty list stand for all. */
function widens(before: readonly string[], after: readonly string[] | null | undefined): boolean {
  if (after === undefined || before.length === 0) return false
  return after === null || after.length === 0 || after.some((type) => !before.includes(type))
}

const originOf = ({ url }: { url: string }): string => new URL(url).origin

export const aboutWebhook = ({ accountId, id }: Webhook) => ({ accountId, target: { type: 'webhook', id } })

const withSecrets = (context: Context, webhook: Webhook) => ({ ...webhook, ...openSecrets(context, webhook.secrets) })

/** Paths and queries of such addresses are often secrets themselves: the trail has the origin alone. */
function toldChanges(before: Webhook, after: Webhook): Changes {
  const { url, ...changes } = changesBetween('webhook', before, after)
  const [old, now] = [originOf(before), originOf(after)]
  return { ...changes, ...(url && { url: old === now ? CHANGED : { old, new: now } }) }
}
