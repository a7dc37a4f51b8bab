/** Pages about codes and links that go out by mail. */
import { html } from '../../../kernel/html.js'
import { marks } from './fields.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, other } from './parts.js'
import { type Sentence, say } from './texts.js'

/** Asks whose password was forgotten. */
export function resetPage(view: View, username: string, problems: readonly Sentence[]): string {
  const { texts } = view
  return layout(
    view,
    texts.reset_title,
    html`<h1>${texts.reset_title}</h1>
<p class="lead">${texts.reset_lead}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<div class="field"><label for="username">${texts.username}</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="254" required${marks(problems, 'username', { value: username, focused: true })}></div>
<button type="submit" name="method" value="send">${texts.send_code}</button>
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** Asks for the code that was sent. */
export function codePage(view: View, address: string, problems: readonly Sentence[]): string {
  const { texts } = view
  return layout(
    view,
    texts.code_title,
    html`<h1>${texts.code_title}</h1>
<p class="lead">${say(texts, { key: 'code_lead', places: { address } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<div class="field"><label for="code">${texts.code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${marks(problems, 'code', { focused: true })}></div>
<button type="submit" name="method" value="code">${texts.go_on}</button>
${other(view, 'again', 'send_again', 'link')}
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** Tells that a link was sent; once it was opened, asks to go on: programs that look at mail open links as well. */
export function linkPage(view: View, address: string, link: string | undefined, problems: readonly Sentence[]): string {
  const { texts } = view
  const opened = link !== undefined && problems.length === 0
  const title = opened ? texts.sign_in : texts.code_title
  return layout(
    view,
    title,
    html`<h1>${title}</h1>
<p class="lead">${say(texts, { key: opened ? 'link_open_lead' : 'link_lead', places: { address } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${opened && html`<input type="hidden" name="link" value="${link}"><button type="submit" name="method" value="link" autofocus>${texts.go_on}</button>`}
${other(view, 'again', 'send_again', 'link')}
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}
