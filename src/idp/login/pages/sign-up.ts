import { type Html, html } from '../../../kernel/html.js'
import type { SignUpMethod } from '../sign-up.js'
import { alternativeButton, clientLead, csrfField } from './components.js'
import { fieldAttributes, hasProblem } from './field-attributes.js'
import { layout, problemBox, scriptTag, type View } from './layout.js'
import { passkeyButton } from './passkey.js'
import { newPasswordField } from './sign-in.js'
import { formatMessage, type PageMessage } from './texts.js'

export interface SignUpPageOptions {
  /** The invited or entered email address; at first the entered username, which can be empty. */
  email: string
  /** The entered name; empty at first. */
  name: string
  /** The entered reason; empty at first. */
  reason: string
  /** The first method gets the primary button. */
  methods: readonly SignUpMethod[]
  /** Ask for a reason, because an administrator must approve the account. */
  asksReason: boolean
  /** The email address is that of an invitation and cannot be changed. */
  isInvited: boolean
}

/** Asks for the data of a new account. */
export function signUpPage(
  view: View,
  { email, name, reason, methods, asksReason, isInvited }: SignUpPageOptions,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const [primaryMethod, ...otherMethods] = methods
  // The password has the focus if only it has an error; otherwise the address, unless it is invited and read-only.
  const focusesPassword = hasProblem(problems, 'new_password') && !hasProblem(problems, 'username', email)
  return layout(
    view,
    texts.sign_up,
    html`<h1>${texts.sign_up}</h1>
${clientLead(view) || html`<p class="lead">${texts.sign_up_lead}</p>`}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<div class="field"><label for="username">${texts.email}</label>
<input id="username" name="username" type="email" value="${email}" autocomplete="username" maxlength="254" required${isInvited && html` readonly`}${fieldAttributes(problems, 'username', { value: email, focused: !isInvited && !focusesPassword })}></div>
<div class="field"><label for="name">${texts.name}</label>
<input id="name" name="name" type="text" value="${name}" autocomplete="name" maxlength="200"></div>
${primaryMethod === 'password' && newPasswordField(view, texts.password, problems, focusesPassword)}
${
  asksReason &&
  html`<div class="field"><label for="reason">${texts.reason}</label>
<input id="reason" name="reason" type="text" value="${reason}" maxlength="1000"></div>`
}
<button type="submit" name="method" value="make">${texts[primaryMethod === 'passkey' ? 'sign_up_passkey' : 'sign_up']}</button>
${otherMethods.includes('passkey') && passkeySignUpButton(view)}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** The button needs the script, so it stays hidden until the script runs. */
const passkeySignUpButton = ({ texts }: View): Html =>
  html`<button type="submit" name="method" value="passkey" class="quiet" formnovalidate data-with-script hidden>${texts.sign_up_passkey}</button>
${scriptTag}`

/**
 * Asks the user to create the passkey of a new account.
 * @param options WebAuthn options
 */
export const signUpPasskeyPage = (
  view: View,
  username: string,
  options: object,
  problems: readonly PageMessage[],
): string =>
  layout(
    view,
    view.texts.enroll_passkey_title,
    html`<h1>${view.texts.enroll_passkey_title}</h1>
<p class="lead">${formatMessage(view.texts, { key: 'sign_up_passkey_lead', params: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${passkeyButton(view, { options, operation: 'create', text: 'enroll_passkey', isPrimary: true })}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )

/** Says that an administrator must approve the new account. */
export const awaitingApprovalPage = (view: View): string =>
  layout(
    view,
    view.texts.waiting_title,
    html`<h1>${view.texts.waiting_title}</h1><p class="lead">${view.texts.waiting_lead}</p>`,
  )
