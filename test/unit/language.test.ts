/**
 * The language of hosted pages and email: the first supported language of ui_locales, then of Accept-Language, then the
 * default of the issuer, then English.
 */
import { expect, test } from '@jest/globals'
import { chooseLanguage, matchLanguage } from '../../src/kernel/language.js'

test.each<[(string | undefined)[], string | undefined]>([
  [[], undefined],
  [[undefined], undefined],
  [['de'], 'de'],
  [['DE'], 'de'],
  [[' de '], 'de'],
  [['de-AT'], 'de'],
  [['de-Latn-CH'], 'de'],
  [['fr', 'de'], 'de'],
  [['en', 'de'], 'en'],
  [['deu'], undefined],
  [['de_DE'], undefined],
  [['*'], undefined],
  [['', 'de'], 'de'],
])('the first supported language of %j is %s', (tags, language) => expect(matchLanguage(tags)).toBe(language))

test.each<[uiLocales: string | undefined, acceptLanguage: string, fallback: string | undefined, language: string]>([
  [undefined, '', undefined, 'en'],
  [undefined, '', 'de', 'de'],
  [undefined, '', 'fr', 'en'],
  [undefined, 'de', undefined, 'de'],
  [undefined, 'de', 'en', 'de'],
  [undefined, 'fr', 'de', 'de'],
  [undefined, 'fr, de;q=0.5', 'en', 'de'],
  [undefined, 'de;q=0.5, en;q=0.8', undefined, 'en'],
  [undefined, 'de;q=0.8, en;q=0.5', undefined, 'de'],
  [undefined, 'de ; q=0.8 , en ; q=0.9', undefined, 'en'],
  // Languages with equal weights keep the order of the header. The default weight is 1.
  [undefined, 'de, en', undefined, 'de'],
  [undefined, 'en;q=0.9, de', undefined, 'de'],
  [undefined, 'de-AT,de;q=0.9', undefined, 'de'],
  [undefined, '*', 'de', 'de'],
  // A weight of 0 excludes a language (RFC 9110, section 12.4.2), but not as the default language.
  [undefined, 'de;q=0', undefined, 'en'],
  [undefined, 'de;q=0, en;q=0.1', 'de', 'en'],
  [undefined, 'de;q=0.000', undefined, 'en'],
  [undefined, 'de;q=0', 'de', 'de'],
  [undefined, ';;;,,,q=', undefined, 'en'],
  ['de', 'en', 'en', 'de'],
  ['fr de', 'en', undefined, 'de'],
  ['fr', 'de', undefined, 'de'],
  ['fr', 'it', 'de', 'de'],
  ['de-CH en', '', undefined, 'de'],
  ['  de', '', undefined, 'de'],
  ['', 'de', undefined, 'de'],
])('ui_locales %j, Accept-Language %j, default %j: %s', (uiLocales, acceptLanguage, fallback, language) =>
  expect(chooseLanguage(uiLocales, acceptLanguage, fallback)).toBe(language),
)
