/** The frame of every hosted page: branding, language, and the headers that keep others out. */
import { createHash } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { Html, html } from '../../../kernel/html.js'
import { chooseLanguage, type Language } from '../../../kernel/language.js'
import type { OpenIdContext } from '../../library.js'
import type { IssuerFacts } from '../../runtime.js'
import { passkeyScript } from './script.js'
import { style } from './style.js'
import { type Sentence, say, type Texts, textsOf } from './texts.js'
import { themeOf } from './theme.js'

/** What a page needs to know to be shown. */
export interface View {
  readonly issuer: IssuerFacts
  /** What people call this issuer. */
  readonly name: string
  readonly language: Language
  readonly texts: Texts
  readonly clientName: string | undefined
  /** Where its form goes, and the token that the form carries. */
  readonly action: string
  readonly token: string
}

/** The language and name in which an issuer speaks to this browser. */
export function viewOf(
  ctx: KoaContext | OpenIdContext,
  issuer: IssuerFacts,
  more: Partial<View> & { uiLocales?: string | undefined } = {},
): View {
  const language = chooseLanguage(more.uiLocales, ctx.get('Accept-Language'), issuer.settings.branding?.language)
  const name = issuer.settings.branding?.display_name || issuer.name
  return { issuer, name, language, texts: textsOf[language], clientName: undefined, action: '', token: '', ...more }
}

/** Problems as a region that screen readers announce; fields refer to it. */
export const problemBox = (view: View, problems: readonly Sentence[]): Html | false =>
  problems.length > 0 &&
  html`<div class="problem" id="problem" role="alert" aria-live="assertive">${problems.map((one) => html`<p>${say(view.texts, one)}</p>`)}</div>`

/** A whole page, as text. */
export function layout(view: View, title: string, content: Html): string {
  const css = new Html(`${themeOf(view.issuer.settings)}${style}`)
  const logo = logoOf(view.issuer)
  const mark = [...view.name][0]?.toUpperCase() ?? ''
  return html`<!doctype html>
<html lang="${view.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${view.name}</title>
<link rel="icon" href="data:,">
<style>${css}</style>
</head>
<body>
<main>
<div class="brand">${logo ? html`<img src="${logo}" alt="">` : html`<span class="mark" aria-hidden="true">${mark}</span>`}<span>${view.name}</span></div>
${content}
</main>
<footer>Gatehouse</footer>
</body>
</html>
`.text
}

/** Only an address that a browser may load an image from. */
function logoOf({ settings }: IssuerFacts): string | undefined {
  const url = settings.branding?.logo_url
  return url && /^https?:\/\//.test(url) && URL.canParse(url) ? new URL(url).href : undefined
}

/** The one script there is, for passkeys: it runs where a page holds it, by its hash. */
export const scriptTag = new Html(`<script>${passkeyScript}</script>`)
const scriptSource = `'sha256-${createHash('sha256').update(passkeyScript).digest('base64')}'`

/**
 * Answers with a page, under a policy that runs no script but ours and loads nothing but the issuer's logo (security
 * rule 16). What the script may not do either is ask anybody: there is no `connect-src`.
 */
export function sendPage(ctx: KoaContext | OpenIdContext, view: View, page: string, status = 200): void {
  const css = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
  const hash = createHash('sha256').update(css).digest('base64')
  const logo = logoOf(view.issuer)
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ...(page.includes(scriptTag.text) ? [`script-src ${scriptSource}`] : []),
    `img-src data:${logo ? ` ${new URL(logo).origin}` : ''}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  setPageHeaders(ctx, policy.join('; '))
  ctx.status = status
  ctx.type = 'html'
  ctx.body = page
}

function setPageHeaders(ctx: KoaContext | OpenIdContext, policy: string): void {
  ctx.set('Content-Security-Policy', policy)
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('X-Content-Type-Options', 'nosniff')
  ctx.set('X-Frame-Options', 'DENY')
}
