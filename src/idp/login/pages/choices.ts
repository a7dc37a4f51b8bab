/** Pages on which one of several is chosen. */
import { html } from '../../../kernel/html.js'
import type { Linking } from '../state.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, lead, other } from './parts.js'
import { type Sentence, say } from './texts.js'

/** Go on as who is signed in, or as somebody else. */
export function accountPage(view: View, username: string, problems: readonly Sentence[]): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_account,
    html`<h1>${texts.choose_account}</h1>
${lead(view)}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<button type="submit" name="method" value="same" autofocus>${say(texts, { key: 'continue_as', places: { username } })}</button>
${other(view, 'other', 'other_account', 'quiet')}
</form>`,
  )
}

/** Is an account at a provider to be a way in? */
export function linkAccountPage(
  view: View,
  { name, email }: Linking,
  username: string,
  problems: readonly Sentence[],
): string {
  const { texts } = view
  const places = { method: name, email, username }
  return layout(
    view,
    texts.linking_title,
    html`<h1>${say(texts, { key: 'linking_question', places })}</h1>
<p class="lead">${say(texts, { key: 'linking_lead', places })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<button type="submit" name="method" value="link" autofocus>${texts.linking_yes}</button>
${other(view, 'later', 'linking_later', 'quiet')}
</form>`,
  )
}

/** For which organization? */
export function organizationPage(
  view: View,
  organizations: readonly { id: string; name: string | null }[],
  problems: readonly Sentence[],
): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_organization,
    html`<h1>${texts.choose_organization}</h1>
<p class="lead">${texts.choose_organization_lead}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${organizations.map(({ id, name }) => html`<button type="submit" name="organization" value="${id}" class="quiet">${name ?? id}</button>`)}
</form>`,
  )
}
