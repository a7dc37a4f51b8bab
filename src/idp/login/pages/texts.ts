/** Every sentence of the hosted pages, by language. A further language is one more table. */
import type { Language } from '../../../kernel/language.js'
import { de } from './texts/de.js'
import { en } from './texts/en.js'

export type TextKey = keyof typeof en
export type Texts = Readonly<Record<TextKey, string>>

/** All sentences in each language. */
export const textsOf: Readonly<Record<Language, Texts>> = { en, de }

/** A sentence with what goes into its places. */
export interface Sentence {
  key: TextKey
  places?: Readonly<Record<string, string>>
}

export const isTextKey = (key: string): key is TextKey => key in en

/** The sentence in this language, its places filled in. */
export const say = (texts: Texts, { key, places = {} }: Sentence): string =>
  texts[key].replace(/\{(\w+)\}/g, (_, name: string) => places[name] ?? '')
