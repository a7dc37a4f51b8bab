/** `/dev/mail`: what would have gone out by mail, while there is no mail server. On one's own machine only. */
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { escaped, Html, html } from './kernel/html.js'
import { isLoopback } from './kernel/uri.js'
import type { Gatehouse } from './platform/context.js'
import { hasInbox, type InboxMail, readInbox } from './platform/mail-transport.js'

const style = `
:root{color-scheme:light dark;--ink:#18181b;--soft:#52525b;--page:#f4f4f5;--card:#fff;--line:#d4d4d8;--accent:#1d4ed8}
@media(prefers-color-scheme:dark){:root{--ink:#f4f4f5;--soft:#a1a1aa;--page:#09090b;--card:#18181b;--line:#3f3f46;--accent:#8ab4ff}}
*{box-sizing:border-box}body{margin:0;padding:2rem 1rem;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto}h1{margin:0 0 .25rem;font-size:1.4rem}p{margin:0 0 1.5rem;color:var(--soft)}
article{margin:0 0 1rem;padding:1.25rem 1.5rem;background:var(--card);border:1px solid var(--line);border-radius:12px}
h2{margin:0;font-size:1.05rem;overflow-wrap:anywhere}.facts{margin:.15rem 0 1rem;font-size:.875rem;overflow-wrap:anywhere}
pre{margin:0;font:inherit;white-space:pre-wrap;overflow-wrap:anywhere}a{color:var(--accent)}`

/** The text with its addresses to click on. */
const linked = (text: string): Html =>
  new Html(escaped(text).replace(/https?:\/\/[^\s<>"']+/g, (url) => `<a href="${url}">${url}</a>`))

const card = ({ to, subject, text, sent_at }: InboxMail): Html => {
  const moment = new Date(sent_at).toISOString()
  return html`<article><h2>${subject}</h2><p class="facts">${to} · <time datetime="${moment}">${moment}</time></p><pre>${linked(text)}</pre></article>`
}

/**
 * Whoever asks sits at this machine, and calls it so: with HOST others come to the server as well, and a name of
 * somebody's may lead here, whose page would read what comes from there.
 */
const isHere = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopback((headers.host ?? '').toLowerCase().replace(/:\d+$/, '')) &&
  /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')

/** Newest first, as a page or, for programs, as JSON: `{data: [{id, sent_at, to, subject, text, html}]}`. */
export function mountDevMail({ config }: Gatehouse): Middleware {
  return (ctx, next) => {
    if (ctx.path !== '/dev/mail' || !hasInbox(config) || !isHere(ctx.req)) return next()
    ctx.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
      'Referrer-Policy': 'no-referrer',
    })
    const mails = readInbox(config)
    if (ctx.accepts('html', 'json') === 'json') {
      ctx.body = { data: mails }
      return
    }
    ctx.type = 'html'
    ctx.body = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Development inbox – Gatehouse</title><link rel="icon" href="data:,"><style>${new Html(style)}</style></head>
<body><main><h1>Development inbox</h1>
<p>Without MAIL_URL, mail stays here, newest first. ${mails.length === 0 && 'Nothing was sent yet.'}</p>
${mails.map(card)}</main></body></html>`.text
  }
}
