/**
 * The routes of `/v1`, in the order of docs/contract.md#core-api-endpoints. Each route runs one root
 * field of the GraphQL schema (src/rest/operations.ts). The OpenAPI document, and the tests that run for every route, use this table.
 */

/** Path prefixes of an account, an issuer and an organization. */
const A = '/v1/accounts/{account_id}'
const I = `${A}/issuers/{issuer_id}`
const O = `${I}/organizations/{org_id}`

export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  /** The operationId. The root field is `clients` for `listClients`, `client` for `getClient`, otherwise equal. */
  operation: string
  summary: string
  success: 200 | 201 | 202 | 204
  /** Error statuses, in addition to those that `rest/openapi.ts` adds to every route. */
  errors: readonly number[]
  /** True if the route supports If-Match (docs/contract.md#etag-and-if-match). */
  ifMatch?: true
  /** Fields that only GraphQL has in other operations of the same type. */
  extraFields?: readonly string[]
  /**
   * True if the route requires an x402 payment, with the headers PAYMENT-SIGNATURE and PAYMENT-RESPONSE
   * (docs/contract.md#payment-challenge).
   */
  payment?: true | undefined
  /** True if the response body is the object itself, without `data` around it. */
  unwrapped?: true
  /** Keys of the response that are omitted when their values are null (docs/contract.md#event-endpoints). */
  omittedWhenNull?: readonly string[]
  /**
   * True if the response contains values that are not in the row of the resource: a status that depends on the time,
   * permissions from groups, or counts. The ETag is the version of the row and does not change with these values, so
   * If-None-Match never causes a 304.
   */
  hasDerivedFields?: true
}

const readErrors = [404] as const
const writeErrors = [400, 404, 412] as const

const organizationKeyFields = ['issuerId', 'orgId', 'type'] as const

