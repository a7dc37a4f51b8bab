/** Pieces that several pages share. */
import { type Html, html } from '../../../kernel/html.js'
import type { View } from './layout.js'
import type { TextKey } from './texts.js'

/** The form's proof that we showed it. */
export const hidden = ({ token }: View): Html => html`<input type="hidden" name="csrf" value="${token}">`

/** What the person signs in for. */
export const lead = ({ texts, clientName }: View): Html | false => {
  if (clientName === undefined) return false
  const [before = '', after = ''] = texts.continue_to.split('{client}')
  return html`<p class="lead">${before}<strong>${clientName}</strong>${after}</p>`
}

/**
 * A button of the step's one form that goes another way: it skips the fields.
 * @param kind `quiet` stands beside the main button, `link` reads like text
 */
export const other = ({ texts }: View, method: string, text: TextKey | Html, kind: 'quiet' | 'link'): Html =>
  html`<button type="submit" name="method" value="${method}" class="${kind}" formnovalidate>${typeof text === 'string' ? texts[text] : text}</button>`
