/**
 * Validates a client ID metadata document (docs/contract.md#client-id-metadata-documents): a public client that uses
 * the authorization code grant.
 */
import { z } from 'zod'
import { limits } from '../../../kernel/limits.js'
import { unsafeInputError } from '../../../kernel/safe-json.js'
import { redirectUriError } from '../../../resources/clients/redirect-uris.js'

/** The members of a metadata document that Gatehouse uses. */
export interface MetadataDocument {
  /** `client_name` of the document, which is not verified; null without a name. */
  name: string | null
  redirectUris: string[]
  postLogoutRedirectUris: string[]
  grantTypes: ('authorization_code' | 'refresh_token')[]
  /** Whether each token request must have a DPoP proof (RFC 9449 section 5.2). */
  dpopBoundAccessTokens: boolean
}

const nativeRedirectUri = z.string().refine((text) => redirectUriError('native', text) === undefined)
const supportedGrantTypes = ['authorization_code', 'refresh_token'] as const

const documentSchema = z.looseObject({
  client_id: z.string(),
  client_name: z.string().max(limits.maxNameLength).optional(),
  redirect_uris: z.array(nativeRedirectUri).min(1).max(limits.maxRedirectUris),
  post_logout_redirect_uris: z.array(nativeRedirectUri).max(limits.maxRedirectUris).optional(),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.literal('none').optional(),
  dpop_bound_access_tokens: z.boolean().optional(),
  // A document with a secret is rejected, because anyone can read the document.
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
})

/**
 * Parses and validates a metadata document.
 * @returns the used members, or an error message, which never quotes the document
 */
export function readMetadataDocument(clientIdUrl: string, text: string): MetadataDocument | { error: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { error: 'it is not valid JSON' }
  }
  if (unsafeInputError(value) !== undefined)
    return { error: 'it is nested too deeply, or has a key, number or character that is not allowed' }
  const parsed = documentSchema.safeParse(value)
  if (!parsed.success) {
    const [member] = parsed.error.issues[0]?.path ?? []
    return {
      error: typeof member === 'string' ? `${member} is missing or not allowed` : 'it is not a JSON object',
    }
  }
  const {
    client_id,
    client_name,
    redirect_uris,
    post_logout_redirect_uris = [],
    grant_types,
    response_types,
    dpop_bound_access_tokens: dpopBoundAccessTokens = false,
  } = parsed.data
  if (client_id !== clientIdUrl) return { error: 'client_id is not the URL of the document' }
  // RFC 7591 section 2: the default is the authorization code grant.
  const grantTypes = supportedGrantTypes.filter((type) => (grant_types ?? ['authorization_code']).includes(type))
  if (!grantTypes.includes('authorization_code') || !(response_types ?? ['code']).includes('code')) {
    return { error: 'grant_types or response_types do not allow the authorization code grant' }
  }
  // Removes control characters and invisible characters, some of which change the writing direction.
  const name = client_name?.replace(/\p{C}/gu, '').trim() || null
  const postLogoutRedirectUris = post_logout_redirect_uris
  return { name, redirectUris: redirect_uris, postLogoutRedirectUris, grantTypes, dpopBoundAccessTokens }
}
