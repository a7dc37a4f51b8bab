/**
 * The token preview (docs/contract.md#token-preview). The identity provider creates it, with the functions that issue
 * real tokens; `setTokenPreviewer` connects the two.
 */
import type { Context, Gatehouse } from '../../platform/context.js'
import type { DatabaseHandle } from '../../platform/postgres/database.js'
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

/** A custom claim or a scope that the tokens do not have. */
export interface DroppedClaim {
  name: string
  reason: string
}

/** @throws invalid_request if a sign-in with this request would fail */
export type TokenPreviewer = (context: Context, request: TokenPreviewRequest) => Promise<TokenPreview>

const previewers = new WeakMap<DatabaseHandle, TokenPreviewer>()

/** Sets the function that previews the tokens of this process. */
export const setTokenPreviewer = (gatehouse: Gatehouse, previewer: TokenPreviewer): void =>
  void previewers.set(gatehouse.database, previewer)

/**
 * Returns the claims that a user would get from a client.
 * @throws not_found for the issuer, client, user or organization; invalid_request if the sign-in would fail
 */
export async function previewToken(context: Context, request: TokenPreviewRequest): Promise<TokenPreview> {
  await getClient(context, request)
  await requireUser(context, request)
  const { orgId } = request
  if (orgId != null) await requireOrganization(context, { ...request, orgId })
  const previewer = previewers.get(context.database)
  if (!previewer) throw new Error('No token previewer is set: call setTokenPreviewer at startup.')
  return previewer(context, request)
}
