/**
 * The peer: oidc-provider as it comes, in a process of its own, with everything in maps in memory. The same version,
 * the same algorithm (ES256), JWT access tokens through resource indicators, rotated refresh tokens: the same work,
 * without a database, tenants, sessions or hashed secrets.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { jwtVerify } from 'jose'
import type { Adapter, AdapterPayload, Provider } from 'oidc-provider'

const client = { id: 'stock', secret: 'a secret of the stock provider, long enough' }
const RESOURCE = 'urn:bench:resource'
const SCOPES = 'a:read b:read'

interface Facts {
  origin: string
  refreshTokens: string[]
  /** The stock provider introspects no JWT; see `takeJwts`. */
  jwt: string
  opaque: string
}

export interface Stock extends Facts {
  client: typeof client
  /** CPU seconds that the process has used, user and system. */
  cpu(): number
  stop(): void
}

/** Starts the peer. @param families how many refresh tokens it gives out */
export async function startStock(families: number): Promise<Stock> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [String(families)], {
    env: { PATH: process.env['PATH'] ?? '' },
    // Its warnings about a configuration for development are beside the point.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const [facts] = (await once(child, 'message')) as [Facts]
  return { ...facts, client, cpu: () => cpuOf(child.pid!), stop: () => void child.kill() }
}

/** CPU seconds of a process: what `process.cpuUsage` says inside of it. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function memory(): (kind: string) => Adapter {
  const rows = new Map<string, AdapterPayload>()
  return (kind) => ({
    upsert: async (id, payload) => void rows.set(`${kind} ${id}`, payload),
    find: async (id) => rows.get(`${kind} ${id}`),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
    consume: async (id) => {
      const row = rows.get(`${kind} ${id}`)
      if (row) row['consumed'] = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => void rows.delete(`${kind} ${id}`),
    revokeByGrantId: async () => undefined,
  })
}

async function serve(families: number): Promise<void> {
  const { default: Provider } = await import('oidc-provider')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let opaque = false
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(origin, {
    adapter: memory(),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ['https://app.example.com/callback'],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    rotateRefreshToken: true,
    findAccount: async (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          audience: RESOURCE,
          scope: `openid ${SCOPES}`,
          accessTokenFormat: opaque ? 'opaque' : 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())

  const refreshTokens: string[] = []
  const owner = await provider.Client.find(client.id)
  for (let n = 0; n < families; n++) {
    const accountId = `user${n}`
    const grant = new provider.Grant({ accountId, clientId: client.id })
    grant.addOIDCScope('openid')
    grant.addResourceScope(RESOURCE, 'openid')
    const grantId = await grant.save()
    const token = new provider.RefreshToken({
      accountId,
      client: owner!,
      grantId,
      scope: 'openid',
      resource: RESOURCE,
      gty: 'authorization_code',
      authTime: Math.floor(Date.now() / 1000),
      sid: `session${n}`,
    } as ConstructorParameters<typeof provider.RefreshToken>[0])
    refreshTokens.push(await token.save())
  }
  const accessToken = async (): Promise<string> => {
    const answer = await fetch(`${origin}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPES }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  opaque = true
  const opaqueToken = await accessToken()
  opaque = false
  await takeJwts(provider, publicKey)
  process.send!({ origin, refreshTokens, jwt: `~${await accessToken()}`, opaque: opaqueToken } satisfies Facts)
}

/**
 * The least that makes the stock provider introspect a JWT: a mark that gets it past the check which refuses all of
 * them, and a look at its signature and times with the library's own jose.
 */
async function takeJwts(provider: Provider, key: KeyObject): Promise<void> {
  const original = provider.AccessToken.find.bind(provider.AccessToken)
  const find = async (value: string) => {
    if (!value.startsWith('~')) return original(value)
    const { payload } = await jwtVerify(value.slice(1), key, { typ: 'at+jwt', issuer: provider.issuer })
    const { client_id: clientId, ...claims } = payload
    return new (provider.AccessToken as unknown as new (payload: object) => unknown)({
      kind: 'AccessToken',
      clientId,
      ...claims,
    })
  }
  Object.defineProperty(provider.AccessToken, 'find', { value: find })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(Number(process.argv[2]))
