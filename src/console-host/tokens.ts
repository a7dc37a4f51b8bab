/** What the console asks of its issuer's token endpoint: tokens for a code, and new ones for a refresh token. */
import { SECOND } from '../kernel/time.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { openOutbound } from '../platform/outbound.js'
import { consolePlace } from '../resources/console-place.js'

/** JWTs, but for the refresh token. */
export interface TokenSet {
  access: string
  refresh: string
  id: string
}

/** The issuer has answered, and the answer is no: with this code or refresh token there is nothing more to be had. */
export class TokenRefusal extends Error {}

export interface Tokens {
  /** @throws TokenRefusal, Error when there is no answer */
  exchange(context: Context, code: { code: string; verifier: string; redirectUri: string }): Promise<TokenSet>
  /** The resource's own form is kept: the same scopes, for the Core API. @throws as above */
  refresh(context: Context, old: TokenSet): Promise<TokenSet>
  close(): Promise<void>
}

const TIMEOUT = 8 * SECOND
const MAX_BODY = 64 * 1024

/**
 * @param localIdp where this process's own IdP listens, if it has one; else the public address is asked
 */
export function openTokens(gatehouse: Gatehouse, localIdp: () => string | undefined): Tokens {
  const { idpUrl, baseUrl } = gatehouse.config
  // The address is the deployment's own and comes from its configuration, so it may be a private one.
  const outbound = openOutbound({ allowPrivate: true })

  async function ask(context: Context, form: Record<string, string>, known?: TokenSet): Promise<TokenSet> {
    const place = await consolePlace(context)
    if (!place) throw new Error('There is no console issuer.')
    const { host, pathname } = new URL(idpUrl)
    const base = localIdp()
    const { status, body } = await outbound.send({
      method: 'POST',
      url: `${base ? base + pathname.replace(/\/$/, '') : idpUrl}/${place.issuer_id}/token`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(base && { host }),
        ...(context.request.ip && { 'x-forwarded-for': context.request.ip }),
        ...(context.request.userAgent && { 'user-agent': context.request.userAgent }),
      },
      body: new URLSearchParams({ ...form, client_id: place.client_id }).toString(),
      timeout: TIMEOUT,
      maxBody: MAX_BODY,
    })
    if (status >= 400 && status < 500 && status !== 429) throw new TokenRefusal(errorOf(body))
    if (status !== 200) throw new Error(`The token endpoint answered ${status}.`)
    const answer = JSON.parse(body) as { access_token: string; refresh_token?: string; id_token?: string }
    return {
      access: answer.access_token,
      refresh: answer.refresh_token ?? known?.refresh ?? '',
      id: answer.id_token ?? known?.id ?? '',
    }
  }

  return {
    exchange: (context, { code, verifier, redirectUri }) =>
      ask(context, {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
        resource: baseUrl,
      }),
    refresh: (context, old) =>
      ask(context, { grant_type: 'refresh_token', refresh_token: old.refresh, resource: baseUrl }, old),
    close: () => outbound.close(),
  }
}

function errorOf(body: string): string {
  try {
    return String((JSON.parse(body) as { error?: unknown }).error)
  } catch {
    return 'unreadable'
  }
}
