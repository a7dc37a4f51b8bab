import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** Prometheus metrics of the process. Labels hold templates and names of operations, never ids. */
export interface Metrics {
  readonly registry: Registry
  readonly requests: Histogram<'server' | 'method' | 'route' | 'status'>
  readonly refusals: Counter<'limit'>
  readonly periodicRuns: Counter<'job' | 'result'>
  readonly periodicDuration: Histogram<'job'>
  readonly queueAttempts: Counter<'task' | 'outcome'>
}

/** A registry of its own for each application, so that several can live in one process. */
export function openMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'gatehouse_' })
  return {
    registry,
    requests: new Histogram({
      name: 'gatehouse_http_request_duration_seconds',
      help: 'Time to answer, by server, method, route template and status.',
      labelNames: ['server', 'method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'gatehouse_rate_limited_total',
      help: 'Requests refused by a rate limit.',
      labelNames: ['limit'],
      registers: [registry],
    }),
    periodicRuns: new Counter({
      name: 'gatehouse_periodic_job_runs_total',
      help: 'Runs of periodic jobs in this process, by job and result (ok, failed, stopped).',
      labelNames: ['job', 'result'],
      registers: [registry],
    }),
    periodicDuration: new Histogram({
      name: 'gatehouse_periodic_job_duration_seconds',
      help: 'How long runs of periodic jobs in this process took.',
      labelNames: ['job'],
      buckets: [0.01, 0.1, 1, 10, 60, 600],
      registers: [registry],
    }),
    queueAttempts: new Counter({
      name: 'gatehouse_queue_attempts_total',
      help: 'Attempts at queued work in this process, by task and outcome (done, again, postponed, failed).',
      labelNames: ['task', 'outcome'],
      registers: [registry],
    }),
  }
}
