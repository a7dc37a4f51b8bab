/** What a field says of itself to those who do not see the page (WCAG 3.3.1): is it the one to mend, and why? */
import { type Html, html } from '../../../kernel/html.js'
import type { Sentence, TextKey } from './texts.js'

export type FieldName = 'username' | 'password' | 'new_password' | 'code'

/** Problems by the field that they lie in, where they do. `missing` lies in each that is empty. */
const problemsOf: Readonly<Record<FieldName, readonly TextKey[]>> = {
  // Which of the two was wrong is nobody's business: both are to be looked at.
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
  code: ['code_wrong', 'code_spent', 'factor_wrong', 'app_code_wrong'],
}

/**
 * Is this field one to mend?
 * @param value that it is shown with; passwords and codes are typed anew
 */
export const isFaulty = (problems: readonly Sentence[], name: FieldName, value = ''): boolean =>
  problems.some(({ key }) => (key === 'missing' ? value === '' : problemsOf[name].includes(key)))

export interface FieldTraits {
  value?: string
  /** Typing begins here. */
  focused?: boolean
  /** The id of what else describes it. */
  hint?: string
}

/** The attributes of a field. Where typing begins, the problem is told even if it lies in no field. */
export function marks(problems: readonly Sentence[], name: FieldName, traits: FieldTraits = {}): Html {
  const { value, focused = false, hint } = traits
  const faulty = isFaulty(problems, name, value)
  const told = faulty || (focused && problems.length > 0)
  const described = [hint, told && 'problem'].filter(Boolean).join(' ')
  return html`${faulty && html` aria-invalid="true"`}${described !== '' && html` aria-describedby="${described}"`}${focused && html` autofocus`}`
}
