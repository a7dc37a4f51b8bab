import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Prometheus metrics of the process. Labels hold templates and names of operations, never ids. */
export interface Metrics {
  readonly registry: Registry
  readonly requests: Histogram<'server' | 'method' | 'route' | 'status'>
  readonly refusals: Counter<'limit'>
  readonly periodicRuns: Counter<'job' | 'result'>
  readonly periodicDuration: Histogram<'job'>
  readonly queueAttempts: Counter<'task' | 'outcome'>
}

/** What is measured of the process itself. Its observers never stop, so that there is one of each. */
let ofProcess: Registry | undefined

function watchProcess(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: 'gatehouse_' })
  }
  return ofProcess
}

/** A registry of its own for each application, so that several can live in one process. */
export function openMetrics(): Metrics {
  watchProcess()
  const registry = new Registry()
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

/** What is measured of this application and of the process, in Prometheus's text form. */
export async function readMetrics({ registry }: Metrics): Promise<{ type: string; text: string }> {
  const all = Registry.merge([registry, watchProcess()])
  return { type: all.contentType, text: await all.metrics() }
}

/**
 * A gauge that is filled whenever somebody reads the metrics.
 * @param fill what it cannot find out it leaves out
 */
export function gauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[],
  fill: (set: (labels: Record<Label, string>, value: number) => void) => Promise<void>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset()
      await fill((labels, value) => this.set(labels, value))
    },
  })
}

/** One look at the database for several gauges, and for several readers at once; nothing when it cannot be asked. */
export function shared<State>(ask: () => Promise<State[]>): () => Promise<State[]> {
  let answer: Promise<State[]> | undefined
  return () => {
    answer ??= ask()
      .catch(() => [])
      .finally(() => {
        answer = undefined
      })
    return answer
  }
}
