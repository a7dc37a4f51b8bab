/** A closed loop of form posts: so many callers, each of which waits for its answer before it asks again. */
import { Client } from 'undici'

export interface Post {
  path: string
  headers: Record<string, string>
  body: string
}

export interface Caller {
  /** What to send next. */
  next(): Post
  /** The body of a 200 answer, for callers whose next request depends on it. */
  answered?(body: string): void
}

export interface Load {
  requests: number
  /** Answers other than 200. */
  failed: number
  /** Milliseconds, ascending. */
  latencies: number[]
}

/** Keeps the callers busy for so many milliseconds; requests that are under way then are still answered. */
export async function load(origin: string, callers: readonly Caller[], milliseconds: number): Promise<Load> {
  const latencies: number[] = []
  let failed = 0
  const end = performance.now() + milliseconds
  await Promise.all(
    callers.map(async (caller) => {
      const client = new Client(origin)
      do {
        const { path, headers, body } = caller.next()
        const began = performance.now()
        const answer = await client.request({ method: 'POST', path, headers, body })
        const text = await answer.body.text()
        latencies.push(performance.now() - began)
        if (answer.statusCode !== 200) failed++
        else caller.answered?.(text)
      } while (performance.now() < end)
      await client.close()
    }),
  )
  return { requests: latencies.length, failed, latencies: latencies.sort((a, b) => a - b) }
}

/** @param share 0.99 for p99 */
export const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

/** A form with HTTP Basic credentials. */
export function form(path: string, client: { id: string; secret: string }, values: Record<string, string>): Post {
  return {
    path,
    headers: {
      authorization: `Basic ${Buffer.from(`${client.id}:${encodeURIComponent(client.secret)}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams(values).toString(),
  }
}
