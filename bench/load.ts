/** A closed-loop load generator of form posts: each caller waits for its response before it sends the next request. */
import { Client } from 'undici'

export interface FormRequest {
  path: string
  headers: Record<string, string>
  body: string
}

export interface LoadClient {
  /** Returns the next request. */
  next(): FormRequest
  /** Receives the body of a 200 response, for callers whose next request depends on it. */
  onResponse?(body: string): void
}

export interface LoadResult {
  requests: number
  /** Number of responses other than 200. */
  failed: number
  /** Durations in milliseconds, ascending. */
  latencies: number[]
}

/** Sends requests for the given number of milliseconds, and waits for the requests in progress. */
export async function runLoad(
  origin: string,
  clients: readonly LoadClient[],
  milliseconds: number,
): Promise<LoadResult> {
  const latencies: number[] = []
  let failed = 0
  const end = performance.now() + milliseconds
  await Promise.all(
    clients.map(async (loadClient) => {
      const client = new Client(origin)
      do {
        const { path, headers, body } = loadClient.next()
        const began = performance.now()
        const answer = await client.request({ method: 'POST', path, headers, body })
        const text = await answer.body.text()
        latencies.push(performance.now() - began)
        if (answer.statusCode !== 200) failed++
        else loadClient.onResponse?.(text)
      } while (performance.now() < end)
      await client.close()
    }),
  )
  return { requests: latencies.length, failed, latencies: latencies.sort((a, b) => a - b) }
}

/** @param share 0.99 for the 99th percentile */
export const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

/** Builds a form request with HTTP Basic credentials. */
export function formRequest(
  path: string,
  client: { id: string; secret: string },
  values: Record<string, string>,
): FormRequest {
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
