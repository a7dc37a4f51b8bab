import { html } from '../../../kernel/html.js'
import type { InvitationFacts } from '../state.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, other } from './parts.js'
import { type Sentence, say } from './texts.js'

/** What one is invited to, and who is to accept. */
export function invitationPage(
  view: View,
  { organization, email, message }: InvitationFacts,
  signUp: boolean,
  problems: readonly Sentence[],
): string {
  const { texts, name } = view
  const places = { organization: organization ?? name, email }
  return layout(
    view,
    texts.invitation,
    html`<h1>${say(texts, { key: 'invitation_title', places })}</h1>
<p class="lead">${say(texts, { key: 'invitation_lead', places })}</p>
${message && html`<blockquote>${message}</blockquote>`}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<button type="submit" name="method" value="sign_in" autofocus>${texts.invitation_sign_in}</button>
${signUp && other(view, 'sign_up', 'sign_up', 'quiet')}
</form>`,
  )
}

/** The invitation was accepted. */
export const joinedPage = (view: View): string =>
  layout(
    view,
    view.texts.joined_title,
    html`<h1>${view.texts.joined_title}</h1><p class="lead">${say(view.texts, { key: 'joined_lead', places: { organization: view.clientName ?? view.name } })}</p>`,
  )

/** Used up or withdrawn meanwhile; there is no room; they belong to the organization already. */
export type UnacceptedEnd = 'over' | 'full' | 'member'

/** The invitation could not be accepted in the end: why, and what can be done about it. */
export function unacceptedPage(view: View, end: UnacceptedEnd): string {
  const { texts } = view
  const title = texts[`invitation_${end}_title`]
  const places = { organization: view.clientName ?? view.name }
  return layout(
    view,
    title,
    html`<h1>${title}</h1><p class="lead">${say(texts, { key: `invitation_${end}_lead`, places })}</p>`,
  )
}
