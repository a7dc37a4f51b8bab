import { html } from '../../../kernel/html.js'
import { layout, type View } from './layout.js'
import { hidden } from './parts.js'
import { say } from './texts.js'

/** Asks before signing out: the request did not prove that the person's own application sent it. */
export function confirmLogoutPage(view: View, fields: Record<string, string | undefined>): string {
  const { texts, name } = view
  const kept = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return layout(
    view,
    texts.sign_out,
    html`<h1>${texts.sign_out_question}</h1>
<p class="lead">${say(texts, { key: 'sign_out_lead', places: { name } })}</p>
<form method="post" action="${view.action}">
${hidden(view)}
${kept.map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`)}
<button type="submit" name="logout" value="yes" autofocus>${texts.sign_out}</button>
<button type="submit" name="logout" value="no" class="quiet">${texts.stay}</button>
</form>`,
  )
}

export const loggedOutPage = (view: View): string =>
  layout(
    view,
    view.texts.signed_out,
    html`<h1>${view.texts.signed_out}</h1><p class="lead">${view.texts.signed_out_lead}</p>`,
  )

export const stayedPage = (view: View): string =>
  layout(view, view.texts.stayed, html`<h1>${view.texts.stayed}</h1><p class="lead">${view.texts.signed_out_lead}</p>`)
