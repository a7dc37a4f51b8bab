/** The layout of every hosted page: branding, language and security headers. */
import type { Context as KoaContext } from 'koa'
import { Html, html } from '../../../kernel/html.js'
import { chooseLanguage, type Language } from '../../../kernel/language.js'
import { contentSecurityPolicy, hashSource, htmlDocument, pageHeaders } from '../../../platform/http/html-page.js'
import type { IssuerSnapshot } from '../../issuer/runtime.js'
import type { OpenIdContext } from '../../provider-types.js'
import { passkeyScript } from './script.js'
import { style } from './style.js'
import { formatMessage, type PageMessage, type Texts, textsOf } from './texts.js'
import { themeOf } from './theme.js'

/** The issuer whose branding a page has. */
export type BrandedIssuer = Pick<IssuerSnapshot, 'name' | 'settings'>

/** The data that a page is rendered with. */
export interface View {
  readonly issuer: BrandedIssuer
  /** Display name of the issuer. */
  readonly name: string
  readonly language: Language
  readonly texts: Texts
  /** Name of the application or organization that the user continues to; undefined if there is none. */
  readonly clientName: string | undefined
  /** URL to which the form is submitted. */
  readonly action: string
  /** Value of the hidden field of the form (`formToken`). */
  readonly token: string
}

/** Creates a view with the issuer's branding, in the language of `ui_locales`, of the browser, or of the issuer. */
export function createView(
  ctx: KoaContext | OpenIdContext,
  issuer: BrandedIssuer,
  options: Partial<View> & { uiLocales?: string | undefined } = {},
): View {
  const language = chooseLanguage(options.uiLocales, ctx.get('Accept-Language'), issuer.settings.branding?.language)
  const name = issuer.settings.branding?.display_name || issuer.name
  return { issuer, name, language, texts: textsOf[language], clientName: undefined, action: '', token: '', ...options }
}

/** Error messages as an ARIA alert. Form fields refer to its id in `aria-describedby`. */
export const problemBox = (view: View, problems: readonly PageMessage[]): Html | false =>
  problems.length > 0 &&
  html`<div class="problem" id="problem" role="alert" aria-live="assertive">${problems.map((one) => html`<p>${formatMessage(view.texts, one)}</p>`)}</div>`

/** Renders a complete HTML page. */
export function layout(view: View, title: string, content: Html): string {
  const logo = logoOf(view.issuer)
  const mark = [...view.name][0]?.toUpperCase() ?? ''
  return htmlDocument({
    title: `${title} · ${view.name}`,
    language: view.language,
    style: `${themeOf(view.issuer.settings)}${style}`,
    head: html`<meta name="robots" content="noindex">
`,
    body: html`<main>
<div class="brand">${logo ? html`<img src="${logo}" alt="">` : html`<span class="mark" aria-hidden="true">${mark}</span>`}<span>${view.name}</span></div>
${content}
</main>
<footer>Gatehouse</footer>`,
  })
}

/** Returns the URL of the logo; undefined unless it is a valid HTTP or HTTPS URL. */
function logoOf({ settings }: BrandedIssuer): string | undefined {
  const url = settings.branding?.logo_url
  return url && /^https?:\/\//.test(url) && URL.canParse(url) ? new URL(url).href : undefined
}

/** The only script of the hosted pages, for passkeys. The Content-Security-Policy allows it by its hash. */
export const scriptTag = new Html(`<script>${passkeyScript}</script>`)

/**
 * Sends a page with a Content-Security-Policy that allows only the style and the script of the page, images in `data:`
 * URLs, and images of the logo's origin (docs/contract.md#output-escaping-and-page-headers). The policy does not set
 * `connect-src`, so that `default-src 'none'` applies and the script cannot send requests.
 * @param options.script the inline script of the page, if it is not `scriptTag`
 * @param options.headers headers that replace the default headers of pages
 */
export function sendPage(
  ctx: KoaContext | OpenIdContext,
  view: View,
  page: string,
  status = 200,
  options: { script?: string; headers?: Record<string, string> } = {},
): void {
  const css = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
  const logo = logoOf(view.issuer)
  const script = options.script ?? (page.includes(scriptTag.text) ? passkeyScript : undefined)
  const policy = contentSecurityPolicy({
    'style-src': hashSource(css),
    'script-src': script === undefined ? undefined : hashSource(script),
    'img-src': `data:${logo ? ` ${new URL(logo).origin}` : ''}`,
  })
  ctx.set(pageHeaders(policy, { 'X-Frame-Options': 'DENY', ...options.headers }))
  ctx.status = status
  ctx.type = 'html'
  ctx.body = page
}
