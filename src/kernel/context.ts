/**
 * The actor and the request information of an operation, for authorization and the audit log. See also
 * platform/context.ts.
 */

export type ActorType = 'api_key' | 'user' | 'client' | 'agent' | 'personal_token' | 'system' | 'unauthenticated'

/** `auth_type` of events (docs/contract.md#event-endpoints). */
export type AuthType = 'user' | 'client' | 'token' | 'api_key' | 'system' | 'unauthenticated'

/** An authenticated principal with its permissions. */
export interface Actor {
  readonly type: ActorType
  readonly authType: AuthType
  readonly id: string | null
  readonly name: string | null
  /** The user, also when the credential is a personal token. */
  readonly userId: string | null
  /** The account of the principal; null for the system and anonymous callers. */
  readonly accountId: string | null
  /** The issuer that the principal is limited to; null for account keys and users of the console issuer. */
  readonly issuerId: string | null
  /** The organization of an organization API key. */
  readonly orgId: string | null
  /** The effective scopes: those of the principal, limited by the token or the key. */
  readonly scopes: readonly string[]
  /** The issuers and organizations that the credential is restricted to; null for no restriction. */
  readonly issuerIds: readonly string[] | null
  readonly orgIds: readonly string[] | null
  /** The IP addresses and ranges that the credential can be used from; null for all. */
  readonly ipAllowlist: readonly string[] | null
  /** When the API key or personal token expires, in Unix milliseconds; null for no expiry and for other credentials. */
  readonly expiresAt: number | null
  /**
   * When the user signed in, in Unix milliseconds, for access tokens issued to the console; null for other credentials.
   */
  readonly signedInAt: number | null
  /**
   * True for principals of the system account with svc:all or accounts:manage, who can access every account
   * (docs/contract.md#deployment).
   */
  readonly operator: boolean
}

const noIdentity = {
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

/** The actor of a request without a credential. */
export const unauthenticated: Actor = {
  ...noIdentity,
  type: 'unauthenticated',
  authType: 'unauthenticated',
  scopes: [],
  operator: false,
}

/** Gatehouse itself: first start, background jobs and the command line. */
export const system: Actor = { ...noIdentity, type: 'system', authType: 'system', scopes: ['svc:all'], operator: true }

/** Request information for events and logs. */
export interface RequestInfo {
  readonly id: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly method: string | null
  readonly path: string | null
}
