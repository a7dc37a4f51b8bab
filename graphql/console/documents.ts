// Made by .config/console-documents.mjs from the documents beside it; not kept in git.
import type { TypedDocumentNode } from '@urql/core'

type Document<Result, Variables> = TypedDocumentNode<Result, Variables>
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type AuthMethodKind =
  | 'apple'
  | 'backup_codes'
  | 'email_link'
  | 'email_otp'
  | 'github'
  | 'oauth2'
  | 'oidc'
  | 'passkey'
  | 'password'
  | 'totp';

export type ClientStatus =
  | 'active'
  | 'deleted'
  | 'disabled';

/** Descriptive only. */
export type ClientType =
  | 'external'
  | 'internal';

export type CreateAuthMethodInput = {
  enabledLogin?: boolean | null | undefined;
  enabledSignup?: boolean | null | undefined;
  featured?: boolean | null | undefined;
  /** true for oidc, oauth2, apple and github; absent for the others. */
  firstFactorOnly?: boolean | null | undefined;
  method: AuthMethodKind;
  name: string;
  /** Required for oidc, oauth2, apple and github. */
  settings?: Record<string, unknown> | null | undefined;
};

export type CreateClientInput = {
  confidential: boolean;
  description?: string | null | undefined;
  logoUrl?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  name: string;
  /** A secret of your own, 32 to 256 characters. */
  secret?: string | null | undefined;
  settings: Record<string, unknown>;
  type: ClientType;
};

export type CreateIssuerInput = {
  availableScopes?: Array<string> | null | undefined;
  description?: string | null | undefined;
  links?: Record<string, unknown> | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  name: string;
  settings?: Record<string, unknown> | null | undefined;
  status?: IssuerStatus | null | undefined;
};

export type CreateUserInput = {
  compliance?: Record<string, unknown> | null | undefined;
  customFields?: Record<string, unknown> | null | undefined;
  emailVerified?: boolean | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  preferences?: Record<string, unknown> | null | undefined;
  profile?: Record<string, unknown> | null | undefined;
  region?: string | null | undefined;
  requiresApproval?: boolean | null | undefined;
  scopes?: Array<string> | null | undefined;
  security?: Record<string, unknown> | null | undefined;
  signupReason?: string | null | undefined;
  /** active, suspended or blocked. */
  status?: UserStatus | null | undefined;
  triggeredRule?: string | null | undefined;
  username: string;
  usernameType: UsernameType;
};

export type CreateVerifierInput = {
  aaguid?: string | null | undefined;
  /** If given, that of the key: -7, -8 or -257. */
  algorithm?: number | null | undefined;
  backupEligible?: boolean | null | undefined;
  backupState?: boolean | null | undefined;
  /** The challenge that `credential` answers. */
  challengeId?: string | null | undefined;
  createdBy?: string | null | undefined;
  /** RegistrationResponseJSON (WebAuthn level 3), instead of a key. */
  credential?: Record<string, unknown> | null | undefined;
  /** Of a passkey, as all that follows: in base64url. */
  credentialId?: string | null | undefined;
  description?: string | null | undefined;
  expiresAt?: number | null | undefined;
  /** Of a totp_enrollment: what the app calls this issuer. */
  issuerName?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  mustChange?: boolean | null | undefined;
  /** Must be given; null for no name, but for a temporary_password. */
  name?: string | null | undefined;
  password?: string | null | undefined;
  /** A COSE_Key in base64url. */
  publicKey?: string | null | undefined;
  rpId?: string | null | undefined;
  signCount?: number | null | undefined;
  transports?: Array<string> | null | undefined;
  type: VerifierType;
};

export type DomainHostInput = {
  host: string;
};

export type IssuerStatus =
  | 'active'
  | 'deleted'
  | 'disabled'
  | 'suspended';

export type RevocationReason =
  | 'admin_action'
  | 'inactivity'
  | 'other'
  | 'password_changed'
  | 'security_event'
  | 'token_compromised'
  | 'user_logout';

