/**
 * The token preview (docs/contract.md#token-preview). The identity provider creates it, with the functions that issue
 * real tokens; `setTokenPreviewer` connects the two.
 */
import { coversScope } from '../../kernel/scopes.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import type { DatabaseHandle } from '../../platform/postgres/database.js'
import { requireScope } from '../authority.js'
import { getClient } from '../clients/clients.js'
import { type InIssuer, requireOrganization, requireUser } from '../resource-path.js'

export interface TokenPreviewRequest extends InIssuer {
  clientId: string
  userId: string
  /** Requested scopes, separated by spaces; `openid` by default. */
  scope?: string | null
  /** A requested resource (RFC 8707). */
  resource?: string | null
  /** The selected organization. */
  orgId?: string | null
}

export interface TokenPreview {
  accessToken: Record<string, unknown>
  /** Null without the scope `openid`. */
  idToken: Record<string, unknown> | null
  /** Null without the scope `openid`. */
  userinfo: Record<string, unknown> | null
  dropped: DroppedClaim[]
}

/** The scope without which a preview has no data of organizations. */
export const ORGANIZATION_SCOPE = 'issuers.organizations:read'

/** A claim or a scope that the tokens do not have, or that the caller may not see. */
export interface DroppedClaim {
  name: string
  reason: string
}

/** @throws invalid_request if a sign-in with this request would fail */
export type TokenPreviewer = (
  context: Context,
  request: TokenPreviewRequest,
  options: { hidesOrganizations: boolean },
) => Promise<TokenPreview>

const previewers = new WeakMap<DatabaseHandle, TokenPreviewer>()

/** Sets the function that previews the tokens of this process. */
export const setTokenPreviewer = (gatehouse: Gatehouse, previewer: TokenPreviewer): void =>
  void previewers.set(gatehouse.database, previewer)

/**
 * Returns the claims that a user would get from a client.
 * @throws insufficient_scope for an organization that the caller may not read; not_found for the issuer, client, user or organization; invalid_request if the sign-in would fail
 */
export async function previewToken(context: Context, request: TokenPreviewRequest): Promise<TokenPreview> {
  const { orgId } = request
  if (orgId != null) requireScope(context, ORGANIZATION_SCOPE)
  await getClient(context, request)
  await requireUser(context, request)
  if (orgId != null) await requireOrganization(context, { ...request, orgId })
  const previewer = previewers.get(context.database)
  if (!previewer) throw new Error('No token previewer is set: call setTokenPreviewer at startup.')
  return previewer(context, request, { hidesOrganizations: !coversScope(context.actor.scopes, ORGANIZATION_SCOPE) })
}
