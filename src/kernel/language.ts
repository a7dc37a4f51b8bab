/**
 * The languages of hosted pages and emails. To add a language, add its tag to this list. The compiler then requires the
 * texts of the new language.
 */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (tag: string): tag is Language => (languages as readonly string[]).includes(tag)

/**
 * Returns the first supported language of these language tags (RFC 5646), ignoring the region and all other subtags;
 * undefined when none is supported.
 */
export function matchLanguage(tags: readonly (string | undefined)[]): Language | undefined {
  for (const tag of tags) {
    const [primary = ''] = (tag ?? '').trim().toLowerCase().split('-')
    if (isLanguage(primary)) return primary
  }
  return undefined
}

/**
 * Chooses the first supported language of these, in order: `ui_locales` (OpenID Connect Core 1.0, section 3.1.2.1), the
 * Accept-Language header, the issuer's default language, English.
 * @param fallback the issuer's default language
 */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string, fallback?: string): Language {
  const preferred = acceptLanguage
    .split(',')
    .map((part) => ({ tag: part.split(';')[0]!.trim(), weight: Number(/;\s*q=([0-9.]+)/.exec(part)?.[1] ?? 1) }))
    // A weight of 0 means "not acceptable" (RFC 9110, section 12.4.2).
    .filter(({ weight }) => weight !== 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
  return matchLanguage([...(uiLocales ?? '').split(' '), ...preferred, fallback]) ?? 'en'
}
