import type { Context as KoaContext } from 'koa'
import { html } from '../../../kernel/html.js'
import type { OpenIdContext } from '../../library.js'
import type { Runtime } from '../../runtime.js'
import { layout, sendPage, viewOf } from './layout.js'
import type { TextKey } from './texts.js'

/**
 * An error for people: what happened in plain words, the protocol's words below for whoever runs the application. Never
 * a link or a redirect, for the address to go back to is what may be wrong.
 */
export function errorPage(
  ctx: KoaContext | OpenIdContext,
  runtime: Pick<Runtime, 'issuer'>,
  out: { error?: unknown; error_description?: unknown },
  key: TextKey = 'error_lead',
): void {
  const view = viewOf(ctx, runtime.issuer, {
    uiLocales: typeof ctx.query['ui_locales'] === 'string' ? ctx.query['ui_locales'] : undefined,
  })
  const { texts } = view
  const error = out.error === 'invalid_redirect_uri' ? 'invalid_request' : out.error
  const detail = [error, out.error_description].filter((part) => typeof part === 'string' && part !== '').join(': ')
  const page = layout(
    view,
    texts.error,
    html`<h1>${texts.error}</h1><p class="lead">${texts[key]}</p>${detail !== '' && html`<p class="detail">${detail}</p>`}`,
  )
  sendPage(ctx, view, page, Math.max(ctx.status, 400))
}
