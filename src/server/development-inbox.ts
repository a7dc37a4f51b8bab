/**
 * `/dev/mail`: shows outgoing email while MAIL_URL is not set and BASE_URL is a loopback address. Only requests from
 * the same machine can read it.
 */
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { escapeHtml, Html, html } from '../kernel/html.js'
import { isLoopback } from '../kernel/uri.js'
import type { Gatehouse } from '../platform/context.js'
import { contentSecurityPolicy, hashSource, htmlDocument, pageHeaders } from '../platform/http/html-page.js'
import { hasDevelopmentInbox, type InboxMail, readInbox } from '../platform/mail/transport.js'

const style = `
:root{color-scheme:light dark;--ink:#18181b;--soft:#52525b;--page:#f4f4f5;--card:#fff;--line:#d4d4d8;--accent:#1d4ed8}
@media(prefers-color-scheme:dark){:root{--ink:#f4f4f5;--soft:#a1a1aa;--page:#09090b;--card:#18181b;--line:#3f3f46;--accent:#8ab4ff}}
*{box-sizing:border-box}body{margin:0;padding:2rem 1rem;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto}h1{margin:0 0 .25rem;font-size:1.4rem}p{margin:0 0 1.5rem;color:var(--soft)}
article{margin:0 0 1rem;padding:1.25rem 1.5rem;background:var(--card);border:1px solid var(--line);border-radius:12px}
h2{margin:0;font-size:1.05rem;overflow-wrap:anywhere}.facts{margin:.15rem 0 1rem;font-size:.875rem;overflow-wrap:anywhere}
pre{margin:0;font:inherit;white-space:pre-wrap;overflow-wrap:anywhere}a{color:var(--accent)}`

/** Converts URLs in a text to links. */
const linkify = (text: string): Html =>
  new Html(escapeHtml(text).replace(/https?:\/\/[^\s<>"']+/g, (url) => `<a href="${url}">${url}</a>`))

const renderMail = ({ to, subject, text, sent_at }: InboxMail): Html => {
  const moment = new Date(sent_at).toISOString()
  return html`<article><h2>${subject}</h2><p class="facts">${to} · <time datetime="${moment}">${moment}</time></p><pre>${linkify(text)}</pre></article>`
}

/**
 * Returns true for a request from this machine to a loopback host. HOST may make the server reachable from other
 * machines, so the peer address is checked; the Host header is checked against DNS rebinding.
 */
const isLocalRequest = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopback((headers.host ?? '').toLowerCase().replace(/:\d+$/, '')) &&
  /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')

/** Serves the messages, newest first, as a page or as JSON: `{data: [{id, sent_at, to, subject, text, html}]}`. */
export function mountDevelopmentInbox({ config }: Gatehouse): Middleware {
  return (ctx, next) => {
    if (ctx.path !== '/dev/mail' || !hasDevelopmentInbox(config) || !isLocalRequest(ctx.req)) return next()
    ctx.set(pageHeaders(contentSecurityPolicy({ 'style-src': hashSource(style) })))
    const messages = readInbox(config)
    if (ctx.accepts('html', 'json') === 'json') {
      ctx.body = { data: messages }
      return
    }
    ctx.type = 'html'
    ctx.body = htmlDocument({
      title: 'Development inbox – Gatehouse',
      style,
      body: html`<main><h1>Development inbox</h1>
<p>MAIL_URL is not set, so messages are stored here instead of being sent. Newest first. ${messages.length === 0 && 'There are no messages yet.'}</p>
${messages.map(renderMail)}</main>`,
    })
  }
}
