/**
 * Measures requests for the discovery document and the key set, and counts the database transactions that they cause.
 */
import autocannon from 'autocannon'
import { createFolder, removeFolder, startServer } from './server.js'

const SECONDS = 6

/** @returns requests per CPU second of the node process, and the database transactions of all requests */
export async function bench(): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const server = await startServer(folder)
  const resource = await fetch(`${server.baseUrl}/.well-known/oauth-protected-resource`)
  const { authorization_servers } = (await resource.json()) as { authorization_servers: string[] }
  const issuer = authorization_servers[0]!
  const rows: Record<string, unknown>[] = []
  for (const path of ['/.well-known/openid-configuration', '/jwks.json']) {
    await autocannon({ url: `${issuer}${path}`, connections: 8, duration: 2 })
    const commits = await server.commits()
    const before = server.cpuSeconds()
    const result = await autocannon({ url: `${issuer}${path}`, connections: 8, duration: SECONDS })
    const cpu = server.cpuSeconds() - before
    rows.push({
      figure: `GET ${path}`,
      'per CPU second': Math.round(result.requests.total / cpu),
      requests: result.requests.total,
      'transactions meanwhile': (await server.commits()) - commits,
      'p99 ms': result.latency.p99,
      'not 2xx': result.non2xx,
    })
  }
  await server.stop()
  removeFolder(folder)
  return rows
}
