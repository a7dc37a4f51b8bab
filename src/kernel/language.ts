/** Languages that Gatehouse speaks to people. A further one is a row here and a table wherever the compiler then asks. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (tag: string): tag is Language => (languages as readonly string[]).includes(tag)

/** The first language of these tags (RFC 5646) that is spoken here, whatever its region. */
export function knownLanguage(tags: readonly (string | undefined)[]): Language | undefined {
  for (const tag of tags) {
    const [primary = ''] = (tag ?? '').trim().toLowerCase().split('-')
    if (isLanguage(primary)) return primary
  }
  return undefined
}

/**
 * The language to speak: the first known one of what the application asks for (`ui_locales`, OpenID Connect Core
 * 3.1.2.1), then of what the browser prefers, then what the issuer speaks by default, then English.
 */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string, fallback?: string): Language {
  const preferred = acceptLanguage
    .split(',')
    .map((part) => ({ tag: part.split(';')[0]!.trim(), weight: Number(/;\s*q=([0-9.]+)/.exec(part)?.[1] ?? 1) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
  return knownLanguage([...(uiLocales ?? '').split(' '), ...preferred, fallback]) ?? 'en'
}
