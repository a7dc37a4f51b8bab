/**
 * Webhook delivery worker (docs/contract.md#webhook-delivery-rules). Each webhook with due deliveries has its own
 * delivery loop. The number of concurrent attempts of a loop is small, and smaller while the receiver is slow, so that
 * a slow or unreachable receiver does not delay deliveries to others. The worker polls for due deliveries at intervals;
 * notifications trigger a poll early.
 */
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { type BackgroundWorker, systemContext } from '../../platform/jobs/periodic-jobs.js'
import { listen } from '../../platform/postgres/notifications.js'
import { type ConcurrencySlots, type DeliveryLoop, runDeliveryLoop } from './delivery-loop.js'
import { type DeliveryQueue, leaseQueues, waitingQueues } from './delivery-queues.js'

/** Creates the slots of a process. When a slot becomes free, the delivery loop that has waited longest gets it. */
function createConcurrencySlots(count: number): ConcurrencySlots & { freeCount(): number } {
  const waiting = new Set<() => void>()
  let freeSlots = count
  return {
    freeCount: () => freeSlots,
    acquire(retry) {
      if (freeSlots === 0) {
        waiting.add(retry)
        return false
      }
      freeSlots--
      return true
    },
    release() {
      freeSlots++
      const [first] = waiting
      if (!first) return
      waiting.delete(first)
      first()
    },
  }
}

interface DeliverySender {
  /**
   * Leases free queues of these accounts and webhooks and starts their delivery loops.
   * @returns the number of leased queues
   */
  leaseAndStart(where: { accounts?: readonly string[]; webhooks?: readonly string[] }): Promise<number>
  /**
   * Leases free queues with due deliveries and starts their delivery loops.
   * @returns the milliseconds until the next poll, and the number of leased queues
   */
  poll(): Promise<{ wait: number; leasedCount: number }>
  /** Handles a notification: a webhook has changed, or an account has new deliveries. */
  onNotification(id: string): void
  /** Resolves when all delivery loops have ended. */
  waitUntilIdle(): Promise<void>
  /** Stops starting attempts. Attempts in progress finish. */
  stop(): void
}

/** @param onEnd called when a delivery loop has ended */
function createSender(gatehouse: Gatehouse, onEnd: () => void = () => {}): DeliverySender {
  const slots = createConcurrencySlots(limits.maxConcurrentWebhookAttempts)
  const loops = new Map<string, { loop: DeliveryLoop; queue: DeliveryQueue }>()
  const context: Context = systemContext(gatehouse)
  let isStopped = false

  function startLoop(queue: DeliveryQueue): void {
    const loop = runDeliveryLoop(systemContext(gatehouse), queue, slots)
    loops.set(queue.webhookId, { loop, queue })
    void loop.ended
      .catch((error) => {
        // When the lease of the loop expires, a worker leases the queue again.
        gatehouse.log.error({ err: error, webhook: queue.webhookId }, 'webhook delivery loop failed')
        return false
      })
      .then((more) => {
        if (loops.get(queue.webhookId)?.loop === loop) loops.delete(queue.webhookId)
        if (more && !isStopped) void leaseAndStart({ webhooks: [queue.webhookId] }).catch(() => 0)
        onEnd()
      })
  }

  async function leaseAndStart(filter: {
    accounts?: readonly string[]
    webhooks?: readonly string[]
  }): Promise<number> {
    if (isStopped || slots.freeCount() === 0) return 0
    const queues = await leaseQueues(context, filter)
    for (const queue of queues) startLoop(queue)
    return queues.length
  }

  return {
    leaseAndStart,
    async poll() {
      const waiting = await waitingQueues(context, [...loops.keys()])
      const now = gatehouse.now()
      const due = waiting.filter(({ at }) => at <= now).map(({ webhookId }) => webhookId)
      const leasedCount = due.length === 0 ? 0 : await leaseAndStart({ webhooks: due })
      const next = waiting.find(({ at }) => at > now)?.at
      if (leasedCount < due.length) return { leasedCount, wait: limits.webhookLeaseRetryInterval }
      return {
        leasedCount,
        wait:
          next === undefined
            ? limits.maxWebhookPollInterval
            : Math.max(limits.minWebhookPollInterval, Math.min(limits.maxWebhookPollInterval, next - now)),
      }
    },
    onNotification(id) {
      for (const { loop, queue } of loops.values()) {
        if (queue.webhookId === id) loop.webhookChanged()
        if (queue.accountId === id) loop.deliveriesAdded()
      }
    },
    async waitUntilIdle() {
      while (loops.size > 0) await Promise.allSettled([...loops.values()].map(({ loop }) => loop.ended))
    },
    stop() {
      isStopped = true
      for (const { loop } of loops.values()) loop.stop()
    },
  }
}

/** Delivers webhooks until stopped. Stopping waits for the attempts in progress. */
export function startWebhookDelivery(gatehouse: Gatehouse): BackgroundWorker {
  let hasLoopEnded = false
  const sender = createSender(gatehouse, () => {
    hasLoopEnded = true
    const retryAt = gatehouse.now() + limits.webhookLeaseRetryInterval
    if (nextPollAt <= retryAt) return
    nextPollAt = retryAt
    if (!polling) schedulePoll(limits.webhookLeaseRetryInterval)
  })
  const notifiedIds = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let polling: Promise<void> | undefined
  let isStopped = false
  let nextPollAt = 0

  const schedulePoll = (wait: number): void => {
    if (isStopped) return
    clearTimeout(timer)
    timer = setTimeout(pollNow, wait)
    timer.unref()
  }
  function pollNow(): void {
    if (polling || isStopped) return
    polling = runPollRound()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'polling for due webhook deliveries failed; retrying')
        nextPollAt = gatehouse.now() + SECOND
      })
      .then(() => {
        polling = undefined
        schedulePoll(
          notifiedIds.size > 0 ? 0 : Math.max(0, Math.min(limits.maxWebhookPollInterval, nextPollAt - gatehouse.now())),
        )
      })
  }
  async function runPollRound(): Promise<void> {
    if (notifiedIds.size > 0) {
      const ids = [...notifiedIds]
      notifiedIds.clear()
      await sender.leaseAndStart({ accounts: ids, webhooks: ids })
    }
    if (gatehouse.now() < nextPollAt && nextPollAt - gatehouse.now() <= limits.maxWebhookPollInterval) return
    hasLoopEnded = false
    const { wait } = await sender.poll()
    // The poll excludes webhooks with a running loop. If a loop has ended since, its webhook needs another poll soon.
    nextPollAt = gatehouse.now() + (hasLoopEnded ? Math.min(wait, limits.webhookLeaseRetryInterval) : wait)
  }

  const subscription = listen(gatehouse.database, gatehouse.log, {
    onNotification: (channel, id) => {
      if (channel !== 'webhook') return
      sender.onNotification(id)
      notifiedIds.add(id)
      pollNow()
    },
    onReconnect: () => {
      nextPollAt = 0
      pollNow()
    },
  })
  schedulePoll(0)
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      sender.stop()
      await subscription.close()
      await polling
      await sender.waitUntilIdle()
    },
  }
}

/**
 * Sends deliveries that are due or become due while it runs, until no queue with due deliveries can be leased: queues
 * that another process has leased or whose circuit breaker is open are omitted. For tests.
 */
export async function sendDueDeliveries(gatehouse: Gatehouse): Promise<void> {
  const sender = createSender(gatehouse)
  while ((await sender.poll()).leasedCount > 0) await sender.waitUntilIdle()
}
