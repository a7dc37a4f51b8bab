/** What deliveries come to (spec 2.15), off counts by day that the sending keeps. */
import type { Page } from '../../kernel/page.js'
import { pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { newestFirst } from '../place.js'
import { figuresOf, type WebhookWithFigures } from './webhooks.js'

export interface WebhookStatistics {
  successRate: number | null
  lastDeliveryAt: number | null
}

/** The share of attempts that were accepted in the last 14 days, to four digits, and when the last one was. */
export function statistics({ lane, days }: Pick<WebhookWithFigures, 'lane' | 'days'>): WebhookStatistics {
  const succeeded = days.reduce((sum, day) => sum + day.succeeded, 0)
  const all = days.reduce((sum, day) => sum + day.failed, succeeded)
  const lastDeliveryAt = lane?.lastDeliveryAt ?? null
  return {
    successRate: all === 0 ? null : Math.round((succeeded / all) * 10_000) / 10_000,
    lastDeliveryAt: lastDeliveryAt === null ? null : Number(lastDeliveryAt),
  }
}

type Figures = Pick<WebhookWithFigures, 'lane' | 'days'>

/** The figures of several webhooks, in one query. */
export async function webhooksWithFigures(context: Context, ids: readonly string[]): Promise<Figures[]> {
  const rows = await context.db.webhook.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...ids] } },
    include: figuresOf(context),
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id) ?? { lane: null, days: [] })
}

/** The newest webhooks of several accounts, in one query. */
export async function webhooksOf(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<WebhookWithFigures>[]> {
  const rows = await context.db.account.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...accountIds] } },
    select: {
      id: true,
      webhooks: {
        where: { status: { not: 'deleted' } },
        orderBy: newestFirst,
        take: limit + 1,
        include: figuresOf(context),
      },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.webhooks]))
  return accountIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
