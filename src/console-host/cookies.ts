/**
 * Cookies of the console. Koa's cookie API derives `Secure` from the connection, which behind a proxy is not the
 * browser's.
 */
import type { IncomingMessage } from 'node:http'
import type { Context as KoaContext } from 'koa'

export interface Cookies {
  read(name: string): string | undefined
  /** @param maxAge seconds; 0 deletes the cookie, undefined makes it a session cookie */
  write(name: string, value: string, maxAge?: number): void
}

/** Cookies for paths below /console: `HttpOnly`, `SameSite=Lax`, and `Secure` if the base URL is https. */
export function cookiesOf(ctx: KoaContext, baseUrl: string): Cookies {
  const secure = baseUrl.startsWith('https:')
  const fullName = (name: string) => `${secure ? '__Secure-' : ''}gatehouse_console_${name}`
  return {
    read: (name) => readCookie(ctx.req, fullName(name)),
    write(name, value, maxAge) {
      const parts = [`${fullName(name)}=${value}`, 'Path=/console', 'HttpOnly', 'SameSite=Lax']
      if (secure) parts.push('Secure')
      if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`)
      ctx.append('Set-Cookie', parts.join('; '))
    },
  }
}

function readCookie(request: IncomingMessage, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return undefined
}