export type RevokeSessionInput = {
  reason: RevocationReason;
  reasonDetails?: string | null | undefined;
  revokeAllUserSessions?: boolean | null | undefined;
};

export type SessionStatus =
  | 'active'
  | 'expired'
  | 'inactive'
  | 'revoked'
  | 'suspended';

export type SuspendSessionInput = {
  reason: SuspensionReason;
  reasonDetails?: string | null | undefined;
  suspendAllUserSessions?: boolean | null | undefined;
};

export type SuspensionReason =
  | 'device_mismatch'
  | 'other'
  | 'risk_review'
  | 'security_event'
  | 'token_compromised';

export type UpdateAccountInput = {
  description?: string | null | undefined;
  /** The whole set: hosts not named are removed. */
  domains?: Array<DomainHostInput> | null | undefined;
  logoUrl?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  name?: string | null | undefined;
  ownerUserId?: string | null | undefined;
};

export type UpdateClientInput = {
  description?: string | null | undefined;
  logoUrl?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  name?: string | null | undefined;
  /** A JSON Merge Patch (RFC 7396). */
  settings?: Record<string, unknown> | null | undefined;
  /** active or disabled. */
  status?: ClientStatus | null | undefined;
};

export type UpdateIssuerInput = {
  availableScopes?: Array<string> | null | undefined;
  description?: string | null | undefined;
  links?: Record<string, unknown> | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  name?: string | null | undefined;
  /** A JSON Merge Patch (RFC 7396). */
  settings?: Record<string, unknown> | null | undefined;
  /** active or disabled; suspended by operators only. */
  status?: IssuerStatus | null | undefined;
};

export type UpdateUserInput = {
  approval?: Record<string, unknown> | null | undefined;
  compliance?: Record<string, unknown> | null | undefined;
  customFields?: Record<string, unknown> | null | undefined;
  /** Merged at the top level; null removes a key. */
  metadata?: Record<string, unknown> | null | undefined;
  preferences?: Record<string, unknown> | null | undefined;
  profile?: Record<string, unknown> | null | undefined;
  scopes?: Array<string> | null | undefined;
  security?: Record<string, unknown> | null | undefined;
  /** active, suspended or blocked. */
  status?: UserStatus | null | undefined;
  statusAt?: number | null | undefined;
  statusBy?: string | null | undefined;
  statusReason?: string | null | undefined;
  username?: string | null | undefined;
  usernameType?: UsernameType | null | undefined;
};

export type UserStatus =
  | 'active'
  | 'blocked'
  | 'deleted'
  | 'disabled'
  | 'pending_approval'
  | 'pending_deletion'
  | 'suspended';

export type UsernameType =
  | 'email'
  | 'phone'
  | 'unique';

export type VerifierType =
  | 'backup_codes'
  | 'oauth'
  | 'passkey'
  | 'password'
  | 'temporary_password'
  | 'totp'
  | 'totp_enrollment';

export type PermissionsQueryVariables = Exact<{
  accountId: string;
  issuerId?: string | null | undefined;
}>;


export type PermissionsQuery = { permissions: { queries: Array<string>, mutations: Array<string> } };

export type AccountsQueryVariables = Exact<{
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
}>;


export type AccountsQuery = { accounts: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, name: string | null, logoUrl: string | null }> } };

export type AccountFieldsFragment = { id: string, name: string | null, description: string | null, ownerUserId: string | null, billingMode: string, adminOrgId: string | null, metadata: Record<string, unknown>, createdAt: number, updatedAt: number };

export type AccountQueryVariables = Exact<{
  accountId: string;
}>;


