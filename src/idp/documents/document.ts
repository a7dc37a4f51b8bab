/** What a client ID metadata document may say (decisions D23): a public client that signs people in, and nothing else. */
import { z } from 'zod'
import { gateFault } from '../../kernel/gate.js'
import { callbackFault } from '../../resources/clients/callbacks.js'

/** What of a document counts. */
export interface DocumentClient {
  /** As it calls itself. */
  name: string | null
  redirectUris: string[]
  logoutUris: string[]
  grantTypes: ('authorization_code' | 'refresh_token')[]
}

const callback = z.string().refine((text) => callbackFault('native', text) === undefined)
const known = ['authorization_code', 'refresh_token'] as const

const rules = z.looseObject({
  client_id: z.string(),
  client_name: z.string().max(200).optional(),
  redirect_uris: z.array(callback).min(1).max(100),
  post_logout_redirect_uris: z.array(callback).max(100).optional(),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.literal('none').optional(),
  // A secret that everybody can read is none.
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
})

/**
 * Reads a document.
 * @returns what it says, or why it is refused; never a word of the document
 */
export function readDocument(address: string, text: string): DocumentClient | { fault: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'it is not JSON' }
  }
  if (gateFault(value) !== undefined) return { fault: 'it is not acceptable JSON' }
  const parsed = rules.safeParse(value)
  if (!parsed.success) {
    const [place] = parsed.error.issues[0]?.path ?? []
    return {
      fault: typeof place === 'string' ? `its ${place} is missing or not acceptable` : 'it is not a JSON object',
    }
  }
  const {
    client_id,
    client_name,
    redirect_uris,
    post_logout_redirect_uris = [],
    grant_types,
    response_types,
  } = parsed.data
  if (client_id !== address) return { fault: 'its client_id is not its address' }
  // RFC 7591 section 2: what is left out means the authorization code grant.
  const grantTypes = known.filter((type) => (grant_types ?? ['authorization_code']).includes(type))
  if (!grantTypes.includes('authorization_code') || !(response_types ?? ['code']).includes('code')) {
    return { fault: 'it is not for the authorization code grant' }
  }
  // Nothing invisible, and nothing that changes the direction of writing.
  const name = client_name?.replace(/\p{C}/gu, '').trim() || null
  return { name, redirectUris: redirect_uris, logoutUris: post_logout_redirect_uris, grantTypes }
}
