/** Pages that ask for a second factor. */
import { type Html, html } from '../../../kernel/html.js'
import type { Factor, LoginState } from '../login-state.js'
import { alternativeButton, csrfField } from './components.js'
import { fieldAttributes } from './field-attributes.js'
import { layout, problemBox, type View } from './layout.js'
import { passkeyButton } from './passkey.js'
import { formatMessage, type PageMessage } from './texts.js'

/** Renders the page of a second factor, with buttons for the other factors of the user. */
function factorPage(
  view: View,
  { username, factors = [] }: LoginState,
  factor: Factor,
  field: Html,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  return layout(
    view,
    texts.factor_title,
    html`<h1>${texts.factor_title}</h1>
<p class="lead">${formatMessage(texts, { key: `factor_${factor}_lead`, params: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${field}
${factors.filter((one) => one !== factor).map((one) => alternativeButton(view, one, `use_${one}`, 'quiet'))}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** Asks for a code of the authenticator app, or for a backup code. */
export function factorCodePage(
  view: View,
  state: LoginState,
  factor: 'totp' | 'backup_codes',
  problems: readonly PageMessage[],
): string {
  const codeAttributes = fieldAttributes(problems, 'code', { focused: true })
  const { texts } = view
  const field =
    factor === 'totp'
      ? html`<div class="field"><label for="code">${texts.code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${codeAttributes}></div>`
      : html`<div class="field"><label for="code">${texts.backup_code}</label>
<input id="code" class="code long" name="code" type="text" autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false" maxlength="24" required${codeAttributes}></div>`
  const button = html`<button type="submit" name="method" value="code">${texts.continue}</button>`
  return factorPage(
    view,
    state,
    factor,
    html`${field}
${button}`,
    problems,
  )
}

/**
 * Asks for a passkey.
 * @param options WebAuthn options
 */
export const factorPasskeyPage = (
  view: View,
  state: LoginState,
  options: object,
  problems: readonly PageMessage[],
): string =>
  factorPage(
    view,
    state,
    'passkey',
    passkeyButton(view, { options, operation: 'get', text: 'use_passkey', isPrimary: true }),
    problems,
  )

/** Says that the second factors of the user cannot be used on this host. */
export const noFactorPage = (view: View): string =>
  layout(
    view,
    view.texts.no_factor_title,
    html`<h1>${view.texts.no_factor_title}</h1>
${problemBox(view, [{ key: 'no_factor' }])}
<form method="post" action="${view.action}">
${csrfField(view)}
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
