import { type Html, html } from '../../../kernel/html.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import { alternativeButton, clientLead, csrfField } from './components.js'
import { fieldAttributes } from './field-attributes.js'
import { layout, problemBox, type View } from './layout.js'
import { passkeyButton } from './passkey.js'
import { formatMessage, type PageMessage } from './texts.js'

export interface SignInPageOptions {
  username: string
  /** The offered methods. The buttons of methods that are neither the main one nor passkeys have this order. */
  methods: readonly AuthMethodSnapshot[]
  /** WebAuthn options, used if passkeys are enabled. */
  passkeyOptions: object
  maySignUp: boolean
  mayCancel: boolean
}

/** The sign-in page: one form for all methods, with a button for each. */
export function signInPage(
  view: View,
  { username, methods, passkeyOptions, maySignUp, mayCancel }: SignInPageOptions,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const hasMethod = (kind: string) => methods.some((method) => method.kind === kind)
  const usernameFormKind = hasMethod('password')
    ? 'password'
    : hasMethod('email_otp')
      ? 'email_otp'
      : hasMethod('email_link')
        ? 'email_link'
        : undefined
  const otherMethods = methods.filter(({ kind }) => kind !== usernameFormKind && kind !== 'passkey')
  const withPasskey = hasMethod('passkey')
  // Without other methods, the passkey is the only alternative, so `texts.or` is hidden too until the script runs.
  const dependsOnScript = otherMethods.length === 0
  return layout(
    view,
    texts.sign_in,
    html`<h1>${texts.sign_in}</h1>
${clientLead(view)}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${
  usernameFormKind !== undefined &&
  html`<div class="field"><label for="username">${texts.username}</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username${withPasskey ? ' webauthn' : ''}" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="254" required${fieldAttributes(problems, 'username', { value: username, focused: username === '' })}></div>`
}
${
  usernameFormKind === 'password' &&
  html`<div class="field"><label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${fieldAttributes(problems, 'password', { focused: username !== '' })}></div>`
}
${usernameFormKind !== undefined && html`<button type="submit" name="method" value="${usernameFormKind}">${primaryButtonText(view, usernameFormKind)}</button>`}
${usernameFormKind === 'password' && alternativeButton(view, 'reset', 'forgotten', 'link')}
${usernameFormKind !== undefined && (otherMethods.length > 0 || withPasskey) && html`<p class="or"${dependsOnScript && html` data-with-script hidden`}>${texts.or}</p>`}
${withPasskey && passkeyButton(view, { options: passkeyOptions, operation: 'get', text: 'use_passkey', isPrimary: usernameFormKind === undefined && dependsOnScript, autofill: usernameFormKind !== undefined })}
${otherMethods.map((method) => methodButton(view, method))}
${mayCancel && alternativeButton(view, 'cancel', 'cancel', 'link')}
${maySignUp && html`<p class="aside">${texts.no_account} ${alternativeButton(view, 'sign_up', 'sign_up', 'link')}</p>`}
</form>`,
  )
}

const primaryButtonText = ({ texts }: View, kind: 'password' | 'email_otp' | 'email_link'): string =>
  kind === 'password' ? texts.sign_in : texts[`use_${kind}`]

/** The button of a method. The value is the kind for a password or email, and the id for an upstream provider. */
function methodButton(view: View, { kind, id, name }: AuthMethodSnapshot): Html {
  if (kind === 'password' || kind === 'email_otp' || kind === 'email_link')
    return alternativeButton(view, kind, `use_${kind}`, 'quiet')
  return alternativeButton(
    view,
    id,
    html`${formatMessage(view.texts, { key: 'continue_with', params: { method: name } })}`,
    'quiet',
  )
}

/** Asks for a new password, which replaces the old password if the user has one. */
export function newPasswordPage(view: View, username: string, problems: readonly PageMessage[]): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_password,
    html`<h1>${texts.choose_password}</h1>
<p class="lead">${formatMessage(texts, { key: 'choose_password_lead', params: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<input type="text" name="username" value="${username}" autocomplete="username" hidden>
${newPasswordField(view, texts.new_password, problems, true)}
<button type="submit">${texts.save_password}</button>
</form>`,
  )
}

/** The field for a new password. */
export const newPasswordField = (
  { texts }: View,
  label: string,
  problems: readonly PageMessage[],
  focused: boolean,
): Html =>
  html`<div class="field"><label for="new_password">${label}</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required${fieldAttributes(problems, 'new_password', { focused, hint: 'hint' })}>
<p class="hint" id="hint">${texts.password_hint}</p></div>`

/** Says that the issuer has no sign-in method that works. */
export const noMethodPage = (view: View): string =>
  layout(view, view.texts.sign_in, html`<h1>${view.texts.sign_in}</h1>${problemBox(view, [{ key: 'no_method' }])}`)
