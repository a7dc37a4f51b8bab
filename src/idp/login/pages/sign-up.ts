import { type Html, html } from '../../../kernel/html.js'
import type { SignUpWay } from '../sign-up.js'
import { isFaulty, marks } from './fields.js'
import { layout, problemBox, scriptTag, type View } from './layout.js'
import { hidden, lead, other } from './parts.js'
import { passkeyParts } from './passkey.js'
import { newPasswordField } from './sign-in.js'
import { type Sentence, say } from './texts.js'

export interface SignUpForm {
  email: string
  /** As typed before. */
  name: string
  reason: string
  /** The main button's first. */
  ways: readonly SignUpWay[]
  /** A reason is asked for: somebody approves the account. */
  asksReason: boolean
  /** The address is that of an invitation. */
  invited: boolean
}

/** An account of one's own. */
export function signUpPage(
  view: View,
  { email, name, reason, ways, asksReason, invited }: SignUpForm,
  problems: readonly Sentence[],
): string {
  const { texts } = view
  const [main, ...others] = ways
  // Typing begins where something is to be mended; an invited address is not typed.
  const atPassword = isFaulty(problems, 'new_password') && !isFaulty(problems, 'username', email)
  return layout(
    view,
    texts.sign_up,
    html`<h1>${texts.sign_up}</h1>
${lead(view) || html`<p class="lead">${texts.sign_up_lead}</p>`}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<div class="field"><label for="username">${texts.email}</label>
<input id="username" name="username" type="email" value="${email}" autocomplete="username" maxlength="254" required${invited && html` readonly`}${marks(problems, 'username', { value: email, focused: !invited && !atPassword })}></div>
<div class="field"><label for="name">${texts.name}</label>
<input id="name" name="name" type="text" value="${name}" autocomplete="name" maxlength="200"></div>
${main === 'password' && newPasswordField(view, texts.password, problems, atPassword)}
${
  asksReason &&
  html`<div class="field"><label for="reason">${texts.reason}</label>
<input id="reason" name="reason" type="text" value="${reason}" maxlength="1000"></div>`
}
<button type="submit" name="method" value="make">${texts[main === 'passkey' ? 'sign_up_passkey' : 'sign_up']}</button>
${others.includes('passkey') && passkeyChoice(view)}
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** Passkeys need a script; until it runs, nothing speaks of them. */
const passkeyChoice = ({ texts }: View): Html =>
  html`<button type="submit" name="method" value="passkey" class="quiet" formnovalidate data-with-script hidden>${texts.sign_up_passkey}</button>
${scriptTag}`

/** The passkey of an account that is to be made with it. */
export const newcomerPasskeyPage = (
  view: View,
  username: string,
  options: object,
  problems: readonly Sentence[],
): string =>
  layout(
    view,
    view.texts.enroll_passkey_title,
    html`<h1>${view.texts.enroll_passkey_title}</h1>
<p class="lead">${say(view.texts, { key: 'sign_up_passkey_lead', places: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${passkeyParts(view, { options, asks: 'create', text: 'enroll_passkey', main: true })}
${other(view, 'back', 'back', 'link')}
</form>`,
  )

/** The account is there, and somebody must approve it. */
export const waitingPage = (view: View): string =>
  layout(
    view,
    view.texts.waiting_title,
    html`<h1>${view.texts.waiting_title}</h1><p class="lead">${view.texts.waiting_lead}</p>`,
  )