// biome-ignore format: a table, one row a route
export const routes: readonly Route[] = [
  { method: 'GET', path: '/v1/accounts', operation: 'listAccounts', summary: 'List the accounts that you can access', success: 200, errors: [] },
  { method: 'GET', path: A, operation: 'getAccount', summary: 'Get an account', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'PATCH', path: A, operation: 'updateAccount', summary: 'Update an account', success: 200, errors: [400, 404, 409, 412], ifMatch: true },
  { method: 'GET', path: `${A}/credits/ledger`, operation: 'listLedgerEntries', summary: 'List ledger entries of prepaid credit, newest first', success: 200, errors: readErrors },
  { method: 'POST', path: `${A}/credits/topups`, operation: 'createTopup', summary: 'Settle a payment and add it to the prepaid credit', success: 200, errors: [400, 402, 404, 409, 502], payment: true },
  { method: 'GET', path: `${A}/payment-methods`, operation: 'listPaymentMethods', summary: 'List payment methods, including removed ones', success: 200, errors: readErrors },
  { method: 'POST', path: `${A}/payment-methods`, operation: 'createPaymentMethod', summary: 'Add a payment method', success: 201, errors: [400, 404] },
  { method: 'PATCH', path: `${A}/payment-methods/{method_id}`, operation: 'updatePaymentMethod', summary: 'Update, enable or disable a payment method', success: 200, errors: [400, 404] },
  { method: 'DELETE', path: `${A}/payment-methods/{method_id}`, operation: 'deletePaymentMethod', summary: 'Remove a payment method permanently', success: 204, errors: readErrors },

  { method: 'GET', path: `${A}/domains`, operation: 'listDomains', summary: 'List custom domains', success: 200, errors: readErrors },
  { method: 'POST', path: `${A}/domains`, operation: 'createDomain', summary: 'Add an unverified domain', success: 201, errors: [400, 404, 409] },
  { method: 'DELETE', path: `${A}/domains/{domain}`, operation: 'deleteDomain', summary: 'Remove a domain and its assignment', success: 204, errors: [404] },
  { method: 'POST', path: `${A}/domains/{domain}/verify`, operation: 'verifyDomain', summary: 'Verify a domain by its TXT record', success: 200, errors: [400, 404, 409] },
  { method: 'POST', path: `${A}/domains/{domain}/assign`, operation: 'assignDomain', summary: 'Assign a verified domain to an issuer', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${A}/domains/{domain}/unassign`, operation: 'unassignDomain', summary: 'Remove a domain from its issuer', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${A}/issuers`, operation: 'listIssuers', summary: 'List issuers, newest first', success: 200, errors: [] },
  { method: 'POST', path: `${A}/issuers`, operation: 'createIssuer', summary: 'Create an issuer', success: 201, errors: [400] },
  { method: 'GET', path: I, operation: 'getIssuer', summary: 'Get an issuer', success: 200, errors: readErrors },
  { method: 'PATCH', path: I, operation: 'updateIssuer', summary: 'Update an issuer', success: 200, errors: [...writeErrors, 409], ifMatch: true },
  { method: 'DELETE', path: I, operation: 'deleteIssuer', summary: 'Delete an issuer', success: 204, errors: [404, 409, 412], ifMatch: true },

  { method: 'GET', path: `${I}/auth-methods`, operation: 'listAuthMethods', summary: 'List authentication methods', success: 200, errors: readErrors },
  { method: 'POST', path: `${I}/auth-methods`, operation: 'createAuthMethod', summary: 'Add an authentication method', success: 201, errors: [400, 404, 409] },
  { method: 'GET', path: `${I}/auth-methods/{method_id}`, operation: 'getAuthMethod', summary: 'Get an authentication method', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${I}/auth-methods/{method_id}`, operation: 'updateAuthMethod', summary: 'Update an authentication method', success: 200, errors: [...writeErrors, 409], ifMatch: true },
  { method: 'DELETE', path: `${I}/auth-methods/{method_id}`, operation: 'deleteAuthMethod', summary: 'Remove an authentication method', success: 204, errors: [404, 409, 412], ifMatch: true },

  { method: 'GET', path: `${I}/clients`, operation: 'listClients', summary: 'List clients', success: 200, errors: [] },
  { method: 'POST', path: `${I}/clients`, operation: 'createClient', summary: 'Register a client', success: 201, errors: [400] },
  { method: 'GET', path: `${I}/clients/{client_id}`, operation: 'getClient', summary: 'Get a client', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${I}/clients/{client_id}`, operation: 'updateClient', summary: 'Update a client', success: 200, errors: [...writeErrors, 409], ifMatch: true },
  { method: 'DELETE', path: `${I}/clients/{client_id}`, operation: 'deleteClient', summary: 'Delete a client', success: 204, errors: [404, 409, 412], ifMatch: true },
  { method: 'POST', path: `${I}/clients/{client_id}/secret/rotate`, operation: 'rotateClientSecret', summary: 'Rotate the secret of a client; the old secret stays valid for 15 minutes', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${I}/users`, operation: 'listUsers', summary: 'List users; usernames are hashed', success: 200, errors: [] },
  { method: 'POST', path: `${I}/users`, operation: 'createUser', summary: 'Create a user', success: 201, errors: [400, 409] },
  { method: 'GET', path: `${I}/users/{user_id}`, operation: 'getUser', summary: 'Get a user', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${I}/users/{user_id}`, operation: 'updateUser', summary: 'Update a user', success: 200, errors: [400, 404, 409, 412], ifMatch: true },
  { method: 'DELETE', path: `${I}/users/{user_id}`, operation: 'deleteUser', summary: 'Delete a user; the data is deleted later', success: 202, errors: [404, 409, 412], ifMatch: true },
  { method: 'GET', path: `${I}/users/{user_id}/verifiers`, operation: 'listVerifiers', summary: "List a user's verifiers", success: 200, errors: readErrors },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers`, operation: 'createVerifier', summary: 'Create a verifier of a user', success: 201, errors: [400, 404, 409] },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers/passkey-challenge`, operation: 'challengePasskey', summary: 'Create a challenge for registering a passkey in a browser', success: 201, errors: [400, 404] },
  { method: 'POST', path: `${I}/users/{user_id}/verifiers/complete-enrollment`, operation: 'completeEnrollment', summary: 'Complete a TOTP enrollment with a code', success: 200, errors: [400, 404, 409] },
  { method: 'GET', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'getVerifier', summary: 'Get a verifier', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'updateVerifier', summary: 'Update a verifier', success: 200, errors: [400, 404] },
  { method: 'DELETE', path: `${I}/users/{user_id}/verifiers/{verifier_id}`, operation: 'deleteVerifier', summary: 'Remove a verifier', success: 204, errors: [404] },

  { method: 'GET', path: `${I}/organizations`, operation: 'listOrganizations', summary: 'List organizations', success: 200, errors: [] },
  { method: 'POST', path: `${I}/organizations`, operation: 'createOrganization', summary: 'Create an organization', success: 201, errors: [400] },
  { method: 'GET', path: O, operation: 'getOrganization', summary: 'Get an organization', success: 200, errors: readErrors },
  { method: 'PATCH', path: O, operation: 'updateOrganization', summary: 'Update an organization', success: 200, errors: writeErrors, ifMatch: true },
  { method: 'DELETE', path: O, operation: 'deleteOrganization', summary: 'Delete an organization permanently', success: 204, errors: [404, 409, 412], ifMatch: true },
  { method: 'GET', path: `${O}/members`, operation: 'listOrganizationMembers', summary: 'List members', success: 200, errors: readErrors },
  { method: 'POST', path: `${O}/members`, operation: 'addOrganizationMember', summary: 'Add a user as a member', success: 201, errors: [400, 404, 409] },
  { method: 'GET', path: `${O}/members/{member_id}`, operation: 'getOrganizationMember', summary: 'Get a member', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'PATCH', path: `${O}/members/{member_id}`, operation: 'updateOrganizationMember', summary: 'Update a member', success: 200, errors: [400, 404] },
  { method: 'DELETE', path: `${O}/members/{member_id}`, operation: 'removeOrganizationMember', summary: 'Remove a member; the user is kept', success: 204, errors: readErrors },
  { method: 'GET', path: `${O}/groups`, operation: 'listOrganizationGroups', summary: 'List groups', success: 200, errors: readErrors },
  { method: 'POST', path: `${O}/groups`, operation: 'createOrganizationGroup', summary: 'Create a group', success: 201, errors: [400, 404, 409] },
  { method: 'GET', path: `${O}/groups/{group_id}`, operation: 'getOrganizationGroup', summary: 'Get a group', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'PATCH', path: `${O}/groups/{group_id}`, operation: 'updateOrganizationGroup', summary: 'Update a group', success: 200, errors: [400, 404, 409, 412], ifMatch: true },
  { method: 'DELETE', path: `${O}/groups/{group_id}`, operation: 'deleteOrganizationGroup', summary: 'Delete a group; its members are kept', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'GET', path: `${O}/groups/{group_id}/members`, operation: 'listOrganizationGroupMembers', summary: 'List the members of a group', success: 200, errors: readErrors },
  { method: 'POST', path: `${O}/groups/{group_id}/members`, operation: 'addOrganizationGroupMember', summary: 'Add a member to a group', success: 201, errors: [400, 404, 409] },
  { method: 'DELETE', path: `${O}/groups/{group_id}/members/{member_id}`, operation: 'removeOrganizationGroupMember', summary: 'Remove a member from a group', success: 204, errors: readErrors },
  { method: 'GET', path: `${O}/invitations`, operation: 'listOrganizationInvitations', summary: 'List invitations', success: 200, errors: readErrors },
  { method: 'POST', path: `${O}/invitations`, operation: 'createOrganizationInvitation', summary: 'Invite a person by email', success: 201, errors: [400, 404, 409] },
  { method: 'GET', path: `${O}/invitations/{invitation_id}`, operation: 'getOrganizationInvitation', summary: 'Get an invitation', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'POST', path: `${O}/invitations/{invitation_id}/resend`, operation: 'resendOrganizationInvitation', summary: 'Resend an invitation with a new token and expiry time', success: 200, errors: [400, 404, 409] },
  { method: 'POST', path: `${O}/invitations/{invitation_id}/revoke`, operation: 'revokeOrganizationInvitation', summary: 'Revoke an invitation', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${O}/api-keys`, operation: 'listOrganizationApiKeys', summary: "List an organization's API keys", success: 200, errors: readErrors, extraFields: organizationKeyFields },
  { method: 'POST', path: `${O}/api-keys`, operation: 'createOrganizationApiKey', summary: 'Create an API key of an organization', success: 201, errors: [400, 404, 429], extraFields: organizationKeyFields },
  { method: 'GET', path: `${O}/api-keys/{key_id}`, operation: 'getOrganizationApiKey', summary: 'Get an API key of an organization', success: 200, errors: readErrors, hasDerivedFields: true, extraFields: organizationKeyFields },
  { method: 'PATCH', path: `${O}/api-keys/{key_id}`, operation: 'updateOrganizationApiKey', summary: 'Update an API key of an organization', success: 200, errors: writeErrors, ifMatch: true, extraFields: organizationKeyFields },
  { method: 'DELETE', path: `${O}/api-keys/{key_id}`, operation: 'deleteOrganizationApiKey', summary: 'Revoke an API key of an organization; no response body', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'POST', path: `${O}/api-keys/{key_id}/rotate`, operation: 'rotateOrganizationApiKey', summary: 'Rotate the secret of an organization API key; the old secret stays valid for 15 minutes', success: 200, errors: [400, 404], extraFields: organizationKeyFields },
  { method: 'POST', path: `${O}/api-keys/{key_id}/block`, operation: 'blockOrganizationApiKey', summary: 'Block an API key of an organization', success: 200, errors: [400, 404], extraFields: organizationKeyFields },
  { method: 'POST', path: `${O}/api-keys/{key_id}/unblock`, operation: 'unblockOrganizationApiKey', summary: 'Unblock an API key of an organization', success: 200, errors: [400, 404], extraFields: organizationKeyFields },
  { method: 'POST', path: `${O}/api-keys/{key_id}/revoke`, operation: 'revokeOrganizationApiKey', summary: 'Revoke an API key of an organization and return it', success: 200, errors: [400, 404], extraFields: organizationKeyFields },
  { method: 'GET', path: `${A}/api-keys`, operation: 'listApiKeys', summary: 'List API keys', success: 200, errors: [] },
  { method: 'POST', path: `${A}/api-keys`, operation: 'createApiKey', summary: 'Create an API key', success: 201, errors: [400, 429] },
  { method: 'GET', path: `${A}/api-keys/{key_id}`, operation: 'getApiKey', summary: 'Get an API key', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'PATCH', path: `${A}/api-keys/{key_id}`, operation: 'updateApiKey', summary: 'Update an API key', success: 200, errors: writeErrors, ifMatch: true },
  { method: 'DELETE', path: `${A}/api-keys/{key_id}`, operation: 'deleteApiKey', summary: 'Revoke an API key; no response body', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'POST', path: `${A}/api-keys/{key_id}/rotate`, operation: 'rotateApiKey', summary: 'Rotate the secret of an API key; the old secret stays valid for 15 minutes', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${A}/api-keys/{key_id}/block`, operation: 'blockApiKey', summary: 'Block an API key', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${A}/api-keys/{key_id}/unblock`, operation: 'unblockApiKey', summary: 'Unblock an API key', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${A}/api-keys/{key_id}/revoke`, operation: 'revokeApiKey', summary: 'Revoke an API key and return it', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${I}/users/{user_id}/tokens`, operation: 'listPersonalTokens', summary: "List a user's personal tokens", success: 200, errors: [] },
  { method: 'POST', path: `${I}/users/{user_id}/tokens`, operation: 'createPersonalToken', summary: 'Create a personal token', success: 201, errors: [400, 404, 429] },
  { method: 'GET', path: `${A}/tokens/{token_id}`, operation: 'getPersonalToken', summary: 'Get a personal token', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'DELETE', path: `${A}/tokens/{token_id}`, operation: 'deletePersonalToken', summary: 'Revoke a personal token; no response body', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'POST', path: `${A}/tokens/{token_id}/revoke`, operation: 'revokePersonalToken', summary: 'Revoke a personal token and return it', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${I}/users/{user_id}/sessions`, operation: 'listSessions', summary: "List a user's sessions", success: 200, errors: readErrors },
  { method: 'GET', path: `${I}/sessions/{session_id}`, operation: 'getSession', summary: 'Get a session', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'POST', path: `${I}/sessions/{session_id}/revoke`, operation: 'revokeSession', summary: 'Revoke a session and its tokens', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${I}/sessions/{session_id}/suspend`, operation: 'suspendSession', summary: 'Suspend a session', success: 200, errors: [400, 404] },
  { method: 'POST', path: `${I}/sessions/{session_id}/reactivate`, operation: 'reactivateSession', summary: 'Reactivate a suspended session', success: 200, errors: [400, 404] },

  { method: 'GET', path: `${I}/approvals`, operation: 'listApprovals', summary: 'List users with a pending approval, oldest sign-up first', success: 200, errors: [] },
  { method: 'GET', path: `${I}/approvals/{user_id}`, operation: 'getApproval', summary: 'Get a user with a pending approval', success: 200, errors: [404, 422] },
  { method: 'PATCH', path: `${I}/approvals/{user_id}`, operation: 'decideApproval', summary: 'Approve or reject a user', success: 200, errors: [400, 404, 422] },

  { method: 'GET', path: `${I}/agents`, operation: 'listAgents', summary: 'List agents, newest first', success: 200, errors: [] },
  { method: 'POST', path: `${I}/agents`, operation: 'createAgent', summary: 'Create an agent', success: 201, errors: [400] },
  { method: 'GET', path: `${I}/agents/{agent_id}`, operation: 'getAgent', summary: 'Get an agent', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${I}/agents/{agent_id}`, operation: 'updateAgent', summary: 'Update an agent', success: 200, errors: writeErrors, ifMatch: true },
  { method: 'DELETE', path: `${I}/agents/{agent_id}`, operation: 'deleteAgent', summary: 'Delete an agent with its verifiers', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'GET', path: `${I}/agents/{agent_id}/verifiers`, operation: 'listAgentVerifiers', summary: "List an agent's verifiers", success: 200, errors: readErrors },
  { method: 'POST', path: `${I}/agents/{agent_id}/verifiers`, operation: 'createAgentVerifier', summary: 'Create a verifier of an agent', success: 201, errors: [400, 404] },
  { method: 'DELETE', path: `${I}/agents/{agent_id}/verifiers/{verifier_id}`, operation: 'deleteAgentVerifier', summary: 'Remove a verifier of an agent', success: 204, errors: [400, 404] },

  { method: 'GET', path: `${A}/notes`, operation: 'listNotes', summary: 'List notes, pinned first, then newest first', success: 200, errors: [] },
  { method: 'POST', path: `${A}/notes`, operation: 'createNote', summary: 'Create a note', success: 201, errors: [400] },
  { method: 'GET', path: `${A}/notes/count`, operation: 'getNoteCount', summary: 'Count the notes about a resource', success: 200, errors: [400], unwrapped: true },
  { method: 'GET', path: `${A}/notes/backlinks`, operation: 'listNoteBacklinks', summary: 'List the newest notes that link to a resource', success: 200, errors: [400] },
  { method: 'GET', path: `${A}/notes/{note_id}`, operation: 'getNote', summary: 'Get a note', success: 200, errors: readErrors },
  { method: 'PATCH', path: `${A}/notes/{note_id}`, operation: 'updateNote', summary: 'Update a note', success: 200, errors: writeErrors, ifMatch: true },
  { method: 'DELETE', path: `${A}/notes/{note_id}`, operation: 'deleteNote', summary: 'Delete a note', success: 204, errors: [404, 412], ifMatch: true },

  { method: 'GET', path: `${A}/events`, operation: 'listEvents', summary: 'List events, newest first', success: 200, errors: [] },
  { method: 'GET', path: `${A}/events/aggregate`, operation: 'getEventAggregate', summary: 'Count events by interval and group', success: 200, errors: [400], unwrapped: true, omittedWhenNull: ['ts', 'key', 'uniques'] },
  { method: 'GET', path: `${A}/events/{event_id}`, operation: 'getEvent', summary: 'Get an event', success: 200, errors: readErrors },

  { method: 'GET', path: `${A}/webhooks`, operation: 'listWebhooks', summary: 'List webhooks, newest first', success: 200, errors: [] },
  { method: 'POST', path: `${A}/webhooks`, operation: 'createWebhook', summary: 'Create a webhook', success: 201, errors: [400, 429] },
  { method: 'GET', path: `${A}/webhooks/{webhook_id}`, operation: 'getWebhook', summary: 'Get a webhook', success: 200, errors: readErrors, hasDerivedFields: true },
  { method: 'PATCH', path: `${A}/webhooks/{webhook_id}`, operation: 'updateWebhook', summary: 'Update a webhook', success: 200, errors: writeErrors, ifMatch: true },
  { method: 'DELETE', path: `${A}/webhooks/{webhook_id}`, operation: 'deleteWebhook', summary: 'Delete a webhook and cancel its pending deliveries', success: 204, errors: [404, 412], ifMatch: true },
  { method: 'GET', path: `${A}/webhooks/{webhook_id}/deliveries`, operation: 'listWebhookDeliveries', summary: 'List deliveries, newest first', success: 200, errors: readErrors },
]
