/** A load generator for POST requests with forms. Each caller waits for a response before it sends its next request. */
import { Client } from 'undici'

export interface FormRequest {
  path: string
  headers: Record<string, string>
  body: string
}

export interface LoadClient {
  /** Returns the next request. */
  next(): FormRequest
  /** Called with the body of each 200 response, for callers whose next request depends on the response. */
  onResponse?(body: string): void
}

export interface LoadResult {
  requests: number
  /** The number of responses with a status other than 200. */
  failed: number
  /** The response times in milliseconds, in ascending order. */
  latencies: number[]
}

/** Sends requests for the given number of milliseconds, and then waits for the responses to requests in progress. */
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

/**
 * Returns a percentile of values in ascending order.
 * @param share the percentile as a fraction, such as 0.99 for the 99th percentile
 */
export const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

/** Creates a form request with HTTP Basic credentials. */
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
