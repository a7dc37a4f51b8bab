/**
 * The context of a request, the first parameter of our functions. oidc-provider calls some of our code, such as the
 * adapter, without it; only there it is read from an AsyncLocalStorage.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from '../kernel/context.js'
import type { Context } from '../platform/context.js'
import type { AuthenticationMethod } from '../resources/agents/authentication-events.js'
import type { AccountRow } from './account/account-row.js'
import type { IssuerRuntime } from './issuer/runtime.js'
import type { OpenIdProvider } from './provider-types.js'
import type { ArtifactRow } from './store/artifact-row.js'
import type { UnitOfWork } from './store/unit-of-work.js'

export interface RequestContext {
  readonly context: Context
  readonly runtime: IssuerRuntime
  /** The oidc-provider instance. It acts for the issuer of `runtime`. */
  readonly provider: OpenIdProvider
  /** The writes of this request. They are committed together before the response is sent. */
  readonly unitOfWork: UnitOfWork
  /** The wallet proof of an agent, verified before oidc-provider handles the request. */
  walletProof?: WalletProof
  /** The JWT in the `token` parameter of introspection or revocation. */
  readonly presentedJwt?: string | undefined
  /** The active user of the code or refresh token of this request, read in the same query. */
  tokenUser?: AccountRow
  /** The client's version and the issuer's status at the last read of this request. */
  checkedClient?: CheckedClient
  /** The code or refresh token of the form, which is being read already. */
  prefetched?: { kind: string; id: string; result: Promise<ArtifactRow | undefined> }
  /** How the agent authenticated, once it has. */
  authenticatedAgent?: { verifierId: string; method: AuthenticationMethod }
}

export interface CheckedClient {
  id: string
  /** Changes with every update of the client. */
  version: string
  issuerStatus: string
}

export interface WalletProof {
  clientId: string
  verifierId: string
  /** Passed to oidc-provider as the client secret of this request; random for each request. */
  secret: string
}

const storage = new AsyncLocalStorage<RequestContext>()

/** Runs the work, in which oidc-provider may call our code, as part of the request. */
export const runInRequestContext = <T>(request: RequestContext, work: () => Promise<T>): Promise<T> =>
  storage.run(request, work)

/**
 * Returns the context of the request in progress, for code that oidc-provider calls. test/unit/architecture.test.ts
 * lists the files that may use it.
 * @throws Error outside of a request
 */
export function requestContext(): RequestContext {
  const current = storage.getStore()
  if (!current) throw new Error('There is no request context: oidc-provider was called outside of a request.')
  return current
}

/** Creates a function for oidc-provider to call, which passes the request in progress to ours. */
export const withRequest =
  <Parameters extends unknown[], Result>(hook: (request: RequestContext, ...parameters: Parameters) => Result) =>
  (...parameters: Parameters): Result =>
    hook(requestContext(), ...parameters)

type ActorInput = Pick<Actor, 'type' | 'authType' | 'id' | 'name' | 'userId'> & { accountId: string; issuerId: string }

function withActor(context: Context, { type, authType, id, name, userId, accountId, issuerId }: ActorInput): Context {
  const actor: Actor = {
    type,
    authType,
    id,
    name,
    userId,
    accountId,
    issuerId,
    orgId: null,
    scopes: [],
    issuerIds: null,
    orgIds: null,
    ipAllowlist: null,
    expiresAt: null,
    signedInAt: null,
    operator: false,
  }
  return { ...context, actor }
}

/** Returns the context with an authenticated user as the actor. */
export const withUserActor = (
  context: Context,
  user: { id: string; username: string; accountId: string; issuerId: string },
): Context => withActor(context, { ...user, type: 'user', authType: 'user', name: user.username, userId: user.id })

/** Returns the context with an authenticated client or agent as the actor. */
export const withMachineActor = (
  context: Context,
  machine: { type: 'client' | 'agent'; id: string; name: string; accountId: string; issuerId: string },
): Context => withActor(context, { ...machine, authType: 'client', userId: null })
