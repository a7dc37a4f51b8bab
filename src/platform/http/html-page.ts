/** The document, the Content-Security-Policy and the headers of the HTML pages that the server renders. */
import { createHash, randomBytes } from 'node:crypto'
import { Html, html } from '../../kernel/html.js'

/** Returns the source expression for one inline script or style (CSP Level 3, section 2.3.1). */
export const hashSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Creates a nonce for the inline scripts and styles of one response. */
export const createNonce = (): string => randomBytes(18).toString('base64')

/**
 * Returns the Content-Security-Policy with these directives. By default a page can load nothing, cannot have a `<base>`
 * element and cannot be framed. A directive in the parameter is added to the defaults or replaces one of them.
 */
export function contentSecurityPolicy({
  'default-src': defaultSource = "'none'",
  'base-uri': baseUri = "'none'",
  'frame-ancestors': frameAncestors = "'none'",
  ...others
}: Readonly<Record<string, string | undefined>>): string {
  const directives = {
    'default-src': defaultSource,
    ...others,
    'base-uri': baseUri,
    'frame-ancestors': frameAncestors,
  }
  return Object.entries(directives)
    .flatMap(([name, sources]) => (sources === undefined ? [] : [`${name} ${sources}`]))
    .join('; ')
}

/**
 * Returns the headers of a page.
 * @param policy the value of Content-Security-Policy
 * @param others headers that are added to the default headers or replace them
 */
export const pageHeaders = (policy: string, others: Record<string, string> = {}): Record<string, string> => ({
  'Content-Security-Policy': policy,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  ...others,
})

export interface PageContent {
  title: string
  /** The BCP 47 language tag of the page; `en` by default. */
  language?: string
  /** The CSS of the one inline `<style>` element. */
  style: string
  /** The nonce of the inline `<style>` element, if the policy allows it by a nonce instead of a hash. */
  nonce?: string
  /** Additional elements in `<head>`. */
  head?: Html | false | undefined
  body: Html
}

/** Returns the whole HTML document. The caller must send it with `pageHeaders`. */
export function htmlDocument({ title, language = 'en', style, nonce, head, body }: PageContent): string {
  const nonceAttribute = nonce !== undefined && html` nonce="${nonce}"`
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}<style${nonceAttribute}>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`.text
}
