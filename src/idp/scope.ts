/**
 * What one request works with, wherever the library calls back from: its adapter, for one, gets no context. Carried by
 * an AsyncLocalStorage that is opened once, around the provider.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from '../kernel/context.js'
import type { Context } from '../platform/context.js'
import type { AuthenticationMethod } from '../resources/agents/authentication.js'
import type { AccountRow } from './account.js'
import type { Found } from './adapter.js'
import type { OpenIdProvider } from './provider.js'
import type { Runtime } from './runtime.js'
import type { Writes } from './writes.js'

export interface Scope {
  readonly context: Context
  readonly runtime: Runtime
  /** The library, speaking for the issuer of `runtime`. */
  readonly provider: OpenIdProvider
  /** What this request will write, all of it or nothing, before it is answered. */
  readonly writes: Writes
  /** What an agent's wallet has proved before the library looks at the request. */
  readonly proof?: WalletProof | undefined
  /** The JWT that introspection or revocation is asked about. */
  readonly jwt?: string | undefined
  /** The user of the code or refresh token that this request has found: read with it, if they may act. */
  redeemer?: AccountRow
  /** How a client of the issuer, and the issuer itself, stood when this request looked last. */
  client?: ClientState
  /** What the form redeems, on its way from the database already. */
  foreseen?: { kind: string; id: string; answer: Promise<Found | undefined> }
  /** How the agent proved who it is, once it has. */
  agent?: { verifierId: string; method: AuthenticationMethod }
}

export interface ClientState {
  id: string
  /** Another one after every change. */
  version: string
  issuerStatus: string
}

export interface WalletProof {
  clientId: string
  verifierId: string
  /** Stands for the proof where the library wants a secret; made for this request. */
  secret: string
}

const storage = new AsyncLocalStorage<Scope>()

export const inScope = <T>(scope: Scope, work: () => Promise<T>): Promise<T> => storage.run(scope, work)

/** The scope of the request in progress. */
export function scope(): Scope {
  const current = storage.getStore()
  if (!current) throw new Error('The provider was called outside of a request.')
  return current
}

type Who = Pick<Actor, 'type' | 'authType' | 'id' | 'name' | 'userId'> & { accountId: string; issuerId: string }

function acting(context: Context, { type, authType, id, name, userId, accountId, issuerId }: Who): Context {
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

/** The same context, acting for a user who has just proved who they are. */
export const asUser = (
  context: Context,
  user: { id: string; username: string; accountId: string; issuerId: string },
): Context => acting(context, { ...user, type: 'user', authType: 'user', name: user.username, userId: user.id })

/** The same context, acting for a machine that has just proved who it is. */
export const asMachine = (
  context: Context,
  machine: { type: 'client' | 'agent'; id: string; name: string; accountId: string; issuerId: string },
): Context => acting(context, { ...machine, authType: 'client', userId: null })
