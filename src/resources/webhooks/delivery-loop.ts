/**
 * The delivery loop of one leased queue claims due deliveries, runs concurrent attempts and writes their results in
 * batches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type AttemptResult, attemptDelivery, type DueDelivery, type Receiver } from './delivery-attempt.js'
import {
  claimDueDeliveries,
  type DeliveryLease,
  type DeliveryQueue,
  recordResults,
  releaseDeliveries,
} from './delivery-queues.js'
import { decryptSecrets } from './secrets.js'
import { changeWebhookStatus } from './webhooks.js'

/** Limits the concurrent attempts of a process across all of its delivery loops. */
export interface ConcurrencySlots {
  /** Acquires a slot. If none is free, returns false, and calls `retry` once when a slot becomes free. */
  acquire(retry: () => void): boolean
  release(): void
}

export interface DeliveryLoop {
  /**
   * Resolves when no delivery is due or sending must stop. Resolves to true if new deliveries may already be due.
   */
  readonly ended: Promise<boolean>
  /** Call it when the webhook has changed. */
  webhookChanged(): void
  /** Call it when there may be new deliveries. */
  deliveriesAdded(): void
  /** Stops starting attempts. Attempts in progress finish. */
  stop(): void
}

/** Starts the delivery loop of a leased queue. */
export function runDeliveryLoop(context: Context, queue: DeliveryQueue, slots: ConcurrencySlots): DeliveryLoop {
  const { webhookId } = queue
  const buffer: DueDelivery[] = []
  const results: AttemptResult[] = []
  let receiver: Receiver = { webhookId, url: '', secrets: {} }
  let encryptedSecrets = ''
  let inFlight = 0
  let slotLimit = limits.concurrentAttemptsPerWebhook
  /** Number of consecutive failed attempts, including those whose results are not written yet. */
  let consecutiveFailures = 0
  let isPaused = true
  let isStopping = false
  let hasUpdate = false
  let hasMore = false
  let wake = (): void => {}

  function startAttempts(): void {
    while (!isPaused && buffer.length > 0 && inFlight < slotLimit && slots.acquire(startAttempts))
      startAttempt(buffer.shift()!)
  }
  function startAttempt(delivery: DueDelivery): void {
    inFlight++
    const startedAt = performance.now()
    void attemptDelivery(context, receiver, delivery).then((result) => {
      inFlight--
      slots.release()
      results.push(result)
      slotLimit =
        performance.now() - startedAt > limits.slowWebhookResponseTime
          ? limits.concurrentAttemptsPerSlowWebhook
          : limits.concurrentAttemptsPerWebhook
      consecutiveFailures = result.status === 'delivered' ? 0 : consecutiveFailures + 1
      // Anticipates the circuit breaker, which opens when the results are written.
      if (consecutiveFailures >= limits.webhookBreakerThreshold) isPaused = true
      startAttempts()
      const isRunningLow = buffer.length === 0 && inFlight <= slotLimit / 2
      if (inFlight === 0 || isRunningLow || results.length >= limits.maxWebhookDeliveryBatchSize) wake()
      else if (results.length === 1) setTimeout(() => wake(), limits.webhookResultWriteDelay).unref()
    })
  }

  /** Waits until there is work or the lease must be renewed. */
  function waitForWork(): Promise<void> {
    const isIdle = inFlight === 0 && (buffer.length === 0 || results.length > 0)
    if (hasUpdate || isIdle) return Promise.resolve()
    return new Promise((done) => {
      const timer = setTimeout(done, limits.webhookLeaseRenewalInterval)
      timer.unref()
      wake = () => {
        clearTimeout(timer)
        done()
      }
    })
  }

  /**
   * Writes the results so far, renews or releases the lease, and updates the status of the webhook. Retries during a
   * database outage for as long as the lease lasts.
   * @returns undefined if the lease is lost
   */
  async function writeResults(release: boolean): Promise<DeliveryLease | undefined> {
    const batch = results.splice(0)
    for (const startedAt = performance.now(); ; ) {
      try {
        const lease = await recordResults(context, queue, batch, release)
        if (lease) await updateWebhookStatus(lease, batch)
        return lease
      } catch (error) {
        isPaused = true
        context.log.warn({ err: error, webhook: webhookId }, 'writing webhook delivery results failed; retrying')
        if (performance.now() - startedAt > limits.webhookLeaseDuration) return undefined
        await sleep(SECOND, undefined, { ref: false })
      }
    }
  }

  /** Updates the status of the webhook after a batch of results (docs/contract.md#webhook-payload-and-signature). */
  async function updateWebhookStatus(
    { status, consecutiveFailures: failures }: DeliveryLease,
    batch: readonly AttemptResult[],
  ): Promise<void> {
    const last = batch.findLast((result) => result.status !== 'failing')?.status
    try {
      if (status === 'active' && (failures >= limits.webhookFailingThreshold || last === 'failed')) {
        const eventData = { consecutive_failures: failures, last_error: batch.at(-1)?.error ?? null }
        await changeWebhookStatus(context, webhookId, ['active', 'failing'], eventData)
      } else if (status === 'failing' && failures === 0 && last === 'delivered') {
        await changeWebhookStatus(context, webhookId, ['failing', 'active'], {})
      }
    } catch (error) {
      context.log.warn({ err: error, webhook: webhookId }, 'updating the webhook status failed')
    }
  }

  async function run(): Promise<boolean> {
    let batchSize = limits.concurrentAttemptsPerWebhook
    let claimedAt = 0
    for (;;) {
      hasUpdate = false
      const lease = await writeResults(false)
      const isActive = lease !== undefined && ['active', 'failing'].includes(lease.status)
      if (!isActive || isStopping || lease.breakerOpenUntil > context.now()) {
        isPaused = true
        const untried = buffer.splice(0)
        // If the lease is lost, another worker may own these deliveries.
        if (lease) await releaseDeliveries(context, untried)
        if (inFlight === 0 && results.length === 0) {
          if (lease) await writeResults(true)
          return false
        }
        await waitForWork()
        continue
      }
      if (lease.secrets !== encryptedSecrets)
        receiver = { ...receiver, secrets: decryptSecrets(context, lease.secrets) }
      encryptedSecrets = lease.secrets
      receiver = { ...receiver, url: lease.url }
      // When the time of an open circuit breaker is over, a single attempt is made. Its result closes the circuit
      // breaker or opens it again.
      const isProbing = lease.breakerOpenMs > 0
      consecutiveFailures = lease.consecutiveFailures
      isPaused = false
      if (buffer.length === 0 && (isProbing ? inFlight === 0 : inFlight < slotLimit)) {
        const elapsed = performance.now() - claimedAt
        if (claimedAt > 0)
          batchSize =
            elapsed < limits.webhookDeliveryBatchTargetTime
              ? Math.min(limits.maxWebhookDeliveryBatchSize, batchSize * 2)
              : Math.max(limits.concurrentAttemptsPerWebhook, batchSize >> 1)
        claimedAt = performance.now()
        hasMore = false
        buffer.push(...(await claimDueDeliveries(context, queue, isProbing ? 1 : batchSize)))
        if (buffer.length === 0 && inFlight === 0 && results.length === 0) {
          await writeResults(true)
          return hasMore
        }
      }
      if (isProbing) consecutiveFailures = 0
      startAttempts()
      await waitForWork()
    }
  }

  return {
    ended: run(),
    webhookChanged() {
      hasUpdate = true
      wake()
    },
    deliveriesAdded() {
      hasMore = true
      if (buffer.length === 0 && inFlight < slotLimit) wake()
    },
    stop() {
      isStopping = true
      isPaused = true
      hasUpdate = true
      wake()
    },
  }
}
