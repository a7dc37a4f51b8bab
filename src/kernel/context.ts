/** Who is asking, as the audit trail and the guard know it. Pure words; the tools stand in platform/context.ts. */

export type ActorType = 'api_key' | 'user' | 'client' | 'agent' | 'personal_token' | 'system' | 'unauthenticated'

/** `auth_type` of events (spec 4.14). */
export type AuthType = 'user' | 'client' | 'token' | 'api_key' | 'system' | 'unauthenticated'

/** A principal whose credential was verified, with what it may do; the guard turns it into a verdict. */
export interface Actor {
  readonly type: ActorType
  readonly authType: AuthType
  readonly id: string | null
  readonly name: string | null
  /** The person who acts, also through a personal token. */
  readonly userId: string | null
  /** The account it belongs to; null for nobody. */
  readonly accountId: string | null
  /** The issuer it is bound to, if it is a principal of an ordinary issuer or an organization's key. */
  readonly issuerId: string | null
  /** The organization whose key it is. */
  readonly orgId: string | null
  /** Scopes in force: the principal's own, cut down by the token's or the key's. */
  readonly scopes: readonly string[]
  /** Issuers and organizations that it is restricted to; null for no restriction. */
  readonly issuerIds: readonly string[] | null
  readonly orgIds: readonly string[] | null
  /** Addresses and ranges that its credential may be used from; null for all. */
  readonly ipAllowlist: readonly string[] | null
  /** When the key or personal token that it uses ends, in milliseconds; null for those that stay and for sign-ins. */
  readonly expiresAt: number | null
  /** When the person signed in, in milliseconds, if it is the console that they act through; null for all others. */
  readonly signedInAt: number | null
  /** A principal of the system account with svc:all or accounts:manage: reaches every account (decisions part 0). */
  readonly operator: boolean
}

const nobodyElse = {
  id: null,
  name: null,
  userId: null,
  accountId: null,
  issuerId: null,
  orgId: null,
  issuerIds: null,
  orgIds: null,
  ipAllowlist: null,
  expiresAt: null,
  signedInAt: null,
}

/** Nobody: no credential was sent. */
export const unauthenticated: Actor = {
  ...nobodyElse,
  type: 'unauthenticated',
  authType: 'unauthenticated',
  scopes: [],
  operator: false,
}

/** Gatehouse itself: first start, jobs, the command line. */
export const system: Actor = { ...nobodyElse, type: 'system', authType: 'system', scopes: ['svc:all'], operator: true }

/** Facts of the request that events and logs carry. */
export interface RequestFacts {
  readonly id: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly method: string | null
  readonly path: string | null
}
