/**
 * The context of a request to the IdP, which functions take as their first parameter. oidc-provider calls hooks and
 * adapter methods without a request context, so they get it from an AsyncLocalStorage.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from '../kernel/context.js'
import type { Context } from '../platform/context.js'
import type { AuthenticationMethod } from '../resources/agents/authentication-events.js'
import type { OmittedClaim } from '../resources/claims/custom-claims.js'
import type { AccountRow } from './account/account-row.js'
import type { PresentedAssertion } from './client/assertions/assertion.js'
import type { IssuerRuntime } from './issuer/runtime.js'
import type { OpenIdProvider } from './provider-types.js'
import type { ArtifactRow } from './store/artifact-row.js'
import type { UnitOfWork } from './store/unit-of-work.js'

export interface RequestContext {
  readonly context: Context
  readonly runtime: IssuerRuntime
  /** The oidc-provider instance. It acts for the issuer of `runtime`. */
  readonly provider: OpenIdProvider
  /** The collected writes of this request, which are committed together before the response is sent. */
  readonly unitOfWork: UnitOfWork
  /** The verified wallet assertion of an agent; undefined if the request has no valid one. */
  walletProof?: WalletProof
  /** The client assertion of the request; undefined if it has none. Its signature may be invalid. */
  clientAssertion?: PresentedAssertion
  /**
   * The JWT in the `token` parameter of an introspection or revocation request; undefined for other tokens and
   * requests.
   */
  readonly presentedJwt?: string | undefined
  /**
   * The active user of the presented code or refresh token, read by the query that reads the code or token; undefined
   * before this query, without an active user, and in other requests.
   */
  tokenUser?: AccountRow
  /** The client whose version this request has last read from the database; undefined before the first read. */
  checkedClient?: CheckedClient
  /**
   * The query for the code or refresh token of the form, which starts before oidc-provider needs its result; undefined
   * before the query, and in other requests.
   */
  prefetched?: { kind: string; id: string; result: Promise<ArtifactRow | undefined> }
  /** Set for a token preview: called for each custom claim that is left out. */
  readonly onOmittedClaim?: (omission: OmittedClaim) => void
  /** Set for a token preview whose caller may not read organizations: custom claims of organizations are left out. */
  readonly hidesOrganizations?: boolean
  /** How the agent authenticated; undefined before that, and for clients that are not agents. */
  authenticatedAgent?: { verifierId: string; method: AuthenticationMethod }
}

export interface CheckedClient {
  id: string
  /** A text that changes with every update of the client or its secrets. */
  version: string
  /** The status of the issuer when the client was read. */
  issuerStatus: string
}

/** The result of a valid wallet assertion. */
export interface WalletProof {
  clientId: string
  verifierId: string
  /** A random text, which oidc-provider gets as the client secret of this request. */
  secret: string
}

const storage = new AsyncLocalStorage<RequestContext>()

/** Runs `work`, in which hooks and adapter methods get this request context. */
export const runInRequestContext = <T>(request: RequestContext, work: () => Promise<T>): Promise<T> =>
  storage.run(request, work)

/**
 * Returns the context of the request in progress, for code that oidc-provider calls. test/unit/architecture.test.ts
 * lists the files that may call this function.
 * @throws Error outside of a request
 */
export function requestContext(): RequestContext {
  const current = storage.getStore()
  if (!current) throw new Error('There is no request context: oidc-provider was called outside of a request.')
  return current
}

/** Wraps a hook for oidc-provider: the wrapper passes the context of the request in progress as the first argument. */
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
