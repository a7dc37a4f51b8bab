import { html } from '../../../kernel/html.js'
import { credentialNames } from '../../../resources/messages/texts.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, other } from './parts.js'
import { type Sentence, say } from './texts.js'

interface Credential {
  id: string
  type: string
  name: string | null
}

/** Whose access a recovery link recovers, and which credentials are lost: second factors, unless the person keeps them. */
export function recoveryPage(
  view: View,
  username: string,
  credentials: readonly Credential[],
  problems: readonly Sentence[],
): string {
  const { texts, language } = view
  const names: Readonly<Record<string, string>> = credentialNames[language]
  const labelOf = ({ type, name }: Credential): string => {
    const kind = names[type] ?? type
    const label = kind.charAt(0).toUpperCase() + kind.slice(1)
    return name ? `${label}: ${name}` : label
  }
  return layout(
    view,
    texts.recovery_title,
    html`<h1>${texts.recovery_title}</h1>
<p class="lead">${say(texts, { key: 'recovery_lead', places: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${
  credentials.length > 0 &&
  html`<fieldset class="checks"><legend>${texts.recovery_lost}</legend>
${credentials.map(
  (one) =>
    html`<label><input type="checkbox" name="lost_${one.id}" value="yes"${one.type !== 'oauth' && html` checked`}>${labelOf(one)}</label>`,
)}</fieldset>`
}
<button type="submit" name="method" value="recover">${texts.recovery_go}</button>
${other(view, 'back', 'back', 'link')}
</form>`,
  )
}
