import { type Html, html } from '../../../kernel/html.js'
import type { MethodFacts } from '../../runtime.js'
import { marks } from './fields.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, lead, other } from './parts.js'
import { passkeyParts } from './passkey.js'
import { type Sentence, say } from './texts.js'

export interface SignInOffer {
  username: string
  /** In the order in which they are offered. */
  methods: readonly MethodFacts[]
  /** What a browser is asked for where there are passkeys. */
  passkeys: object
  signUp: boolean
}

/** The first page: who are you, and how do you show it? One form; its buttons are the methods. */
export function signInPage(
  view: View,
  { username, methods, passkeys, signUp }: SignInOffer,
  problems: readonly Sentence[],
): string {
  const { texts } = view
  const has = (kind: string) => methods.some((method) => method.kind === kind)
  const typed = has('password')
    ? 'password'
    : has('email_otp')
      ? 'email_otp'
      : has('email_link')
        ? 'email_link'
        : undefined
  const others = methods.filter(({ kind }) => kind !== typed && kind !== 'passkey')
  const withPasskey = has('passkey')
  // Passkeys need a script; until it runs, nothing speaks of them.
  const scripted = others.length === 0
  return layout(
    view,
    texts.sign_in,
    html`<h1>${texts.sign_in}</h1>
${lead(view)}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${
  typed !== undefined &&
  html`<div class="field"><label for="username">${texts.username}</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username${withPasskey ? ' webauthn' : ''}" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="254" required${marks(problems, 'username', { value: username, focused: username === '' })}></div>`
}
${
  typed === 'password' &&
  html`<div class="field"><label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${marks(problems, 'password', { focused: username !== '' })}></div>`
}
${typed !== undefined && html`<button type="submit" name="method" value="${typed}">${mainButton(view, typed)}</button>`}
${typed === 'password' && other(view, 'reset', 'forgotten', 'link')}
${typed !== undefined && (others.length > 0 || withPasskey) && html`<p class="or"${scripted && html` data-with-script hidden`}>${texts.or}</p>`}
${withPasskey && passkeyParts(view, { options: passkeys, asks: 'get', text: 'use_passkey', main: typed === undefined && scripted, autofill: typed !== undefined })}
${others.map((method) => alternative(view, method))}
${signUp && html`<p class="aside">${texts.no_account} ${other(view, 'sign_up', 'sign_up', 'link')}</p>`}
</form>`,
  )
}

const mainButton = ({ texts }: View, kind: 'password' | 'email_otp' | 'email_link'): string =>
  kind === 'password' ? texts.sign_in : texts[`use_${kind}`]

/** A method beside the typed one: by its kind where there is one of it, by its id where there may be several. */
function alternative(view: View, { kind, id, name }: MethodFacts): Html {
  if (kind === 'password' || kind === 'email_otp' || kind === 'email_link')
    return other(view, kind, `use_${kind}`, 'quiet')
  return other(view, id, html`${say(view.texts, { key: 'continue_with', places: { method: name } })}`, 'quiet')
}

/** A new password in place of one that may not be used again. */
export function newPasswordPage(view: View, username: string, problems: readonly Sentence[]): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_password,
    html`<h1>${texts.choose_password}</h1>
<p class="lead">${say(texts, { key: 'choose_password_lead', places: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<input type="text" name="username" value="${username}" autocomplete="username" hidden>
${newPasswordField(view, texts.new_password, problems, true)}
<button type="submit">${texts.save_password}</button>
</form>`,
  )
}

/** The field for a password that is chosen now. */
export const newPasswordField = (
  { texts }: View,
  label: string,
  problems: readonly Sentence[],
  focused: boolean,
): Html =>
  html`<div class="field"><label for="new_password">${label}</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required${marks(problems, 'new_password', { focused, hint: 'hint' })}>
<p class="hint" id="hint">${texts.password_hint}</p></div>`

/** Nobody can sign in here: the issuer has no method for it. */
export const closedPage = (view: View): string =>
  layout(view, view.texts.sign_in, html`<h1>${view.texts.sign_in}</h1>${problemBox(view, [{ key: 'no_method' }])}`)
