/**
 * The actor and the request information of an operation, for authorization and the audit log. `Context` in
 * platform/context.ts contains both.
 */

export type ActorType =
  | 'api_key'
  | 'user'
  | 'client'
  | 'agent'
  | 'personal_token'
  | 'initial_access_token'
  | 'system'
  | 'unauthenticated'

/** The values of `auth_type` in events (docs/contract.md#event-endpoints). */
export type AuthType = 'user' | 'client' | 'token' | 'api_key' | 'system' | 'unauthenticated'

/** The principal of an operation with its permissions: an authenticated caller, the system, or an anonymous caller. */
export interface Actor {
  readonly type: ActorType
  readonly authType: AuthType
  readonly id: string | null
  readonly name: string | null
  /** The ID of the user who signed in or who owns the personal token; null for all other actors. */
  readonly userId: string | null
  /** The ID of the principal's account; null for the system and for anonymous callers. */
  readonly accountId: string | null
  /**
   * The ID of the issuer that the principal belongs to and is limited to; null for API keys of an account, users of the
   * console issuer, the system and anonymous callers.
   */
  readonly issuerId: string | null
  /** The ID of the organization that owns the API key; null for all other credentials. */
  readonly orgId: string | null
  /**
   * The scopes of the principal, limited by those of the token or key. For a user of the console issuer, the scopes of
   * the token: `authorize` limits them by the scopes that the user has on the requested account.
   */
  readonly scopes: readonly string[]
  /** The IDs of the issuers that the credential is restricted to; null for no restriction. */
  readonly issuerIds: readonly string[] | null
  /** The IDs of the organizations that the credential is restricted to; null for no restriction. */
  readonly orgIds: readonly string[] | null
  /** The IP addresses and ranges from which the credential can be used; null for all addresses. */
  readonly ipAllowlist: readonly string[] | null
  /**
   * When the API key or personal token expires, in Unix milliseconds; null if it has no expiry and for other
   * credentials.
   */
  readonly expiresAt: number | null
  /**
   * When the user signed in, in Unix milliseconds, if the credential is an access token that was issued to the console;
   * null for other credentials.
   */
  readonly signedInAt: number | null
  /**
   * True for a principal of the system account with the scope svc:all or accounts:manage, except an API key of an
   * organization. Such a principal can access every account (docs/contract.md#deployment).
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

/** The actor of operations without a caller, such as setup, background jobs and commands. */
export const system: Actor = { ...noIdentity, type: 'system', authType: 'system', scopes: ['svc:all'], operator: true }

/** Request information for events and logs. */
export interface RequestInfo {
  readonly id: string
  readonly ip: string | null
  readonly userAgent: string | null
  readonly method: string | null
  readonly path: string | null
}
