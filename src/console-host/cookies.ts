/**
 * Cookies of the console. Koa's cookie API is not used, because it sets `Secure` only if the connection to Gatehouse is
 * encrypted. Behind a proxy that connection is not encrypted, although the connection of the browser is.
 */
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Context as KoaContext } from 'koa'

export interface Cookies {
  read(name: string): string | undefined
  /** @param maxAge seconds; 0 deletes the cookie; without `maxAge`, the cookie is a session cookie */
  write(name: string, value: string, maxAge?: number): void
}

/**
 * Returns the cookies for /console and the paths below it: `HttpOnly`, `SameSite=Lax`, and `Secure` if the base URL is
 * https.
 */
export function cookiesOf(ctx: KoaContext, baseUrl: string): Cookies {
  const secure = baseUrl.startsWith('https:')
  const fullName = (name: string) => `${secure ? '__Secure-' : ''}gatehouse_console_${name}`
  return {
    read: (name) => parseCookie(ctx.req.headers.cookie ?? '')[fullName(name)],
    write(name, value, maxAge) {
      const attributes = { path: '/console', httpOnly: true, sameSite: 'lax', secure } as const
      const lifetime = maxAge === undefined ? {} : { maxAge }
      ctx.append('Set-Cookie', stringifySetCookie({ name: fullName(name), value, ...attributes, ...lifetime }))
    },
  }
}
