/** The client of the token endpoint of the console issuer: exchanges codes and refresh tokens for tokens. */
import { limits } from '../kernel/limits.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { openOutbound } from '../platform/outbound/outbound.js'
import { consolePath } from '../resources/console-path.js'

/** The tokens of a console session. `access` and `id` are JWTs; `refresh` is opaque, or empty if there is none. */
export interface TokenSet {
  access: string
  refresh: string
  id: string
}

/** The issuer refused the code or refresh token (a status 4xx other than 429), so a retry cannot succeed. */
export class TokenRequestRefusedError extends Error {}

export interface TokenClient {
  /**
   * Exchanges an authorization code for tokens.
   * @throws TokenRequestRefusedError; Error for any other failure, for example if the issuer does not respond
   */
  exchange(context: Context, code: { code: string; verifier: string; redirectUri: string }): Promise<TokenSet>
  /** Exchanges the refresh token for new tokens with the same scopes. @throws the errors of `exchange` */
  refresh(context: Context, previous: TokenSet): Promise<TokenSet>
  close(): Promise<void>
}

/**
 * Creates the client of the token endpoint.
 * @param localIdp returns the base URL of the IdP if it runs in this process; if it returns undefined, requests are
 *   sent to IDP_URL
 */
export function openTokenClient(gatehouse: Gatehouse, localIdp: () => string | undefined): TokenClient {
  const { idpUrl, baseUrl } = gatehouse.config
  // Private addresses are allowed, because the URL comes from the configuration of the deployment, not from a tenant.
  const outbound = openOutbound({ allowPrivate: true })

  async function requestTokens(context: Context, form: Record<string, string>, previous?: TokenSet): Promise<TokenSet> {
    const path = await consolePath(context)
    if (!path) throw new Error('This deployment has no console issuer. Restart Gatehouse to create it.')
    const { host, pathname } = new URL(idpUrl)
    const base = localIdp()
    const { status, body } = await outbound.send({
      method: 'POST',
      url: `${base ? base + pathname.replace(/\/$/, '') : idpUrl}/${path.issuer_id}/token`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(base && { host }),
        ...(context.request.ip && { 'x-forwarded-for': context.request.ip }),
        ...(context.request.userAgent && { 'user-agent': context.request.userAgent }),
      },
      body: new URLSearchParams({ ...form, client_id: path.client_id }).toString(),
      timeout: limits.consoleTokenRequestTimeout,
      maxBody: limits.maxConsoleTokenResponseBytes,
    })
    if (status >= 400 && status < 500 && status !== 429) throw new TokenRequestRefusedError(errorCodeOf(body))
    if (status !== 200) throw new Error(`The token endpoint responded with status ${status}.`)
    const response = JSON.parse(body) as { access_token: string; refresh_token?: string; id_token?: string }
    return {
      access: response.access_token,
      refresh: response.refresh_token ?? previous?.refresh ?? '',
      id: response.id_token ?? previous?.id ?? '',
    }
  }

  return {
    exchange: (context, { code, verifier, redirectUri }) =>
      requestTokens(context, {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
        resource: baseUrl,
      }),
    refresh: (context, previous) =>
      requestTokens(
        context,
        { grant_type: 'refresh_token', refresh_token: previous.refresh, resource: baseUrl },
        previous,
      ),
    close: () => outbound.close(),
  }
}

function errorCodeOf(body: string): string {
  try {
    return String((JSON.parse(body) as { error?: unknown }).error)
  } catch {
    return 'unreadable'
  }
}
