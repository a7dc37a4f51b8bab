/** The console's pages as the server sends them: the shell that loads the program, and messages for when it cannot. */
import { randomBytes } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { escaped } from '../kernel/html.js'

/** Everything comes from this host; what is inline carries the nonce of this very answer. */
function policy(nonce: string, idpOrigin: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    // Trying a sign-in redeems its code where an application would: at the issuer.
    `connect-src 'self' ${idpOrigin}`,
    // Signing out is a form that ends at the issuer.
    `form-action 'self' ${idpOrigin}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function sendHtml(ctx: KoaContext, status: number, page: string, nonce: string, idpOrigin: string): void {
  ctx.status = status
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy(nonce, idpOrigin),
    'Cross-Origin-Opener-Policy': 'same-origin',
    // Forms of a page without referrer would come without a usable Origin.
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  })
  ctx.type = 'html'
  ctx.body = page
}

const newNonce = (): string => randomBytes(18).toString('base64')

/** The built page, whose `%NONCE%` marks what may run. */
export function shellPage(ctx: KoaContext, template: string, idpOrigin: string): void {
  const nonce = newNonce()
  sendHtml(ctx, 200, template.replaceAll('%NONCE%', nonce), nonce, idpOrigin)
}

const style = `:root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;font:16px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
main{max-width:26rem;padding:2rem;text-align:center}h1{font-size:1.3rem;margin:0 0 .5rem}p{margin:0 0 1.5rem;opacity:.75}a{color:inherit;font-weight:600}`

/** A page that says what happened and offers to begin again. */
export function messagePage(ctx: KoaContext, status: number, title: string, text: string): void {
  const nonce = newNonce()
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)} – Gatehouse</title><link rel="icon" href="data:,"><style nonce="${nonce}">${style}</style></head>
<body><main><h1>${escaped(title)}</h1><p>${escaped(text)}</p><a href="/console">Try again</a></main></body></html>`
  sendHtml(ctx, status, page, nonce, '')
}