export type AccountQuery = { account: { id: string, name: string | null, description: string | null, ownerUserId: string | null, billingMode: string, adminOrgId: string | null, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type AccountOverviewQueryVariables = Exact<{
  accountId: string;
}>;


export type AccountOverviewQuery = { account: { id: string, name: string | null, description: string | null, ownerUserId: string | null, billingMode: string, adminOrgId: string | null, metadata: Record<string, unknown>, createdAt: number, updatedAt: number, domains: Array<{ id: string, host: string, verified: boolean }>, issuers: { hasMore: boolean, data: Array<{ id: string, name: string, status: IssuerStatus, createdAt: number }> } } };

export type UpdateAccountMutationVariables = Exact<{
  accountId: string;
  input: UpdateAccountInput;
  ifMatch?: string | null | undefined;
}>;


export type UpdateAccountMutation = { updateAccount: { id: string, name: string | null, description: string | null, ownerUserId: string | null, billingMode: string, adminOrgId: string | null, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type ClientFieldsFragment = { id: string, accountId: string, issuerId: string, name: string, description: string | null, type: ClientType, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number };

export type ClientsQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
  name?: string | null | undefined;
  status?: ClientStatus | null | undefined;
}>;


export type ClientsQuery = { clients: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, name: string, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, createdAt: number }> } };

export type ClientQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  clientId: string;
}>;


export type ClientQuery = { client: { id: string, accountId: string, issuerId: string, name: string, description: string | null, type: ClientType, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number }, issuer: { id: string, name: string, url: string } };

export type CreateClientMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  input: CreateClientInput;
}>;


export type CreateClientMutation = { createClient: { secret: string | null, id: string, accountId: string, issuerId: string, name: string, description: string | null, type: ClientType, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type UpdateClientMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  clientId: string;
  input: UpdateClientInput;
  ifMatch?: string | null | undefined;
}>;


export type UpdateClientMutation = { updateClient: { id: string, accountId: string, issuerId: string, name: string, description: string | null, type: ClientType, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type RotateClientSecretMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  clientId: string;
}>;


export type RotateClientSecretMutation = { rotateClientSecret: { secret: string | null, id: string, accountId: string, issuerId: string, name: string, description: string | null, type: ClientType, confidential: boolean, status: ClientStatus, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type DeleteClientMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  clientId: string;
  ifMatch?: string | null | undefined;
}>;


export type DeleteClientMutation = { deleteClient: boolean };

export type IssuerFieldsFragment = { id: string, accountId: string, name: string, description: string | null, status: IssuerStatus, url: string, availableScopes: Array<string>, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number };

export type IssuersQueryVariables = Exact<{
  accountId: string;
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
}>;


export type IssuersQuery = { issuers: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, name: string, description: string | null, status: IssuerStatus, createdAt: number }> } };

export type IssuerQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
}>;


export type IssuerQuery = { issuer: { id: string, accountId: string, name: string, description: string | null, status: IssuerStatus, url: string, availableScopes: Array<string>, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type IssuerOverviewQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
}>;


export type IssuerOverviewQuery = { issuer: { id: string, accountId: string, name: string, description: string | null, status: IssuerStatus, url: string, availableScopes: Array<string>, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number, clients: { data: Array<{ id: string, name: string, confidential: boolean, settings: Record<string, unknown>, status: ClientStatus, createdAt: number }> }, users: { data: Array<{ id: string, profile: Record<string, unknown>, status: UserStatus, createdAt: number }> }, authMethods: { data: Array<{ id: string, name: string, method: AuthMethodKind, enabledLogin: boolean }> } } };

export type CreateIssuerMutationVariables = Exact<{
  accountId: string;
  input: CreateIssuerInput;
}>;


export type CreateIssuerMutation = { createIssuer: { id: string, accountId: string, name: string, description: string | null, status: IssuerStatus, url: string, availableScopes: Array<string>, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type UpdateIssuerMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  input: UpdateIssuerInput;
  ifMatch?: string | null | undefined;
}>;


export type UpdateIssuerMutation = { updateIssuer: { id: string, accountId: string, name: string, description: string | null, status: IssuerStatus, url: string, availableScopes: Array<string>, settings: Record<string, unknown>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type DeleteIssuerMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  ifMatch?: string | null | undefined;
}>;


export type DeleteIssuerMutation = { deleteIssuer: boolean };

export type CreateAuthMethodMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  input: CreateAuthMethodInput;
}>;


export type CreateAuthMethodMutation = { createAuthMethod: { id: string, name: string, method: AuthMethodKind, enabledLogin: boolean } };

export type SessionFieldsFragment = { id: string, clientId: string, status: SessionStatus, acr: string | null, amr: Array<string>, createdAt: number, lastActivityAt: number, expiresAt: number, revocationReason: RevocationReason | null, suspensionReason: SuspensionReason | null, updatedAt: number, device: { userAgent: string | null, ipAddress: string | null } };

export type SessionsQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
  status?: SessionStatus | null | undefined;
}>;


export type SessionsQuery = { sessions: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, clientId: string, status: SessionStatus, acr: string | null, amr: Array<string>, createdAt: number, lastActivityAt: number, expiresAt: number, revocationReason: RevocationReason | null, suspensionReason: SuspensionReason | null, updatedAt: number, device: { userAgent: string | null, ipAddress: string | null } }> } };

