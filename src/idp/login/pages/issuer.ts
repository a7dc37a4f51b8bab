/** Pages for browsers at the address of an issuer and at addresses without a page (docs/contract.md#pages-for-browsers). */
import type { Context as KoaContext } from 'koa'
import type { Config } from '../../../config.js'
import { type Html, html } from '../../../kernel/html.js'
import type { IssuerRuntime } from '../../issuer/runtime.js'
import { type BrandedIssuer, createView, layout, sendPage, type View } from './layout.js'
import type { TextKey } from './texts.js'

type PageIssuer = Pick<IssuerRuntime, 'issuer' | 'url'>

/** Branding of pages that belong to no issuer. */
const unbranded: BrandedIssuer = { name: 'Gatehouse', settings: {} }

/** Checks whether the `Accept` header prefers HTML to JSON, as browsers do. Sets `Vary`, because the response differs. */
export function prefersHtml(ctx: KoaContext): boolean {
  ctx.vary('Accept')
  return ctx.accepts('json', 'html') === 'html'
}

const viewOf = (ctx: KoaContext, issuer: BrandedIssuer): View =>
  createView(ctx, issuer, {
    uiLocales: typeof ctx.query['ui_locales'] === 'string' ? ctx.query['ui_locales'] : undefined,
  })

const discoveryLink = ({ texts }: View, { url }: PageIssuer): Html => {
  const address = `${url}/.well-known/openid-configuration`
  return html`<dt>${texts.discovery}</dt><dd><a href="${address}">${address}</a></dd>`
}

/** Sends the page at the address of an issuer: what this address is, and for developers where to begin. */
export function sendIssuerPage(ctx: KoaContext, { baseUrl }: Pick<Config, 'baseUrl'>, issuer: PageIssuer): void {
  const view = viewOf(ctx, issuer.issuer)
  const { texts, name } = view
  const [before = '', after = ''] = texts.issuer_lead.split('{name}')
  const documentation = `${baseUrl}/docs`
  const page = layout(
    view,
    texts.issuer_title,
    html`<h1>${texts.issuer_title}</h1>
<p class="lead">${before}<strong>${name}</strong>${after}</p>
<section class="facts"><h2>${texts.developers}</h2>
<dl><dt>${texts.issuer_address}</dt><dd>${issuer.url}</dd>
${discoveryLink(view, issuer)}
<dt>${texts.documentation}</dt><dd><a href="${documentation}">${documentation}</a></dd></dl></section>`,
  )
  sendPage(ctx, view, page)
}

const leadKeys: Readonly<Record<number, TextKey>> = {
  404: 'not_found_lead',
  405: 'not_found_lead',
  429: 'too_many',
  503: 'unavailable',
}

/**
 * Sends the page of a request that no endpoint serves. Unknown and deleted issuers, and issuers of another host, have
 * the same page, so that it does not reveal whether an issuer exists.
 * @param issuer undefined for a page without the branding of an issuer
 */
export function sendUnservedPage(ctx: KoaContext, issuer: PageIssuer | undefined, status: number): void {
  const view = viewOf(ctx, issuer?.issuer ?? unbranded)
  const { texts } = view
  const title = [404, 405].includes(status) ? texts.not_found : texts.error
  const page = layout(
    view,
    title,
    html`<h1>${title}</h1>
<p class="lead">${texts[leadKeys[status] ?? 'error_lead']}</p>
${issuer && html`<section class="facts"><h2>${texts.developers}</h2><dl>${discoveryLink(view, issuer)}</dl></section>`}`,
  )
  sendPage(ctx, view, page, status)
}
