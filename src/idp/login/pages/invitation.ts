import { html } from '../../../kernel/html.js'
import type { InvitationFacts } from '../login-state.js'
import { alternativeButton, csrfField } from './components.js'
import { layout, problemBox, type View } from './layout.js'
import { formatMessage, type PageMessage } from './texts.js'

/** Shows the invitation and how to accept it. */
export function invitationPage(
  view: View,
  { organization, email, message }: InvitationFacts,
  maySignUp: boolean,
  problems: readonly PageMessage[],
): string {
  const { texts, name } = view
  const params = { organization: organization ?? name, email }
  return layout(
    view,
    texts.invitation,
    html`<h1>${formatMessage(texts, { key: 'invitation_title', params })}</h1>
<p class="lead">${formatMessage(texts, { key: 'invitation_lead', params })}</p>
${message && html`<blockquote>${message}</blockquote>`}
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<button type="submit" name="method" value="sign_in" autofocus>${texts.invitation_sign_in}</button>
${maySignUp && alternativeButton(view, 'sign_up', 'sign_up', 'quiet')}
</form>`,
  )
}

/** Says that the user is now a member of the organization. */
export const invitationAcceptedPage = (view: View): string =>
  layout(
    view,
    view.texts.joined_title,
    html`<h1>${view.texts.joined_title}</h1><p class="lead">${formatMessage(view.texts, { key: 'joined_lead', params: { organization: view.clientName ?? view.name } })}</p>`,
  )

/**
 * Why an invitation cannot be accepted. `over`: it was used or withdrawn, has expired, or the organization no longer
 * accepts invitations; `full`: the organization has its maximum number of members; `member`: the user is already a
 * member.
 */
export type InvitationFailure = 'over' | 'full' | 'member'

/** Explains why the invitation could not be accepted, and what to do. */
export function invitationFailurePage(view: View, failure: InvitationFailure): string {
  const { texts } = view
  const title = texts[`invitation_${failure}_title`]
  const params = { organization: view.clientName ?? view.name }
  return layout(
    view,
    title,
    html`<h1>${title}</h1><p class="lead">${formatMessage(texts, { key: `invitation_${failure}_lead`, params })}</p>`,
  )
}
