/**
 * The contract of `/v1` as a table, in the order of spec section 4. Each row runs one operation of graphql/rest; the
 * OpenAPI document and the tests that go through every route are made from it.
 */

/** `A`, `I` and `O` are the specification's abbreviations. */
const A = '/v1/accounts/{account_id}'
const I = `${A}/issuers/{issuer_id}`
const O = `${I}/organizations/{org_id}`

export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  /** Name of the operation in graphql/rest. */
  operation: string
  summary: string
  success: 200 | 201 | 202 | 204
  /** Statuses that the specification names besides 401 and 403. */
  errors: readonly number[]
  /** Takes If-Match (spec 4.1). */
  ifMatch?: true
  /** The answer holds a secret or must run anew: its Idempotency-Key is checked but never used (spec 4.1 rule 7). */
  neverCached?: true | ((body: Record<string, unknown>) => boolean)
  /** The answer holds a secret and is replayed all the same: it is kept encrypted. */
  encrypted?: (body: Record<string, unknown>) => boolean
  /** Paid for by x402: takes PAYMENT-SIGNATURE, and answers PAYMENT-RESPONSE (decisions D18). */
  payment?: true | undefined
  /** The answer is the object itself, without `data` (decisions D29). */
  bare?: true
  /** Keys that are left out where they would be null (spec 4.14). */
  omitted?: readonly string[]
  /**
   * The answer shows more than its row: a state read off the clock, what groups give, counts. Its tag is the row's
   * version all the same (spec 4.1) and does not tell when that changes, so If-None-Match never makes it a 304.
   */
  derived?: true
  /** The specification's section. */
  section: string
}

const single = [404] as const
const write = [400, 404, 412] as const

