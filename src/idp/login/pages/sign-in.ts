import { type Html, html } from '../../../kernel/html.js'
import { layout, problemBox, type View } from './layout.js'
import { type Sentence, say } from './texts.js'

/** Username and password. */
export function passwordPage(view: View, username: string, problems: readonly Sentence[]): string {
  const { texts } = view
  const failed = problems.length > 0
  return layout(
    view,
    texts.sign_in,
    html`<h1>${texts.sign_in}</h1>
${lead(view)}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<div class="field"><label for="username">${texts.username}</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="254" required${invalid(failed)}${focus(username === '')}></div>
<div class="field"><label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${invalid(failed)}${focus(username !== '')}></div>
<button type="submit">${texts.sign_in}</button>
</form>`,
  )
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
<div class="field"><label for="new_password">${texts.new_password}</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required aria-describedby="hint${problems.length > 0 ? ' problem' : ''}"${focus(true)}>
<p class="hint" id="hint">${texts.password_hint}</p></div>
<button type="submit">${texts.save_password}</button>
</form>`,
  )
}

/** Nobody can sign in here: the issuer has no method for it. */
export const closedPage = (view: View): string =>
  layout(view, view.texts.sign_in, html`<h1>${view.texts.sign_in}</h1>${problemBox(view, [{ key: 'no_method' }])}`)

const lead = ({ texts, clientName }: View): Html | false => {
  if (clientName === undefined) return false
  const [before = '', after = ''] = texts.continue_to.split('{client}')
  return html`<p class="lead">${before}<strong>${clientName}</strong>${after}</p>`
}

export const hidden = ({ token }: View): Html => html`<input type="hidden" name="csrf" value="${token}">`

const invalid = (failed: boolean): Html | false => failed && html` aria-invalid="true" aria-describedby="problem"`
const focus = (here: boolean): Html | false => here && html` autofocus`
