/** Delivery statistics of webhooks (docs/contract.md#webhooks), computed from daily counts. */
import type { Page } from '../../kernel/pagination.js'
import { toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { newestFirst } from '../resource-path.js'
import { statisticsInclude, type WebhookWithStatistics } from './webhooks.js'

export interface WebhookStatistics {
  /** The share of successful attempts in the last 14 days, from 0 to 1; null without attempts. */
  successRate: number | null
  /** Time of the last successful attempt (Unix milliseconds); null if there was none. */
  lastDeliveryAt: number | null
}

/** Computes the statistics of a webhook. The success rate is rounded to four decimal places. */
export function webhookStatistics({ deliveryQueue, dailyCounts }: StatisticsSource): WebhookStatistics {
  const succeeded = dailyCounts.reduce((sum, day) => sum + day.succeeded, 0)
  const all = dailyCounts.reduce((sum, day) => sum + day.failed, succeeded)
  const lastDeliveryAt = deliveryQueue?.lastDeliveryAt ?? null
  return {
    successRate: all === 0 ? null : Math.round((succeeded / all) * 10_000) / 10_000,
    lastDeliveryAt: lastDeliveryAt === null ? null : Number(lastDeliveryAt),
  }
}

type StatisticsSource = Pick<WebhookWithStatistics, 'deliveryQueue' | 'dailyCounts'>

/** Loads the rows for the statistics of several webhooks in one query. */
export async function loadStatisticsSources(context: Context, ids: readonly string[]): Promise<StatisticsSource[]> {
  const rows = await context.db.webhook.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...ids] } },
    include: statisticsInclude(context),
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id) ?? { deliveryQueue: null, dailyCounts: [] })
}

/** Loads the newest webhooks of several accounts in one query. */
export async function newestWebhooksOf(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<WebhookWithStatistics>[]> {
  const rows = await context.db.account.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...accountIds] } },
    select: {
      id: true,
      webhooks: {
        where: { status: { not: 'deleted' } },
        orderBy: newestFirst,
        take: limit + 1,
        include: statisticsInclude(context),
      },
    },
  })
  const byId = new Map(rows.map((row) => [row.id, row.webhooks]))
  return accountIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
