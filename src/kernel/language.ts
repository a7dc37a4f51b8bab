/**
 * The languages of hosted pages and mail. To add one, extend this list and add the texts that the compiler then
 * requires.
 */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (tag: string): tag is Language => (languages as readonly string[]).includes(tag)

/** Returns the first supported language of these tags (RFC 5646), ignoring the region. */
export function matchLanguage(tags: readonly (string | undefined)[]): Language | undefined {
  for (const tag of tags) {
    const [primary = ''] = (tag ?? '').trim().toLowerCase().split('-')
    if (isLanguage(primary)) return primary
  }
  return undefined
}

/**
 * Chooses the first supported language of: `ui_locales` (OpenID Connect Core 1.0, section 3.1.2.1), Accept-Language,
 * the issuer's default, English.
 */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string, fallback?: string): Language {
  const preferred = acceptLanguage
    .split(',')
    .map((part) => ({ tag: part.split(';')[0]!.trim(), weight: Number(/;\s*q=([0-9.]+)/.exec(part)?.[1] ?? 1) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
  return matchLanguage([...(uiLocales ?? '').split(' '), ...preferred, fallback]) ?? 'en'
}
