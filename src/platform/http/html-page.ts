/** The frame of every HTML page that the server renders: the document, its Content-Security-Policy, its headers. */
import { createHash, randomBytes } from 'node:crypto'
import { Html, html } from '../../kernel/html.js'

/** A source expression for one inline script or style (CSP Level 3, section 2.3.1). */
export const hashSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** A nonce for the inline scripts and styles of one response. */
export const createNonce = (): string => randomBytes(18).toString('base64')

/**
 * Without other directives a page loads nothing, has no `<base>` and cannot be framed.
 * @param directives added to or replacing these defaults
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
 * The headers of a page.
 * @param policy the Content-Security-Policy
 * @param others added to or replacing the defaults
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
  /** BCP 47; `en` by default. */
  language?: string
  /** CSS; put into one inline `<style>`. */
  style: string
  /** The nonce of the inline `<style>`, if the policy uses a nonce instead of a hash. */
  nonce?: string
  /** Additional elements of `<head>`. */
  head?: Html | false | undefined
  body: Html
}

/** A whole document. The caller sends it with `pageHeaders`. */
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
