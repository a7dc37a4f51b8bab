/**
 * What one request works with, wherever the library calls back from: its adapter, for one, gets no context. Carried by
 * an AsyncLocalStorage that is opened once, around the provider.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from '../kernel/context.js'
import type { Context } from '../platform/context.js'
import type { Runtime } from './runtime.js'
import type { Writes } from './writes.js'

export interface Scope {
  readonly context: Context
  readonly runtime: Runtime
  /** What this request will write, all of it or nothing, before it is answered. */
  readonly writes: Writes
}

const storage = new AsyncLocalStorage<Scope>()

export const inScope = <T>(scope: Scope, work: () => Promise<T>): Promise<T> => storage.run(scope, work)

/** The scope of the request in progress. */
export function scope(): Scope {
  const current = storage.getStore()
  if (!current) throw new Error('The provider was called outside of a request.')
  return current
}

/** The same context, acting for a user who has just proved who they are. */
export function asUser(
  context: Context,
  user: { id: string; username: string; accountId: string; issuerId: string },
): Context {
  const actor: Actor = {
    type: 'user',
    authType: 'user',
    id: user.id,
    name: user.username,
    userId: user.id,
    accountId: user.accountId,
    issuerId: user.issuerId,
    orgId: null,
    scopes: [],
    issuerIds: null,
    orgIds: null,
    ipAllowlist: null,
    expiresAt: null,
    operator: false,
  }
  return { ...context, actor }
}