export type SuspendSessionMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  sessionId: string;
  input: SuspendSessionInput;
}>;


export type SuspendSessionMutation = { suspendSession: { id: string, clientId: string, status: SessionStatus, acr: string | null, amr: Array<string>, createdAt: number, lastActivityAt: number, expiresAt: number, revocationReason: RevocationReason | null, suspensionReason: SuspensionReason | null, updatedAt: number, device: { userAgent: string | null, ipAddress: string | null } } };

export type ReactivateSessionMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  sessionId: string;
}>;


export type ReactivateSessionMutation = { reactivateSession: { id: string, clientId: string, status: SessionStatus, acr: string | null, amr: Array<string>, createdAt: number, lastActivityAt: number, expiresAt: number, revocationReason: RevocationReason | null, suspensionReason: SuspensionReason | null, updatedAt: number, device: { userAgent: string | null, ipAddress: string | null } } };

export type RevokeSessionMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  sessionId: string;
  input: RevokeSessionInput;
}>;


export type RevokeSessionMutation = { revokeSession: { id: string, clientId: string, status: SessionStatus, acr: string | null, amr: Array<string>, createdAt: number, lastActivityAt: number, expiresAt: number, revocationReason: RevocationReason | null, suspensionReason: SuspensionReason | null, updatedAt: number, device: { userAgent: string | null, ipAddress: string | null } } };

export type UserFieldsFragment = { id: string, accountId: string, issuerId: string, username: string, usernameType: UsernameType, emailVerified: boolean, status: UserStatus, statusReason: string | null, profile: Record<string, unknown>, scopes: Array<string>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number };

export type UsersQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
  search?: string | null | undefined;
  status?: UserStatus | null | undefined;
}>;


export type UsersQuery = { users: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, usernameType: UsernameType, emailVerified: boolean, status: UserStatus, profile: Record<string, unknown>, createdAt: number }> } };

export type UserQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
}>;


export type UserQuery = { user: { id: string, accountId: string, issuerId: string, username: string, usernameType: UsernameType, emailVerified: boolean, status: UserStatus, statusReason: string | null, profile: Record<string, unknown>, scopes: Array<string>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type CreateUserMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  input: CreateUserInput;
}>;


export type CreateUserMutation = { createUser: { id: string, accountId: string, issuerId: string, username: string, usernameType: UsernameType, emailVerified: boolean, status: UserStatus, statusReason: string | null, profile: Record<string, unknown>, scopes: Array<string>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type UpdateUserMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  input: UpdateUserInput;
  ifMatch?: string | null | undefined;
}>;


export type UpdateUserMutation = { updateUser: { id: string, accountId: string, issuerId: string, username: string, usernameType: UsernameType, emailVerified: boolean, status: UserStatus, statusReason: string | null, profile: Record<string, unknown>, scopes: Array<string>, metadata: Record<string, unknown>, createdAt: number, updatedAt: number } };

export type DeleteUserMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  ifMatch?: string | null | undefined;
}>;


export type DeleteUserMutation = { deleteUser: boolean };

export type VerifiersQueryVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  limit?: number | null | undefined;
  cursor?: string | null | undefined;
}>;


