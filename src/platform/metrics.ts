import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/**
 * The Prometheus metrics of the process. Label values come from small fixed sets, such as route templates and names of
 * jobs. They never contain IDs.
 */
export interface Metrics {
  readonly registry: Registry
  readonly requests: Histogram<'server' | 'method' | 'route' | 'status'>
  readonly rateLimited: Counter<'limit'>
  readonly periodicRuns: Counter<'job' | 'result'>
  readonly periodicDuration: Histogram<'job'>
  readonly jobAttempts: Counter<'task' | 'outcome'>
}

/**
 * The default metrics of Node.js. They are registered once per process, because prom-client cannot stop their
 * observers.
 */
let processRegistry: Registry | undefined

function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry, prefix: 'gatehouse_' })
  }
  return processRegistry
}

/** Creates the metrics in a new registry, so that several instances of Gatehouse can run in one process. */
export function createMetrics(): Metrics {
  processMetrics()
  const registry = new Registry()
  return {
    registry,
    requests: new Histogram({
      name: 'gatehouse_http_request_duration_seconds',
      help: 'Response time, by server, method, route template and status.',
      labelNames: ['server', 'method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
    rateLimited: new Counter({
      name: 'gatehouse_rate_limited_requests_total',
      help: 'Requests refused by a rate limit.',
      labelNames: ['limit'],
      registers: [registry],
    }),
    periodicRuns: new Counter({
      name: 'gatehouse_periodic_job_runs_total',
      help: 'Runs of periodic jobs in this process, by job and result (succeeded, failed, interrupted).',
      labelNames: ['job', 'result'],
      registers: [registry],
    }),
    periodicDuration: new Histogram({
      name: 'gatehouse_periodic_job_duration_seconds',
      help: 'Duration of runs of periodic jobs in this process.',
      labelNames: ['job'],
      buckets: [0.01, 0.1, 1, 10, 60, 600],
      registers: [registry],
    }),
    jobAttempts: new Counter({
      name: 'gatehouse_job_attempts_total',
      help: 'Attempts to run queued jobs in this process, by task and outcome (succeeded, retried, postponed, failed).',
      labelNames: ['task', 'outcome'],
      registers: [registry],
    }),
  }
}

/** Returns the metrics of Gatehouse and the default metrics of Node.js in the Prometheus text format. */
export async function readMetrics({ registry }: Metrics): Promise<{ type: string; text: string }> {
  const all = Registry.merge([registry, processMetrics()])
  return { type: all.contentType, text: await all.metrics() }
}

/**
 * Registers a gauge whose values are collected on each scrape.
 * @param collectValues calls `set` for each combination of labels that has a value. Other combinations are absent from
 *   the output.
 */
export function registerGauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[],
  collectValues: (set: (labels: Record<Label, string>, value: number) => void) => Promise<void>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset()
      await collectValues((labels, value) => this.set(labels, value))
    },
  })
}

/**
 * Returns a function that shares one call of `load` between concurrent calls, so that one scrape that collects several
 * gauges runs one query. The result is empty when `load` fails.
 */
export function shareInFlight<State>(load: () => Promise<State[]>): () => Promise<State[]> {
  let inFlight: Promise<State[]> | undefined
  return () => {
    inFlight ??= load()
      .catch(() => [])
      .finally(() => {
        inFlight = undefined
      })
    return inFlight
  }
}
