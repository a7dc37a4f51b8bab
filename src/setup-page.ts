/** The page behind the printed setup link: makes the first administrator. Plain HTML, no script. */
import type { Middleware } from 'koa'
import { contextOfStranger } from './access/admit.js'
import { consumeSetupLink, setupTokenFits } from './bootstrap.js'
import { system } from './kernel/context.js'
import { ApiError } from './kernel/errors.js'
import { gateFault } from './kernel/gate.js'
import type { Gatehouse } from './platform/context.js'
import { readBody } from './platform/http.js'

const BODY_LIMIT = 64 * 1024

const style = `
:root{color-scheme:light dark;--ink:#18181b;--soft:#52525b;--page:#f4f4f5;--card:#fff;--line:#d4d4d8;--accent:#1d4ed8;--bad:#b91c1c}
@media(prefers-color-scheme:dark){:root{--ink:#f4f4f5;--soft:#a1a1aa;--page:#09090b;--card:#18181b;--line:#3f3f46;--accent:#60a5fa;--bad:#f87171}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{width:min(26rem,calc(100vw - 2rem));padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:12px}
h1{margin:0 0 .5rem;font-size:1.4rem}p{margin:0 0 1.25rem;color:var(--soft)}label{display:block;margin:0 0 .25rem;font-weight:600;font-size:.9rem}
input{width:100%;margin:0 0 1rem;padding:.65rem .75rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:8px}
button{width:100%;padding:.7rem;font:inherit;font-weight:600;color:var(--card);background:var(--accent);border:0;border-radius:8px;cursor:pointer}
input:focus-visible,button:focus-visible,a:focus-visible{outline:3px solid var(--accent);outline-offset:2px}.bad{color:var(--bad)}`

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} – Gatehouse</title><style>${style}</style></head><body><main><h1>${title}</h1>${body}</main></body></html>`

const gone = page(
  'This link has ended',
  '<p>Setup links work once and for 30 minutes. If there is no administrator yet, start Gatehouse again: it prints a new one.</p>',
)

function form(token: string, email: string, fault: string | undefined): string {
  return page(
    'Welcome to Gatehouse',
    `<p>Make the first administrator of this deployment.</p>
${fault ? `<p class="bad" role="alert">${escaped(fault)}</p>` : ''}
<form method="post" action="/setup"><input type="hidden" name="token" value="${escaped(token)}">
<label for="username">Email</label><input id="username" name="username" type="email" autocomplete="username" required autofocus value="${escaped(email)}">
<label for="new_password">Password</label><input id="new_password" name="new_password" type="password" autocomplete="new-password" required minlength="8" maxlength="128">
<button>Make administrator</button></form>`,
  )
}

/** `GET` and `POST /setup`. */
export function mountSetup(gatehouse: Gatehouse): Middleware {
  return async (ctx) => {
    const context = { ...contextOfStranger(gatehouse, ctx.req), actor: system }
    ctx.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    })
    ctx.type = 'html'
    const values =
      ctx.method === 'POST' ? new URLSearchParams(await readBody(ctx.req, BODY_LIMIT)) : ctx.URL.searchParams
    if (gateFault([...values.values()]))
      throw new ApiError('invalid_request', 'The form holds characters that cannot be used.')
    const token = values.get('token') ?? ''
    if (!(await setupTokenFits(context, token))) {
      ctx.status = 410
      ctx.body = gone
      return
    }
    if (ctx.method !== 'POST') {
      ctx.body = form(token, '', undefined)
      return
    }
    const email = values.get('username') ?? ''
    try {
      const done = await consumeSetupLink(context, token, { email, password: values.get('new_password') ?? '' })
      ctx.status = done ? 200 : 410
      ctx.body = done
        ? page(
            'All set',
            `<p>${escaped(email)} is now the administrator.</p><p><a href="/console">Open the console</a></p>`,
          )
        : gone
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error
      ctx.status = 400
      ctx.body = form(
        token,
        email,
        error.message.replace(/^\w+: /, (name) => (name.startsWith('user') ? 'The email ' : 'The password ')),
      )
    }
  }
}
