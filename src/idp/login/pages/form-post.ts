/** The page of the response mode `form_post` (OAuth 2.0 Form Post Response Mode section 2). */
import { Html, html } from '../../../kernel/html.js'
import { clientRowOf } from '../../client/client.js'
import { type OpenIdContext, textParameter } from '../../provider-types.js'
import type { RequestContext } from '../../request-context.js'
import { createView, layout, sendPage } from './layout.js'
import { formatMessage } from './texts.js'

const script = 'document.forms[0].submit()'

/**
 * Sends a page whose form posts an authorization response to the redirect URI. The script submits the form. Without
 * JavaScript, the user presses the button. The page has no `form-action` in its Content-Security-Policy, because
 * browsers apply it to redirects of the application after the form was posted, too.
 * @param parameters the parameters of the response or of the error
 */
export function sendFormPost(
  { runtime }: RequestContext,
  ctx: OpenIdContext,
  redirectUri: string,
  parameters: Readonly<Record<string, unknown>>,
): void {
  const view = createView(ctx, runtime.issuer, { uiLocales: textParameter(ctx, 'ui_locales') })
  const title = formatMessage(view.texts, {
    key: 'returning_to',
    params: { client: ctx.oidc.client ? clientRowOf(ctx.oidc.client).name : '' },
  })
  const inputs = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
  )
  const page = layout(
    view,
    title,
    html`<h1>${title}</h1>
<form method="post" action="${redirectUri}">${inputs}<button type="submit">${view.texts.continue}</button></form>
<script>${new Html(script)}</script>`,
  )
  // With the default policy `no-referrer`, the request would have `Origin: null`, which applications reject that check
  // the origin of forms.
  sendPage(ctx, view, page, 200, { script, headers: { 'Referrer-Policy': 'strict-origin' } })
}
