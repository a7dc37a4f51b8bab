/** Pages for codes and links that are sent by email. */
import { html } from '../../../kernel/html.js'
import { alternativeButton, csrfField } from './components.js'
import { fieldAttributes } from './field-attributes.js'
import { layout, problemBox, type View } from './layout.js'
import { formatMessage, type PageMessage } from './texts.js'

/** Asks for the username or email of a forgotten password. */
export function resetPage(view: View, username: string, problems: readonly PageMessage[]): string {
  const { texts } = view
  return layout(
    view,
    texts.reset_title,
    html`<h1>${texts.reset_title}</h1>
<p class="lead">${texts.reset_lead}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<div class="field"><label for="username">${texts.username}</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="254" required${fieldAttributes(problems, 'username', { value: username, focused: true })}></div>
<button type="submit" name="method" value="send">${texts.send_code}</button>
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** Asks for the code from the email. */
export function codePage(view: View, address: string, problems: readonly PageMessage[]): string {
  const { texts } = view
  return layout(
    view,
    texts.code_title,
    html`<h1>${texts.code_title}</h1>
<p class="lead">${formatMessage(texts, { key: 'code_lead', params: { address } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<div class="field"><label for="code">${texts.code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${fieldAttributes(problems, 'code', { focused: true })}></div>
<button type="submit" name="method" value="code">${texts.continue}</button>
${alternativeButton(view, 'again', 'send_again', 'link')}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}

/**
 * Says that a link was sent. After the link was opened, the page asks for confirmation, because mail scanners open
 * links too.
 * @param link the secret of the opened link; undefined if it was not opened
 */
export function linkPage(
  view: View,
  address: string,
  link: string | undefined,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const isLinkOpened = link !== undefined && problems.length === 0
  const title = isLinkOpened ? texts.sign_in : texts.code_title
  return layout(
    view,
    title,
    html`<h1>${title}</h1>
<p class="lead">${formatMessage(texts, { key: isLinkOpened ? 'link_open_lead' : 'link_lead', params: { address } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${isLinkOpened && html`<input type="hidden" name="link" value="${link}"><button type="submit" name="method" value="link" autofocus>${texts.continue}</button>`}
${alternativeButton(view, 'again', 'send_again', 'link')}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}
