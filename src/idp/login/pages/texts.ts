/**
 * Texts of the hosted pages, by language. To add a language, begin with `languages` in src/kernel/language.ts. The
 * compiler then requires a table of the language in texts/.
 */
import type { Language } from '../../../kernel/language.js'
import { de } from './texts/de.js'
import { en, type TextKey, type Texts } from './texts/en.js'

export type { TextKey, Texts }

export const textsOf: Readonly<Record<Language, Texts>> = { en, de }

/** A text with the values of its placeholders. */
export interface PageMessage {
  key: TextKey
  params?: Readonly<Record<string, string>>
}

/** Checks whether a text with this key exists. */
export const isTextKey = (key: string): key is TextKey => key in en

/** Returns a text in a language, with its placeholders filled in. */
export const formatMessage = (texts: Texts, { key, params = {} }: PageMessage): string =>
  texts[key].replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')
