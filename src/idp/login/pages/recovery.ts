import { html } from '../../../kernel/html.js'
import { credentialNames } from '../../../resources/messages/message-texts.js'
import { alternativeButton, csrfField } from './components.js'
import { layout, problemBox, type View } from './layout.js'
import { formatMessage, type PageMessage } from './texts.js'

interface Credential {
  id: string
  type: string
  name: string | null
}

/** Asks the user of a recovery link which credentials are lost. Second factors are selected by default. */
export function recoveryPage(
  view: View,
  username: string,
  credentials: readonly Credential[],
  problems: readonly PageMessage[],
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
<p class="lead">${formatMessage(texts, { key: 'recovery_lead', params: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${
  credentials.length > 0 &&
  html`<fieldset class="checks"><legend>${texts.recovery_lost}</legend>
${credentials.map(
  (one) =>
    html`<label><input type="checkbox" name="lost_${one.id}" value="yes"${one.type !== 'oauth' && html` checked`}>${labelOf(one)}</label>`,
)}</fieldset>`
}
<button type="submit" name="method" value="recover">${texts.recovery_go}</button>
${alternativeButton(view, 'back', 'back', 'link')}
</form>`,
  )
}
