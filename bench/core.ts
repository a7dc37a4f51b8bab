/** Measures reads, lists and writes of `/v1`, in requests per CPU second of the server. */
import autocannon from 'autocannon'
import { createFolder, removeFolder, startServer } from './server.js'

const SECONDS = 6

/** @returns requests per CPU second of the node process for each kind of request */
export async function bench(): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const server = await startServer(folder)
  const headers = { authorization: server.authorization, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.baseUrl}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as { data: { id: string }[] & { id: string } }
  }
  const [account] = (await call('GET', '/v1/accounts')).data
  const A = `/v1/accounts/${account!.id}`
  const I = `${A}/issuers/${(await call('POST', `${A}/issuers`, { name: 'Bench' })).data.id}`
  const client = { name: 'Bench', type: 'internal', confidential: false, settings: { openid: { redirect_uris: [] } } }
  const { id } = (await call('POST', `${I}/clients`, client)).data
  for (let n = 0; n < 100; n++) await call('POST', `${I}/clients`, { ...client, name: `Bench ${n}` })

  const rows: Record<string, unknown>[] = []
  const measure = async (figure: string, request: autocannon.Request) => {
    await autocannon({ url: server.baseUrl, connections: 8, duration: 2, requests: [{ headers, ...request }] })
    const commits = await server.commits()
    const before = server.cpuSeconds()
    const result = await autocannon({
      url: server.baseUrl,
      connections: 8,
      duration: SECONDS,
      idReplacement: true,
      requests: [{ headers, ...request }],
    })
    const cpu = server.cpuSeconds() - before
    // Reading this counter also costs a few transactions.
    const statements = ((await server.commits()) - commits) / result.requests.total
    rows.push({
      figure,
      'per CPU second': Math.round(result.requests.total / cpu),
      'per second': Math.round(result.requests.average),
      'p50 ms': result.latency.p50,
      'p99 ms': result.latency.p99,
      'transactions each': statements.toFixed(2),
      'not 2xx': result.non2xx,
    })
  }
  await measure('GET one client', { method: 'GET', path: `${I}/clients/${id}` })
  await measure('GET 100 clients', { method: 'GET', path: `${I}/clients?limit=100` })
  // autocannon replaces [<id>] by a new value in each request.
  await measure('PATCH one client', {
    method: 'PATCH',
    path: `${I}/clients/${id}`,
    body: JSON.stringify({ description: '[<id>]' }),
  })
  await measure('PATCH without a change', {
    method: 'PATCH',
    path: `${I}/clients/${id}`,
    body: JSON.stringify({ name: 'Bench' }),
  })
  await measure('POST a client', { method: 'POST', path: `${I}/clients`, body: JSON.stringify(client) })
  await server.stop()
  removeFolder(folder)
  return rows
}