export type VerifiersQuery = { verifiers: { nextCursor: string | null, hasMore: boolean, data: Array<{ id: string, type: VerifierType, name: string | null, mustChange: boolean, lastUsedAt: number | null, expiresAt: number | null, createdAt: number }> } };

export type CreateVerifierMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  input: CreateVerifierInput;
}>;


export type CreateVerifierMutation = { createVerifier:
    | { codesPlain: Array<string>, id: string, type: VerifierType }
    | { id: string, type: VerifierType }
    | { id: string, type: VerifierType }
   };

export type DeleteVerifierMutationVariables = Exact<{
  accountId: string;
  issuerId: string;
  userId: string;
  verifierId: string;
}>;


export type DeleteVerifierMutation = { deleteVerifier: boolean };

export const permissions = "query permissions($accountId: ID!, $issuerId: ID) {\n  permissions(accountId: $accountId, issuerId: $issuerId) {\n    queries\n    mutations\n  }\n}" as unknown as Document<PermissionsQuery, PermissionsQueryVariables>
export const accounts = "query accounts($limit: Int, $cursor: String) {\n  accounts(limit: $limit, cursor: $cursor) {\n    data {\n      id\n      name\n      logoUrl\n    }\n    nextCursor\n    hasMore\n  }\n}" as unknown as Document<AccountsQuery, AccountsQueryVariables>
export const account = "query account($accountId: ID!) {\n  account(accountId: $accountId) {\n    ...AccountFields\n  }\n}\nfragment AccountFields on Account {\n  id\n  name\n  description\n  ownerUserId\n  billingMode\n  adminOrgId\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<AccountQuery, AccountQueryVariables>
export const accountOverview = "query accountOverview($accountId: ID!) {\n  account(accountId: $accountId) {\n    ...AccountFields\n    domains {\n      id\n      host\n      verified\n    }\n    issuers(limit: 5) {\n      data {\n        id\n        name\n        status\n        createdAt\n      }\n      hasMore\n    }\n  }\n}\nfragment AccountFields on Account {\n  id\n  name\n  description\n  ownerUserId\n  billingMode\n  adminOrgId\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<AccountOverviewQuery, AccountOverviewQueryVariables>
export const updateAccount = "mutation updateAccount($accountId: ID!, $input: UpdateAccountInput!, $ifMatch: String) {\n  updateAccount(accountId: $accountId, input: $input, ifMatch: $ifMatch) {\n    ...AccountFields\n  }\n}\nfragment AccountFields on Account {\n  id\n  name\n  description\n  ownerUserId\n  billingMode\n  adminOrgId\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<UpdateAccountMutation, UpdateAccountMutationVariables>
export const clients = "query clients($accountId: ID!, $issuerId: ID!, $limit: Int, $cursor: String, $name: String, $status: ClientStatus) {\n  clients(\n    accountId: $accountId\n    issuerId: $issuerId\n    limit: $limit\n    cursor: $cursor\n    name: $name\n    status: $status\n  ) {\n    data {\n      id\n      name\n      confidential\n      status\n      settings\n      createdAt\n    }\n    nextCursor\n    hasMore\n  }\n}" as unknown as Document<ClientsQuery, ClientsQueryVariables>
export const client = "query client($accountId: ID!, $issuerId: ID!, $clientId: ID!) {\n  client(accountId: $accountId, issuerId: $issuerId, clientId: $clientId) {\n    ...ClientFields\n  }\n  issuer(accountId: $accountId, issuerId: $issuerId) {\n    id\n    name\n    url\n  }\n}\nfragment ClientFields on Client {\n  id\n  accountId\n  issuerId\n  name\n  description\n  type\n  confidential\n  status\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<ClientQuery, ClientQueryVariables>
export const createClient = "mutation createClient($accountId: ID!, $issuerId: ID!, $input: CreateClientInput!) {\n  createClient(accountId: $accountId, issuerId: $issuerId, input: $input) {\n    ...ClientFields\n    secret\n  }\n}\nfragment ClientFields on Client {\n  id\n  accountId\n  issuerId\n  name\n  description\n  type\n  confidential\n  status\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<CreateClientMutation, CreateClientMutationVariables>
export const updateClient = "mutation updateClient($accountId: ID!, $issuerId: ID!, $clientId: ID!, $input: UpdateClientInput!, $ifMatch: String) {\n  updateClient(\n    accountId: $accountId\n    issuerId: $issuerId\n    clientId: $clientId\n    input: $input\n    ifMatch: $ifMatch\n  ) {\n    ...ClientFields\n  }\n}\nfragment ClientFields on Client {\n  id\n  accountId\n  issuerId\n  name\n  description\n  type\n  confidential\n  status\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<UpdateClientMutation, UpdateClientMutationVariables>
export const rotateClientSecret = "mutation rotateClientSecret($accountId: ID!, $issuerId: ID!, $clientId: ID!) {\n  rotateClientSecret(\n    accountId: $accountId\n    issuerId: $issuerId\n    clientId: $clientId\n  ) {\n    ...ClientFields\n    secret\n  }\n}\nfragment ClientFields on Client {\n  id\n  accountId\n  issuerId\n  name\n  description\n  type\n  confidential\n  status\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<RotateClientSecretMutation, RotateClientSecretMutationVariables>
export const deleteClient = "mutation deleteClient($accountId: ID!, $issuerId: ID!, $clientId: ID!, $ifMatch: String) {\n  deleteClient(\n    accountId: $accountId\n    issuerId: $issuerId\n    clientId: $clientId\n    ifMatch: $ifMatch\n  )\n}" as unknown as Document<DeleteClientMutation, DeleteClientMutationVariables>
export const issuers = "query issuers($accountId: ID!, $limit: Int, $cursor: String) {\n  issuers(accountId: $accountId, limit: $limit, cursor: $cursor) {\n    data {\n      id\n      name\n      description\n      status\n      createdAt\n    }\n    nextCursor\n    hasMore\n  }\n}" as unknown as Document<IssuersQuery, IssuersQueryVariables>
export const issuer = "query issuer($accountId: ID!, $issuerId: ID!) {\n  issuer(accountId: $accountId, issuerId: $issuerId) {\n    ...IssuerFields\n  }\n}\nfragment IssuerFields on Issuer {\n  id\n  accountId\n  name\n  description\n  status\n  url\n  availableScopes\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<IssuerQuery, IssuerQueryVariables>
export const issuerOverview = "query issuerOverview($accountId: ID!, $issuerId: ID!) {\n  issuer(accountId: $accountId, issuerId: $issuerId) {\n    ...IssuerFields\n    clients(limit: 5) {\n      data {\n        id\n        name\n        confidential\n        settings\n        status\n        createdAt\n      }\n    }\n    users(limit: 5) {\n      data {\n        id\n        profile\n        status\n        createdAt\n      }\n    }\n    authMethods(limit: 20) {\n      data {\n        id\n        name\n        method\n        enabledLogin\n      }\n    }\n  }\n}\nfragment IssuerFields on Issuer {\n  id\n  accountId\n  name\n  description\n  status\n  url\n  availableScopes\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<IssuerOverviewQuery, IssuerOverviewQueryVariables>
export const createIssuer = "mutation createIssuer($accountId: ID!, $input: CreateIssuerInput!) {\n  createIssuer(accountId: $accountId, input: $input) {\n    ...IssuerFields\n  }\n}\nfragment IssuerFields on Issuer {\n  id\n  accountId\n  name\n  description\n  status\n  url\n  availableScopes\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<CreateIssuerMutation, CreateIssuerMutationVariables>
export const updateIssuer = "mutation updateIssuer($accountId: ID!, $issuerId: ID!, $input: UpdateIssuerInput!, $ifMatch: String) {\n  updateIssuer(\n    accountId: $accountId\n    issuerId: $issuerId\n    input: $input\n    ifMatch: $ifMatch\n  ) {\n    ...IssuerFields\n  }\n}\nfragment IssuerFields on Issuer {\n  id\n  accountId\n  name\n  description\n  status\n  url\n  availableScopes\n  settings\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<UpdateIssuerMutation, UpdateIssuerMutationVariables>
export const deleteIssuer = "mutation deleteIssuer($accountId: ID!, $issuerId: ID!, $ifMatch: String) {\n  deleteIssuer(accountId: $accountId, issuerId: $issuerId, ifMatch: $ifMatch)\n}" as unknown as Document<DeleteIssuerMutation, DeleteIssuerMutationVariables>
export const createAuthMethod = "mutation createAuthMethod($accountId: ID!, $issuerId: ID!, $input: CreateAuthMethodInput!) {\n  createAuthMethod(accountId: $accountId, issuerId: $issuerId, input: $input) {\n    id\n    name\n    method\n    enabledLogin\n  }\n}" as unknown as Document<CreateAuthMethodMutation, CreateAuthMethodMutationVariables>
export const sessions = "query sessions($accountId: ID!, $issuerId: ID!, $userId: ID!, $limit: Int, $cursor: String, $status: SessionStatus) {\n  sessions(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    limit: $limit\n    cursor: $cursor\n    status: $status\n  ) {\n    data {\n      ...SessionFields\n    }\n    nextCursor\n    hasMore\n  }\n}\nfragment SessionFields on Session {\n  id\n  clientId\n  status\n  device {\n    userAgent\n    ipAddress\n  }\n  acr\n  amr\n  createdAt\n  lastActivityAt\n  expiresAt\n  revocationReason\n  suspensionReason\n  updatedAt\n}" as unknown as Document<SessionsQuery, SessionsQueryVariables>
export const suspendSession = "mutation suspendSession($accountId: ID!, $issuerId: ID!, $sessionId: ID!, $input: SuspendSessionInput!) {\n  suspendSession(\n    accountId: $accountId\n    issuerId: $issuerId\n    sessionId: $sessionId\n    input: $input\n  ) {\n    ...SessionFields\n  }\n}\nfragment SessionFields on Session {\n  id\n  clientId\n  status\n  device {\n    userAgent\n    ipAddress\n  }\n  acr\n  amr\n  createdAt\n  lastActivityAt\n  expiresAt\n  revocationReason\n  suspensionReason\n  updatedAt\n}" as unknown as Document<SuspendSessionMutation, SuspendSessionMutationVariables>
export const reactivateSession = "mutation reactivateSession($accountId: ID!, $issuerId: ID!, $sessionId: ID!) {\n  reactivateSession(\n    accountId: $accountId\n    issuerId: $issuerId\n    sessionId: $sessionId\n  ) {\n    ...SessionFields\n  }\n}\nfragment SessionFields on Session {\n  id\n  clientId\n  status\n  device {\n    userAgent\n    ipAddress\n  }\n  acr\n  amr\n  createdAt\n  lastActivityAt\n  expiresAt\n  revocationReason\n  suspensionReason\n  updatedAt\n}" as unknown as Document<ReactivateSessionMutation, ReactivateSessionMutationVariables>
export const revokeSession = "mutation revokeSession($accountId: ID!, $issuerId: ID!, $sessionId: ID!, $input: RevokeSessionInput!) {\n  revokeSession(\n    accountId: $accountId\n    issuerId: $issuerId\n    sessionId: $sessionId\n    input: $input\n  ) {\n    ...SessionFields\n  }\n}\nfragment SessionFields on Session {\n  id\n  clientId\n  status\n  device {\n    userAgent\n    ipAddress\n  }\n  acr\n  amr\n  createdAt\n  lastActivityAt\n  expiresAt\n  revocationReason\n  suspensionReason\n  updatedAt\n}" as unknown as Document<RevokeSessionMutation, RevokeSessionMutationVariables>
export const users = "query users($accountId: ID!, $issuerId: ID!, $limit: Int, $cursor: String, $search: String, $status: UserStatus) {\n  users(\n    accountId: $accountId\n    issuerId: $issuerId\n    limit: $limit\n    cursor: $cursor\n    search: $search\n    status: $status\n  ) {\n    data {\n      id\n      usernameType\n      emailVerified\n      status\n      profile\n      createdAt\n    }\n    nextCursor\n    hasMore\n  }\n}" as unknown as Document<UsersQuery, UsersQueryVariables>
export const user = "query user($accountId: ID!, $issuerId: ID!, $userId: ID!) {\n  user(accountId: $accountId, issuerId: $issuerId, userId: $userId) {\n    ...UserFields\n  }\n}\nfragment UserFields on User {\n  id\n  accountId\n  issuerId\n  username\n  usernameType\n  emailVerified\n  status\n  statusReason\n  profile\n  scopes\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<UserQuery, UserQueryVariables>
export const createUser = "mutation createUser($accountId: ID!, $issuerId: ID!, $input: CreateUserInput!) {\n  createUser(accountId: $accountId, issuerId: $issuerId, input: $input) {\n    ...UserFields\n  }\n}\nfragment UserFields on User {\n  id\n  accountId\n  issuerId\n  username\n  usernameType\n  emailVerified\n  status\n  statusReason\n  profile\n  scopes\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<CreateUserMutation, CreateUserMutationVariables>
export const updateUser = "mutation updateUser($accountId: ID!, $issuerId: ID!, $userId: ID!, $input: UpdateUserInput!, $ifMatch: String) {\n  updateUser(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    input: $input\n    ifMatch: $ifMatch\n  ) {\n    ...UserFields\n  }\n}\nfragment UserFields on User {\n  id\n  accountId\n  issuerId\n  username\n  usernameType\n  emailVerified\n  status\n  statusReason\n  profile\n  scopes\n  metadata\n  createdAt\n  updatedAt\n}" as unknown as Document<UpdateUserMutation, UpdateUserMutationVariables>
export const deleteUser = "mutation deleteUser($accountId: ID!, $issuerId: ID!, $userId: ID!, $ifMatch: String) {\n  deleteUser(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    ifMatch: $ifMatch\n  )\n}" as unknown as Document<DeleteUserMutation, DeleteUserMutationVariables>
export const verifiers = "query verifiers($accountId: ID!, $issuerId: ID!, $userId: ID!, $limit: Int, $cursor: String) {\n  verifiers(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    limit: $limit\n    cursor: $cursor\n  ) {\n    data {\n      id\n      type\n      name\n      mustChange\n      lastUsedAt\n      expiresAt\n      createdAt\n    }\n    nextCursor\n    hasMore\n  }\n}" as unknown as Document<VerifiersQuery, VerifiersQueryVariables>
export const createVerifier = "mutation createVerifier($accountId: ID!, $issuerId: ID!, $userId: ID!, $input: CreateVerifierInput!) {\n  createVerifier(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    input: $input\n  ) {\n    id\n    type\n    ... on NewBackupCodes {\n      codesPlain\n    }\n  }\n}" as unknown as Document<CreateVerifierMutation, CreateVerifierMutationVariables>
export const deleteVerifier = "mutation deleteVerifier($accountId: ID!, $issuerId: ID!, $userId: ID!, $verifierId: ID!) {\n  deleteVerifier(\n    accountId: $accountId\n    issuerId: $issuerId\n    userId: $userId\n    verifierId: $verifierId\n  )\n}" as unknown as Document<DeleteVerifierMutation, DeleteVerifierMutationVariables>
