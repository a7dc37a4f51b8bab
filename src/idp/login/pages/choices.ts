/** Pages on which the user chooses between options. */
import { html } from '../../../kernel/html.js'
import type { LinkCandidate } from '../login-state.js'
import { alternativeButton, clientLead, csrfField } from './components.js'
import { layout, problemBox, type View } from './layout.js'
import { formatMessage, type PageMessage } from './texts.js'

/** Asks whether to continue as the signed-in user or to sign in as another one. */
export function selectAccountPage(view: View, username: string, problems: readonly PageMessage[]): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_account,
    html`<h1>${texts.choose_account}</h1>
${clientLead(view)}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<button type="submit" name="method" value="same" autofocus>${formatMessage(texts, { key: 'continue_as', params: { username } })}</button>
${alternativeButton(view, 'other', 'other_account', 'quiet')}
</form>`,
  )
}

/** Asks whether to link an upstream account. */
export function linkAccountPage(
  view: View,
  { name, email }: LinkCandidate,
  username: string,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const params = { method: name, email, username }
  return layout(
    view,
    texts.linking_title,
    html`<h1>${formatMessage(texts, { key: 'linking_question', params })}</h1>
<p class="lead">${formatMessage(texts, { key: 'linking_lead', params })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<button type="submit" name="method" value="link" autofocus>${texts.linking_yes}</button>
${alternativeButton(view, 'later', 'linking_later', 'quiet')}
</form>`,
  )
}

/** Asks for the organization to continue with. */
export function organizationPage(
  view: View,
  organizations: readonly { id: string; name: string | null }[],
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  return layout(
    view,
    texts.choose_organization,
    html`<h1>${texts.choose_organization}</h1>
<p class="lead">${texts.choose_organization_lead}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${organizations.map(({ id, name }) => html`<button type="submit" name="organization" value="${id}" class="quiet">${name ?? id}</button>`)}
</form>`,
  )
}
