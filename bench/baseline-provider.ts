/**
 * Runs an unmodified oidc-provider with an in-memory adapter in its own process, as the baseline of the token
 * benchmark. It has the same version of oidc-provider as Gatehouse, signs with the same algorithm (ES256), and also
 * issues JWT access tokens by resource indicators and rotated refresh tokens. It has no database, no tenants, no
 * sessions and no hashed secrets.
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

const client = { id: 'baseline', secret: 'a secret of the baseline provider, long enough' }
const RESOURCE = 'urn:bench:resource'
const SCOPES = 'a:read b:read'

interface BaselineFacts {
  origin: string
  refreshTokens: string[]
  /** A JWT access token with the marker that `enableJwtIntrospection` requires. */
  jwt: string
  /** An opaque access token. */
  opaque: string
}

export interface BaselineProvider extends BaselineFacts {
  client: typeof client
  /** Returns the CPU seconds that the process has used, in user and system mode. */
  cpuSeconds(): number
  stop(): void
}

/**
 * Starts the baseline provider.
 * @param refreshTokenCount the number of refresh tokens that the provider issues at its start
 */
export async function startBaselineProvider(refreshTokenCount: number): Promise<BaselineProvider> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [String(refreshTokenCount)], {
    env: { PATH: process.env['PATH'] ?? '' },
    // Hides the library's warnings about development settings.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const [facts] = (await once(child, 'message')) as [BaselineFacts]
  return { ...facts, client, cpuSeconds: () => cpuSecondsOf(child.pid!), stop: () => void child.kill() }
}

/**
 * Returns the CPU seconds that another process has used, in user and system mode. Works only on Linux, because it reads
 * /proc.
 */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function createMemoryAdapter(): (kind: string) => Adapter {
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

async function serve(refreshTokenCount: number): Promise<void> {
  const { default: Provider } = await import('oidc-provider')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let opaque = false
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(origin, {
    adapter: createMemoryAdapter(),
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
  for (let n = 0; n < refreshTokenCount; n++) {
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
  const requestAccessToken = async (): Promise<string> => {
    const answer = await fetch(`${origin}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPES }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  opaque = true
  const opaqueToken = await requestAccessToken()
  opaque = false
  await enableJwtIntrospection(provider, publicKey)
  process.send!({
    origin,
    refreshTokens,
    jwt: `~${await requestAccessToken()}`,
    opaque: opaqueToken,
  } satisfies BaselineFacts)
}

/**
 * Makes the unmodified provider introspect JWTs at the lowest possible cost. oidc-provider does not look up a token
 * that looks like a JWT, so the tokens begin with the marker `~`. `find` removes the marker and verifies the signature
 * and the times with jose.
 */
async function enableJwtIntrospection(provider: Provider, key: KeyObject): Promise<void> {
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
