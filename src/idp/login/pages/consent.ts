import { html } from '../../../kernel/html.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden } from './parts.js'
import { type Sentence, say, type TextKey } from './texts.js'

/** What the scopes of OpenID Connect mean to people. */
const meanings: Readonly<Record<string, TextKey>> = {
  openid: 'consent_openid',
  profile: 'consent_profile',
  email: 'consent_email',
  phone: 'consent_phone',
  address: 'consent_address',
}

export interface Wishes {
  /** Every scope that was asked for; those of OpenID Connect are told in words. */
  claims: readonly string[]
  /** Scopes of the issuer's own, told by name. */
  scopes: readonly string[]
  /** Where tokens are to be used. */
  resources: readonly string[]
  /** Names of the organizations that tokens will name. */
  organizations: readonly string[]
}

/**
 * Allow or not. The host of the document comes first, for that is what was proved; the name is what the application
 * says of itself. Where the answer goes is shown if it is somewhere else.
 */
export function consentPage(
  view: View,
  { host, name }: { host: string; name: string | null },
  redirectUri: string,
  { claims, scopes, resources, organizations }: Wishes,
  problems: readonly Sentence[],
): string {
  const { texts } = view
  const { host: target, protocol } = new URL(redirectUri)
  const back = target === '' ? protocol : target
  const wanted = claims.flatMap((scope) => (Object.hasOwn(meanings, scope) ? [texts[meanings[scope]!]] : []))
  return layout(
    view,
    texts.consent,
    html`<h1>${say(texts, { key: 'consent_question', places: { host } })}</h1>
${name !== null && html`<p class="lead">${say(texts, { key: 'consent_name', places: { name } })}</p>`}
${problemBox(view, problems)}
<p>${texts.consent_wants}</p>
<ul>${wanted.map((text) => html`<li>${text}</li>`)}</ul>
${
  organizations.length > 0 &&
  html`<p>${texts.consent_organizations}</p>
<ul>${organizations.map((name) => html`<li>${name}</li>`)}</ul>`
}
${
  (resources.length > 0 || scopes.length > 0) &&
  html`<p>${texts.consent_acts}</p>
<ul>${[...resources, ...scopes].map((text) => html`<li>${text}</li>`)}</ul>`
}
${back !== host && html`<p class="hint">${say(texts, { key: 'consent_back', places: { back } })}</p>`}
<form method="post" action="${view.action}">
${hidden(view)}
<button type="submit" name="consent" value="yes">${texts.consent_allow}</button>
<button type="submit" name="consent" value="no" class="quiet">${texts.consent_deny}</button>
</form>`,
  )
}
