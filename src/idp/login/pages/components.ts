/** Components that several pages share. */
import { type Html, html } from '../../../kernel/html.js'
import type { View } from './layout.js'
import type { TextKey } from './texts.js'

/** The hidden field with the form token (`formToken`). */
export const csrfField = ({ token }: View): Html => html`<input type="hidden" name="csrf" value="${token}">`

/** The line with the name of the application or organization; false if there is none. */
export const clientLead = ({ texts, clientName }: View): Html | false => {
  if (clientName === undefined) return false
  const [before = '', after = ''] = texts.continue_to.split('{client}')
  return html`<p class="lead">${before}<strong>${clientName}</strong>${after}</p>`
}

/**
 * A button that submits the form with another `method`, without validation of the fields.
 * @param text a text key, or HTML
 * @param style `quiet`: a secondary button; `link`: a text link
 */
export const alternativeButton = (
  { texts }: View,
  method: string,
  text: TextKey | Html,
  style: 'quiet' | 'link',
): Html =>
  html`<button type="submit" name="method" value="${method}" class="${style}" formnovalidate>${typeof text === 'string' ? texts[text] : text}</button>`
