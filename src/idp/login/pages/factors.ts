/** Pages that ask for a second factor. */
import { type Html, html } from '../../../kernel/html.js'
import type { Factor } from '../second-factors.js'
import type { LoginState } from '../state.js'
import { marks } from './fields.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, other } from './parts.js'
import { passkeyParts } from './passkey.js'
import { type Sentence, say } from './texts.js'

/** The frame of these pages: who, what is asked for, and the ways out. */
function factorPage(
  view: View,
  { username, factors = [] }: LoginState,
  factor: Factor,
  field: Html,
  problems: readonly Sentence[],
): string {
  const { texts } = view
  return layout(
    view,
    texts.factor_title,
    html`<h1>${texts.factor_title}</h1>
<p class="lead">${say(texts, { key: `factor_${factor}_lead`, places: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${field}
${factors.filter((one) => one !== factor).map((one) => other(view, one, `use_${one}`, 'quiet'))}
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}

/** A code of the app, or one on paper. */
export function factorCodePage(
  view: View,
  state: LoginState,
  factor: 'totp' | 'backup_codes',
  problems: readonly Sentence[],
): string {
  const marked = marks(problems, 'code', { focused: true })
  const { texts } = view
  const field =
    factor === 'totp'
      ? html`<div class="field"><label for="code">${texts.code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${marked}></div>`
      : html`<div class="field"><label for="code">${texts.backup_code}</label>
<input id="code" class="code long" name="code" type="text" autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false" maxlength="24" required${marked}></div>`
  const button = html`<button type="submit" name="method" value="code">${texts.go_on}</button>`
  return factorPage(
    view,
    state,
    factor,
    html`${field}
${button}`,
    problems,
  )
}

export const factorPasskeyPage = (
  view: View,
  state: LoginState,
  options: object,
  problems: readonly Sentence[],
): string =>
  factorPage(
    view,
    state,
    'passkey',
    passkeyParts(view, { options, asks: 'get', text: 'use_passkey', main: true }),
    problems,
  )

/** Two factors are asked for, and this person cannot have the second one here. */
export const noFactorPage = (view: View): string =>
  layout(
    view,
    view.texts.no_factor_title,
    html`<h1>${view.texts.no_factor_title}</h1>
${problemBox(view, [{ key: 'no_factor' }])}
<form method="post" action="${view.action}">
${hidden(view)}
${other(view, 'back', 'back', 'link')}
</form>`,
  )