// biome-ignore format: a table, one row a route
export const routes: readonly Route[] = [
  { method: 'GET', path: '/v1/accounts', operation: 'listAccounts', summary: 'List the accounts that you can reach', success: 200, errors: [], section: '4.2' },
  { method: 'GET', path: A, operation: 'getAccount', summary: 'Read an account', success: 200, errors: single, derived: true, section: '4.2' },
  { method: 'PATCH', path: A, operation: 'updateAccount', summary: 'Change an account', success: 200, errors: [400, 404, 409, 412], ifMatch: true, section: '4.2' },
  { method: 'GET', path: `${A}/credits/ledger`, operation: 'listLedgerEntries', summary: 'List the movements of prepaid credit, most recent first', success: 200, errors: single, section: '4.2' },
  { method: 'POST', path: `${A}/credits/topups`, operation: 'createTopup', summary: 'Settle a payment and add it to the prepaid credit', success: 200, errors: [400, 402, 404, 409, 502], payment: true, section: '4.2' },
  { method: 'GET', path: `${A}/payment-methods`, operation: 'listPaymentMethods', summary: 'List payment methods, removed ones too', success: 200, errors: single, section: '4.2' },
  { method: 'POST', path: `${A}/payment-methods`, operation: 'createPaymentMethod', summary: 'Add a payment method', success: 201, errors: [400, 404], section: '4.2' },
  { method: 'PATCH', path: `${A}/payment-methods/{method_id}`, operation: 'updatePaymentMethod', summary: 'Change, enable or disable a payment method', success: 200, errors: [400, 404], section: '4.2' },
  { method: 'DELETE', path: `${A}/payment-methods/{method_id}`, operation: 'deletePaymentMethod', summary: 'Remove a payment method for good', success: 204, errors: single, section: '4.2' },

  { method: 'GET', path: `${A}/domains`, operation: 'listDomains', summary: 'List custom domains', success: 200, errors: single, section: '4.3' },
  { method: 'POST', path: `${A}/domains`, operation: 'createDomain', summary: 'Add a domain, unverified', success: 201, errors: [400, 404, 409], section: '4.3' },
  { method: 'DELETE', path: `${A}/domains/{domain}`, operation: 'deleteDomain', summary: 'Remove a domain and its assignment', success: 204, errors: [404], section: '4.3' },
  { method: 'POST', path: `${A}/domains/{domain}/verify`, operation: 'verifyDomain', summary: 'Look for the TXT record that proves control over a domain', success: 200, errors: [400, 404, 409], section: '4.3' },
  { method: 'POST', path: `${A}/domains/{domain}/assign`, operation: 'assignDomain', summary: 'Assign a verified domain to an issuer', success: 200, errors: [400, 404], section: '4.3' },
  { method: 'POST', path: `${A}/domains/{domain}/unassign`, operation: 'unassignDomain', summary: 'Take a domain from its issuer', success: 200, errors: [400, 404], section: '4.3' },

  { method: 'GET', path: `${A}/issuers`, operation: 'listIssuers', summary: 'List issuers, newest first', success: 200, errors: [], section: '4.4' },
  { method: 'POST', path: `${A}/issuers`, operation: 'createIssuer', summary: 'Make an issuer', success: 201, errors: [400], section: '4.4' },
  { method: 'GET', path: I, operation: 'getIssuer', summary: 'Read an issuer', success: 200, errors: single, section: '4.4' },
  { method: 'PATCH', path: I, operation: 'updateIssuer', summary: 'Change an issuer', success: 200, errors: [...write, 409], ifMatch: true, section: '4.4' },
  { method: 'DELETE', path: I, operation: 'deleteIssuer', summary: 'Delete an issuer', success: 204, errors: [404, 409, 412], ifMatch: true, section: '4.4' },

  { method: 'GET', path: `${I}/auth-methods`, operation: 'listAuthMethods', summary: 'List authentication methods', success: 200, errors: single, section: '4.4' },
  { method: 'POST', path: `${I}/auth-methods`, operation: 'createAuthMethod', summary: 'Add an authentication method', success: 201, errors: [400, 404, 409], section: '4.4' },
  { method: 'GET', path: `${I}/auth-methods/{method_id}`, operation: 'getAuthMethod', summary: 'Read an authentication method', success: 200, errors: single, section: '4.4' },
  { method: 'PATCH', path: `${I}/auth-methods/{method_id}`, operation: 'updateAuthMethod', summary: 'Change an authentication method', success: 200, errors: [...write, 409], ifMatch: true, section: '4.4' },
  { method: 'DELETE', path: `${I}/auth-methods/{method_id}`, operation: 'deleteAuthMethod', summary: 'Remove an authentication method', success: 204, errors: [404, 409, 412], ifMatch: true, section: '4.4' },

  { method: 'GET', path: `${I}/clients`, operation: 'listClients', summary: 'List clients', success: 200, errors: [], section: '4.5' },
  { method: 'POST', path: `${I}/clients`, operation: 'createClient', summary: 'Register a client', success: 201, errors: [400], neverCached: (body) => body['confidential'] === true, section: '4.5' },
  { method: 'GET', path: `${I}/clients/{client_id}`, operation: 'getClient', summary: 'Read a client', success: 200, errors: single, section: '4.5' },
  { method: 'PATCH', path: `${I}/clients/{client_id}`, operation: 'updateClient', summary: 'Change a client', success: 200, errors: [...write, 409], ifMatch: true, section: '4.5' },
  { method: 'DELETE', path: `${I}/clients/{client_id}`, operation: 'deleteClient', summary: 'Delete a client', success: 204, errors: [404, 409, 412], ifMatch: true, section: '4.5' },
  { method: 'POST', path: `${I}/clients/{client_id}/secret/rotate`, operation: 'rotateClientSecret', summary: 'Give a client a new secret; the old one stays good for 15 minutes', success: 200, errors: [400, 404], neverCached: true, section: '4.5' },

  { method: 'GET', path: `${I}/users`, operation: 'listUsers', summary: 'List users with hashed usernames', success: 200, errors: [], section: '4.6' },
  { method: 'POST', path: `${I}/users`, operation: 'createUser', summary: 'Make a user', success: 201, errors: [400, 409], section: '4.6' },
  { method: 'GET', path: `${I}/users/{user_id}`, operation: 'getUser', summary: 'Read a user', success: 200, errors: single, section: '4.6' },
  { method: 'PATCH', path: `${I}/users/{user_id}`, operation: 'updateUser', summary: 'Change a user', success: 200, errors: [400, 404, 409, 412], ifMatch: true, section: '4.6' },
  { method: 'DELETE', path: `${I}/users/{user_id}`, operation: 'deleteUser', summary: 'Delete a user, asynchronously', success: 202, errors: [404, 409, 412], ifMatch: true, section: '4.6' },
  { method: 'GET', path: `${I}/users/{user_id}/verifiers`, operation: 'listVerifiers', summary: "List a user's verifiers", success: 200, errors: single, section: '4.6' },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers`, operation: 'createVerifier', summary: 'Give a user a verifier', success: 201, errors: [400, 404, 409], neverCached: (body) => body['type'] === 'backup_codes', encrypted: (body) => body['type'] === 'totp_enrollment', section: '4.6' },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers/passkey-challenge`, operation: 'challengePasskey', summary: 'Begin the registration of a passkey in a browser', success: 201, errors: [400, 404], section: '4.6' },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers/complete-enrollment`, operation: 'completeEnrollment', summary: 'Complete a TOTP enrolment with a code', success: 200, errors: [400, 404, 409], neverCached: true, section: '4.6' },
  { method: 'GET', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'getVerifier', summary: 'Read a verifier', success: 200, errors: single, section: '4.6' },
  { method: 'PATCH', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'updateVerifier', summary: 'Change a verifier', success: 200, errors: [400, 404], section: '4.6' },
  { method: 'DELETE', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'deleteVerifier', summary: 'Remove a verifier', success: 204, errors: [404], section: '4.6' },

  { method: 'GET', path: `${I}/organizations`, operation: 'listOrganizations', summary: 'List organizations', success: 200, errors: [], section: '4.7' },
  { method: 'POST', path: `${I}/organizations`, operation: 'createOrganization', summary: 'Make an organization', success: 201, errors: [400], section: '4.7' },
  { method: 'GET', path: O, operation: 'getOrganization', summary: 'Read an organization', success: 200, errors: single, section: '4.7' },
  { method: 'PATCH', path: O, operation: 'updateOrganization', summary: 'Change an organization', success: 200, errors: write, ifMatch: true, section: '4.7' },
  { method: 'DELETE', path: O, operation: 'deleteOrganization', summary: 'Delete an organization for good', success: 204, errors: [404, 409, 412], ifMatch: true, section: '4.7' },
  { method: 'GET', path: `${O}/members`, operation: 'listOrganizationMembers', summary: 'List members', success: 200, errors: single, section: '4.7' },
  { method: 'POST', path: `${O}/members`, operation: 'addOrganizationMember', summary: 'Make a user a member', success: 201, errors: [400, 404, 409], section: '4.7' },
  { method: 'GET', path: `${O}/members/{member_id}`, operation: 'getOrganizationMember', summary: 'Read a member', success: 200, errors: single, derived: true, section: '4.7' },
  { method: 'PATCH', path: `${O}/members/{member_id}`, operation: 'updateOrganizationMember', summary: 'Change a member', success: 200, errors: [400, 404], section: '4.7' },
  { method: 'DELETE', path: `${O}/members/{member_id}`, operation: 'removeOrganizationMember', summary: 'Remove a member; the user stays', success: 204, errors: single, section: '4.7' },
  { method: 'GET', path: `${O}/groups`, operation: 'listOrganizationGroups', summary: 'List groups', success: 200, errors: single, section: '4.7' },
  { method: 'POST', path: `${O}/groups`, operation: 'createOrganizationGroup', summary: 'Make a group', success: 201, errors: [400, 404, 409], section: '4.7' },
  { method: 'GET', path: `${O}/groups/{group_id}`, operation: 'getOrganizationGroup', summary: 'Read a group', success: 200, errors: single, derived: true, section: '4.7' },
  { method: 'PATCH', path: `${O}/groups/{group_id}`, operation: 'updateOrganizationGroup', summary: 'Change a group', success: 200, errors: [400, 404, 409, 412], ifMatch: true, section: '4.7' },
  { method: 'DELETE', path: `${O}/groups/{group_id}`, operation: 'deleteOrganizationGroup', summary: 'Delete a group; its members stay', success: 204, errors: [404, 412], ifMatch: true, section: '4.7' },
  { method: 'GET', path: `${O}/groups/{group_id}/members`, operation: 'listOrganizationGroupMembers', summary: 'List the members in a group', success: 200, errors: single, section: '4.7' },
  { method: 'POST', path: `${O}/groups/{group_id}/members`, operation: 'addOrganizationGroupMember', summary: 'Put a member into a group', success: 201, errors: [400, 404, 409], section: '4.7' },
  { method: 'DELETE', path: `${O}/groups/{group_id}/members/{member_id}`, operation: 'removeOrganizationGroupMember', summary: 'Take a member out of a group', success: 204, errors: single, section: '4.7' },
  { method: 'GET', path: `${O}/invitations`, operation: 'listOrganizationInvitations', summary: 'List invitations', success: 200, errors: single, section: '4.7' },
  { method: 'POST', path: `${O}/invitations`, operation: 'createOrganizationInvitation', summary: 'Invite somebody by email', success: 201, errors: [400, 404, 409], neverCached: true, section: '4.7' },
  { method: 'GET', path: `${O}/invitations/{invitation_id}`, operation: 'getOrganizationInvitation', summary: 'Read an invitation', success: 200, errors: single, derived: true, section: '4.7' },
  { method: 'POST', path: `${O}/invitations/{invitation_id}/resend`, operation: 'resendOrganizationInvitation', summary: 'Give an invitation a new token and new time', success: 200, errors: [400, 404, 409], neverCached: true, section: '4.7' },
  { method: 'POST', path: `${O}/invitations/{invitation_id}/revoke`, operation: 'revokeOrganizationInvitation', summary: 'Withdraw an invitation', success: 200, errors: [400, 404], section: '4.7' },

  { method: 'GET', path: `${O}/api-keys`, operation: 'listOrganizationApiKeys', summary: "List an organization's API keys", success: 200, errors: single, section: '4.8' },
  { method: 'POST', path: `${O}/api-keys`, operation: 'createOrganizationApiKey', summary: 'Make an API key of an organization', success: 201, errors: [400, 404, 429], neverCached: true, section: '4.8' },
  { method: 'GET', path: `${O}/api-keys/{key_id}`, operation: 'getOrganizationApiKey', summary: 'Read an API key of an organization', success: 200, errors: single, derived: true, section: '4.8' },
  { method: 'PATCH', path: `${O}/api-keys/{key_id}`, operation: 'updateOrganizationApiKey', summary: 'Change an API key of an organization', success: 200, errors: write, ifMatch: true, section: '4.8' },
  { method: 'DELETE', path: `${O}/api-keys/{key_id}`, operation: 'deleteOrganizationApiKey', summary: 'Revoke an API key of an organization', success: 204, errors: [404, 412], ifMatch: true, section: '4.8' },
  { method: 'POST', path: `${O}/api-keys/{key_id}/rotate`, operation: 'rotateOrganizationApiKey', summary: 'Give an API key of an organization a new secret; the old one stays good for 15 minutes', success: 200, errors: [400, 404], neverCached: true, section: '4.8' },
  { method: 'POST', path: `${O}/api-keys/{key_id}/block`, operation: 'blockOrganizationApiKey', summary: 'Block an API key of an organization', success: 200, errors: [400, 404], section: '4.8' },
  { method: 'POST', path: `${O}/api-keys/{key_id}/unblock`, operation: 'unblockOrganizationApiKey', summary: 'Unblock an API key of an organization', success: 200, errors: [400, 404], section: '4.8' },
  { method: 'POST', path: `${O}/api-keys/{key_id}/revoke`, operation: 'revokeOrganizationApiKey', summary: 'Revoke an API key of an organization for good', success: 200, errors: [400, 404], section: '4.8' },
  { method: 'GET', path: `${A}/api-keys`, operation: 'listApiKeys', summary: 'List API keys', success: 200, errors: [], section: '4.8' },
  { method: 'POST', path: `${A}/api-keys`, operation: 'createApiKey', summary: 'Make an API key', success: 201, errors: [400, 429], neverCached: true, section: '4.8' },
  { method: 'GET', path: `${A}/api-keys/{key_id}`, operation: 'getApiKey', summary: 'Read an API key', success: 200, errors: single, derived: true, section: '4.8' },
  { method: 'PATCH', path: `${A}/api-keys/{key_id}`, operation: 'updateApiKey', summary: 'Change an API key', success: 200, errors: write, ifMatch: true, section: '4.8' },
  { method: 'DELETE', path: `${A}/api-keys/{key_id}`, operation: 'deleteApiKey', summary: 'Revoke an API key', success: 204, errors: [404, 412], ifMatch: true, section: '4.8' },
  { method: 'POST', path: `${A}/api-keys/{key_id}/rotate`, operation: 'rotateApiKey', summary: 'Give an API key a new secret; the old one stays good for 15 minutes', success: 200, errors: [400, 404], neverCached: true, section: '4.8' },
  { method: 'POST', path: `${A}/api-keys/{key_id}/block`, operation: 'blockApiKey', summary: 'Block an API key', success: 200, errors: [400, 404], section: '4.8' },
  { method: 'POST', path: `${A}/api-keys/{key_id}/unblock`, operation: 'unblockApiKey', summary: 'Unblock an API key', success: 200, errors: [400, 404], section: '4.8' },
  { method: 'POST', path: `${A}/api-keys/{key_id}/revoke`, operation: 'revokeApiKey', summary: 'Revoke an API key for good', success: 200, errors: [400, 404], section: '4.8' },

  { method: 'GET', path: `${I}/users/{user_id}/tokens`, operation: 'listPersonalTokens', summary: "List a user's personal tokens", success: 200, errors: [], section: '4.9' },
  { method: 'POST', path: `${I}/users/{user_id}/tokens`, operation: 'createPersonalToken', summary: 'Make a personal token', success: 201, errors: [400, 404, 429], neverCached: true, section: '4.9' },
  { method: 'GET', path: `${A}/tokens/{token_id}`, operation: 'getPersonalToken', summary: 'Read a personal token', success: 200, errors: single, derived: true, section: '4.9' },
  { method: 'DELETE', path: `${A}/tokens/{token_id}`, operation: 'deletePersonalToken', summary: 'Revoke a personal token', success: 204, errors: [404, 412], ifMatch: true, section: '4.9' },
  { method: 'POST', path: `${A}/tokens/{token_id}/revoke`, operation: 'revokePersonalToken', summary: 'Revoke a personal token for good', success: 200, errors: [400, 404], section: '4.9' },

  { method: 'GET', path: `${I}/users/{user_id}/sessions`, operation: 'listSessions', summary: "List a user's sessions", success: 200, errors: single, section: '4.10' },
  { method: 'GET', path: `${I}/sessions/{session_id}`, operation: 'getSession', summary: 'Read a session', success: 200, errors: single, derived: true, section: '4.10' },
  { method: 'POST', path: `${I}/sessions/{session_id}/revoke`, operation: 'revokeSession', summary: 'End a session with all its tokens', success: 200, errors: [400, 404], section: '4.10' },
  { method: 'POST', path: `${I}/sessions/{session_id}/suspend`, operation: 'suspendSession', summary: 'Suspend a session', success: 200, errors: [400, 404], section: '4.10' },
  { method: 'POST', path: `${I}/sessions/{session_id}/reactivate`, operation: 'reactivateSession', summary: 'Let a suspended session go on', success: 200, errors: [400, 404], section: '4.10' },

  { method: 'GET', path: `${I}/approvals`, operation: 'listApprovals', summary: 'List users who wait for approval, the oldest signup first', success: 200, errors: [], section: '4.11' },
  { method: 'GET', path: `${I}/approvals/{user_id}`, operation: 'getApproval', summary: 'Read a user who waits for approval', success: 200, errors: [404, 422], section: '4.11' },
  { method: 'PATCH', path: `${I}/approvals/{user_id}`, operation: 'decideApproval', summary: 'Approve or reject a user', success: 200, errors: [400, 404, 422], section: '4.11' },

  { method: 'GET', path: `${I}/agents`, operation: 'listAgents', summary: 'List agents, newest first', success: 200, errors: [], section: '4.12' },
  { method: 'POST', path: `${I}/agents`, operation: 'createAgent', summary: 'Make an agent', success: 201, errors: [400], section: '4.12' },
  { method: 'GET', path: `${I}/agents/{agent_id}`, operation: 'getAgent', summary: 'Read an agent', success: 200, errors: single, section: '4.12' },
  { method: 'PATCH', path: `${I}/agents/{agent_id}`, operation: 'updateAgent', summary: 'Change an agent', success: 200, errors: write, ifMatch: true, section: '4.12' },
  { method: 'DELETE', path: `${I}/agents/{agent_id}`, operation: 'deleteAgent', summary: 'Delete an agent with its verifiers', success: 204, errors: [404, 412], ifMatch: true, section: '4.12' },
  { method: 'GET', path: `${I}/agents/{agent_id}/verifiers`, operation: 'listAgentVerifiers', summary: "List an agent's verifiers", success: 200, errors: single, section: '4.12' },
  { method: 'POST', path: `${I}/agents/{agent_id}/verifiers`, operation: 'createAgentVerifier', summary: 'Give an agent a verifier', success: 201, errors: [400, 404], neverCached: (body) => body['type'] === 'secret', section: '4.12' },
  { method: 'DELETE', path: `${I}/agents/{agent_id}/verifiers/{verifier_id}`, operation: 'deleteAgentVerifier', summary: 'Remove a verifier of an agent', success: 204, errors: [400, 404], section: '4.12' },

  { method: 'GET', path: `${A}/notes`, operation: 'listNotes', summary: 'List notes, pinned first, then newest first', success: 200, errors: [], section: '4.13' },
  { method: 'POST', path: `${A}/notes`, operation: 'createNote', summary: 'Write a note', success: 201, errors: [400], section: '4.13' },
  { method: 'GET', path: `${A}/notes/count`, operation: 'getNoteCount', summary: 'Count the notes about a thing', success: 200, errors: [400], bare: true, section: '4.13' },
  { method: 'GET', path: `${A}/notes/backlinks`, operation: 'listNoteBacklinks', summary: 'List the newest notes that refer to a thing', success: 200, errors: [400], section: '4.13' },
  { method: 'GET', path: `${A}/notes/{note_id}`, operation: 'getNote', summary: 'Read a note', success: 200, errors: single, section: '4.13' },
  { method: 'PATCH', path: `${A}/notes/{note_id}`, operation: 'updateNote', summary: 'Change a note', success: 200, errors: write, ifMatch: true, section: '4.13' },
  { method: 'DELETE', path: `${A}/notes/{note_id}`, operation: 'deleteNote', summary: 'Delete a note', success: 204, errors: [404, 412], ifMatch: true, section: '4.13' },

  { method: 'GET', path: `${A}/events`, operation: 'listEvents', summary: 'List events, newest first', success: 200, errors: [], section: '4.14' },
  { method: 'GET', path: `${A}/events/aggregate`, operation: 'getEventAggregate', summary: 'Count events by interval and group', success: 200, errors: [400], bare: true, omitted: ['ts', 'key', 'uniques'], section: '4.14' },
  { method: 'GET', path: `${A}/events/{event_id}`, operation: 'getEvent', summary: 'Read an event', success: 200, errors: single, section: '4.14' },

  { method: 'GET', path: `${A}/webhooks`, operation: 'listWebhooks', summary: 'List webhooks, newest first', success: 200, errors: [], section: '4.15' },
  { method: 'POST', path: `${A}/webhooks`, operation: 'createWebhook', summary: 'Make a webhook', success: 201, errors: [400, 429], neverCached: (body) => body['auth'] !== 'none', section: '4.15' },
  { method: 'GET', path: `${A}/webhooks/{webhook_id}`, operation: 'getWebhook', summary: 'Read a webhook', success: 200, errors: single, derived: true, section: '4.15' },
  { method: 'PATCH', path: `${A}/webhooks/{webhook_id}`, operation: 'updateWebhook', summary: 'Change a webhook', success: 200, errors: write, ifMatch: true, section: '4.15' },
  { method: 'DELETE', path: `${A}/webhooks/{webhook_id}`, operation: 'deleteWebhook', summary: 'Delete a webhook and cancel what waits', success: 204, errors: [404, 412], ifMatch: true, section: '4.15' },
  { method: 'GET', path: `${A}/webhooks/{webhook_id}/deliveries`, operation: 'listWebhookDeliveries', summary: 'List deliveries, newest first', success: 200, errors: single, section: '4.15' },
]
