/** Every sentence of the hosted pages, by language. A further language is one more table. */
import type { Language } from '../../../kernel/language.js'

const en = {
  sign_in: 'Sign in',
  continue_to: 'to continue to {client}',
  username: 'Username or email',
  password: 'Password',
  new_password: 'New password',
  choose_password: 'Choose a new password',
  choose_password_lead: 'The password you used must be changed before you go on, {username}.',
  save_password: 'Save and sign in',
  password_hint: 'A few unrelated words make a long password that is easy to remember.',
  missing: 'Please fill in every field.',
  refused: 'That username and password do not match. After several failed attempts, sign-in pauses for a while.',
  barred: 'This account cannot sign in at the moment. Please contact the people who run it.',
  pending_approval: 'This account is still waiting for approval. You will be able to sign in once it is approved.',
  same_password: 'Choose a password that differs from the one you just used.',
  stale: 'That page was out of date. Please try again.',
  no_method: 'There is no way to sign in here at the moment. Please contact the people who run this service.',
  too_many: 'Too many attempts from here. Please wait a moment and try again.',
  error: 'This did not work',
  error_lead: 'The application sent a request that cannot be answered. Going back to it and trying again may help.',
  expired: 'This sign-in has expired or belongs to another browser. Go back to the application and start again.',
  unavailable: 'The service is not available at the moment. Please try again shortly.',
  sign_out: 'Sign out',
  sign_out_question: 'Do you want to sign out?',
  sign_out_lead: 'You will be signed out of {name} and of the applications you use it for.',
  stay: 'Stay signed in',
  signed_out: 'You are signed out',
  signed_out_lead: 'You can close this page now.',
  stayed: 'You are still signed in',
  password_too_short: 'The password must have at least {count} characters.',
  password_too_long: 'The password must have at most {count} characters.',
  password_needs_lowercase: 'The password must have a lower-case letter.',
  password_needs_uppercase: 'The password must have an upper-case letter.',
  password_needs_digit: 'The password must have a digit.',
  password_needs_symbol: 'The password must have a symbol.',
  password_too_common: 'Many people use this password. Choose one that is harder to guess.',
  password_contains_user_info: 'The password must not contain your username or name.',
  password_used_before: 'You have used this password before. Choose a new one.',
} as const

export type TextKey = keyof typeof en
export type Texts = Readonly<Record<TextKey, string>>

const de: Texts = {
  sign_in: 'Anmelden',
  continue_to: 'weiter zu {client}',
  username: 'Benutzername oder E-Mail',
  password: 'Passwort',
  new_password: 'Neues Passwort',
  choose_password: 'Neues Passwort wählen',
  choose_password_lead: 'Das eben verwendete Passwort muss geändert werden, bevor es weitergeht, {username}.',
  save_password: 'Speichern und anmelden',
  password_hint: 'Ein paar Wörter ohne Zusammenhang ergeben ein langes Passwort, das sich gut merken lässt.',
  missing: 'Bitte alle Felder ausfüllen.',
  refused:
    'Benutzername und Passwort passen nicht zusammen. Nach mehreren Fehlversuchen pausiert die Anmeldung eine Weile.',
  barred: 'Dieses Konto kann sich derzeit nicht anmelden. Bitte an die Betreiber wenden.',
  pending_approval: 'Dieses Konto wartet noch auf Freigabe. Danach ist die Anmeldung möglich.',
  same_password: 'Bitte ein anderes Passwort wählen als das eben verwendete.',
  stale: 'Diese Seite war nicht mehr aktuell. Bitte noch einmal versuchen.',
  no_method: 'Derzeit ist hier keine Anmeldung möglich. Bitte an die Betreiber dieses Dienstes wenden.',
  too_many: 'Zu viele Versuche von hier aus. Bitte kurz warten und dann erneut versuchen.',
  error: 'Das hat nicht geklappt',
  error_lead:
    'Die Anwendung hat eine Anfrage geschickt, die nicht beantwortet werden kann. Vielleicht hilft es, dorthin zurückzugehen und es erneut zu versuchen.',
  expired: 'Diese Anmeldung ist abgelaufen oder gehört zu einem anderen Browser. Bitte in der Anwendung neu beginnen.',
  unavailable: 'Der Dienst ist gerade nicht erreichbar. Bitte gleich noch einmal versuchen.',
  sign_out: 'Abmelden',
  sign_out_question: 'Möchten Sie sich abmelden?',
  sign_out_lead: 'Sie werden bei {name} und in den damit genutzten Anwendungen abgemeldet.',
  stay: 'Angemeldet bleiben',
  signed_out: 'Sie sind abgemeldet',
  signed_out_lead: 'Diese Seite kann jetzt geschlossen werden.',
  stayed: 'Sie sind weiterhin angemeldet',
  password_too_short: 'Das Passwort muss mindestens {count} Zeichen haben.',
  password_too_long: 'Das Passwort darf höchstens {count} Zeichen haben.',
  password_needs_lowercase: 'Das Passwort braucht einen Kleinbuchstaben.',
  password_needs_uppercase: 'Das Passwort braucht einen Großbuchstaben.',
  password_needs_digit: 'Das Passwort braucht eine Ziffer.',
  password_needs_symbol: 'Das Passwort braucht ein Sonderzeichen.',
  password_too_common: 'Dieses Passwort verwenden viele. Bitte eines wählen, das schwerer zu erraten ist.',
  password_contains_user_info: 'Das Passwort darf weder Benutzernamen noch Namen enthalten.',
  password_used_before: 'Dieses Passwort wurde schon einmal verwendet. Bitte ein neues wählen.',
}

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
