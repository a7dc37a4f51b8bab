/**
 * Accessibility attributes of form fields: whether the value is invalid, and the id of the error message (WCAG 3.3.1).
 */
import { type Html, html } from '../../../kernel/html.js'
import type { PageMessage, TextKey } from './texts.js'

export type FieldName = 'username' | 'password' | 'new_password' | 'code'

/** Errors by form field. `missing` applies to every empty field. */
const problemKeysOfField: Readonly<Record<FieldName, readonly TextKey[]>> = {
  // `refused` belongs to the username and to the password, because the page must not reveal which of them is wrong.
  username: ['refused', 'username_missing', 'taken', 'not_an_email', 'other_address', 'domain_refused'],
  password: ['refused'],
  new_password: [
    'same_password',
    'password_too_short',
    'password_too_long',
    'password_needs_lowercase',
    'password_needs_uppercase',
    'password_needs_digit',
    'password_needs_symbol',
    'password_too_common',
    'password_breached',
    'password_contains_user_info',
    'password_used_before',
  ],
  code: ['code_wrong', 'code_expired', 'factor_wrong', 'backup_code_wrong', 'app_code_wrong'],
}

/**
 * Checks whether a field has an error.
 * @param value the displayed value, which is always empty for passwords and codes
 */
export const hasProblem = (problems: readonly PageMessage[], name: FieldName, value = ''): boolean =>
  problems.some(({ key }) => (key === 'missing' ? value === '' : problemKeysOfField[name].includes(key)))

export interface FieldOptions {
  value?: string
  /** The field has focus when the page opens (`autofocus`). */
  focused?: boolean
  /** Id of another element that describes the field. */
  hint?: string
}

/** Returns the attributes of a field, with `autofocus`. The focused field also refers to errors of the whole form. */
export function fieldAttributes(problems: readonly PageMessage[], name: FieldName, options: FieldOptions = {}): Html {
  const { value, focused = false, hint } = options
  const isInvalid = hasProblem(problems, name, value)
  const isDescribedByProblem = isInvalid || (focused && problems.length > 0)
  const describedBy = [hint, isDescribedByProblem && 'problem'].filter(Boolean).join(' ')
  return html`${isInvalid && html` aria-invalid="true"`}${describedBy !== '' && html` aria-describedby="${describedBy}"`}${focused && html` autofocus`}`
}
