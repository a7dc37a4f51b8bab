import type { Context as KoaContext } from 'koa'
import { html } from '../../../kernel/html.js'
import type { OpenIdContext } from '../../provider-types.js'
import { type BrandedIssuer, createView, layout, sendPage } from './layout.js'
import type { TextKey } from './texts.js'

/**
 * Sends the error page: a text for the user, and below it the OAuth error for the developer, if there is one. The page
 * has no link and no redirect to the application, because the redirect URI may be invalid.
 * @param out the OAuth error; empty for none
 * @param key the text for the user
 */
export function errorPage(
  ctx: KoaContext | OpenIdContext,
  runtime: { readonly issuer: BrandedIssuer },
  out: { error?: unknown; error_description?: unknown },
  key: TextKey = 'error_lead',
): void {
  const view = createView(ctx, runtime.issuer, {
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
