/** HTML responses of the console: the page that loads the scripts of the console, and pages with an error message. */
import type { Context as KoaContext } from 'koa'
import { html } from '../kernel/html.js'
import { contentSecurityPolicy, createNonce, htmlDocument, pageHeaders } from '../platform/http/html-page.js'

/**
 * Returns the content security policy. Resources must be on this host, except for the cases below; inline scripts and
 * styles need the nonce of the response.
 */
const policyFor = (nonce: string, idpOrigin: string): string =>
  contentSecurityPolicy({
    'script-src': `'self' 'nonce-${nonce}'`,
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'font-src': "'self'",
    // The page "Try signing in" exchanges an authorization code at the token endpoint of an issuer.
    'connect-src': `'self' ${idpOrigin}`,
    // The sign-out form is redirected to the issuer's logout endpoint.
    'form-action': `'self' ${idpOrigin}`,
  })

function sendHtml(ctx: KoaContext, status: number, page: string, policy: string): void {
  ctx.status = status
  ctx.set(
    pageHeaders(policy, {
      'Cross-Origin-Opener-Policy': 'same-origin',
      // With `no-referrer`, browsers would send `Origin: null` with the sign-out form, which would then be refused.
      'Referrer-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    }),
  )
  ctx.type = 'html'
  ctx.body = page
}

/** Sends the built page. Each `%NONCE%` in the page is replaced by the nonce of this response. */
export function sendShellPage(ctx: KoaContext, template: string, idpOrigin: string): void {
  const nonce = createNonce()
  sendHtml(ctx, 200, template.replaceAll('%NONCE%', nonce), policyFor(nonce, idpOrigin))
}

const style = `:root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;font:16px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
main{max-width:26rem;padding:2rem;text-align:center}h1{font-size:1.3rem;margin:0 0 .5rem}p{margin:0 0 1.5rem;opacity:.75}a{color:inherit;font-weight:600}`

/** Sends a page with a message and a link to try again. */
export function sendMessagePage(ctx: KoaContext, status: number, title: string, text: string): void {
  const nonce = createNonce()
  const body = html`<main><h1>${title}</h1><p>${text}</p><a href="/console">Try again</a></main>`
  sendHtml(ctx, status, htmlDocument({ title: `${title} – Gatehouse`, style, nonce, body }), policyFor(nonce, ''))
}
