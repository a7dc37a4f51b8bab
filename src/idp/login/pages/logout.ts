import { html } from '../../../kernel/html.js'
import { csrfField } from './components.js'
import { layout, type View } from './layout.js'
import { formatMessage } from './texts.js'

/**
 * Asks for confirmation of a sign-out, because another site may have sent the request.
 * @param fields hidden fields of the form
 */
export function confirmLogoutPage(view: View, fields: Record<string, string | undefined>): string {
  const { texts, name } = view
  const hiddenFields = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return layout(
    view,
    texts.sign_out,
    html`<h1>${texts.sign_out_question}</h1>
<p class="lead">${formatMessage(texts, { key: 'sign_out_lead', params: { name } })}</p>
<form method="post" action="${view.action}">
${csrfField(view)}
${hiddenFields.map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`)}
<button type="submit" name="logout" value="yes" autofocus>${texts.sign_out}</button>
<button type="submit" name="logout" value="no" class="quiet">${texts.stay}</button>
</form>`,
  )
}

/** Says that the user is signed out. */
export const loggedOutPage = (view: View): string =>
  layout(
    view,
    view.texts.signed_out,
    html`<h1>${view.texts.signed_out}</h1><p class="lead">${view.texts.signed_out_lead}</p>`,
  )

/** Says that the user is still signed in. */
export const stillSignedInPage = (view: View): string =>
  layout(
    view,
    view.texts.still_signed_in,
    html`<h1>${view.texts.still_signed_in}</h1><p class="lead">${view.texts.signed_out_lead}</p>`,
  )
