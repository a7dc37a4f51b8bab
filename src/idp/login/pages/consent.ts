import { html } from '../../../kernel/html.js'
import { csrfField } from './components.js'
import { layout, problemBox, type View } from './layout.js'
import { formatMessage, type PageMessage, type TextKey } from './texts.js'

/** Texts that describe `openid` and the scopes of OpenID Connect that request claims. */
const scopeTextKeys: Readonly<Record<string, TextKey>> = {
  openid: 'consent_openid',
  profile: 'consent_profile',
  email: 'consent_email',
  phone: 'consent_phone',
  address: 'consent_address',
}

export interface RequestedAccess {
  /** All requested scopes, of which the page describes those in `scopeTextKeys`. */
  claims: readonly string[]
  /** Requested scopes that the issuer allows, which are shown by name. */
  scopes: readonly string[]
  /** Requested resources that the issuer allows. */
  resources: readonly string[]
  /** Names, or ids without a name, of the organizations that the tokens may contain. */
  organizations: readonly string[]
}

/**
 * Asks for consent. The page shows the host of the client first, because the client's name is not verified.
 * The host of the redirect URI, or its scheme if it has no host, is shown if it differs from that host.
 */
export function consentPage(
  view: View,
  { host, name }: { host: string; name: string | null },
  redirectUri: string,
  { claims, scopes, resources, organizations }: RequestedAccess,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const { host: redirectHost, protocol } = new URL(redirectUri)
  const redirectTarget = redirectHost === '' ? protocol : redirectHost
  const claimTexts = claims.flatMap((scope) =>
    Object.hasOwn(scopeTextKeys, scope) ? [texts[scopeTextKeys[scope]!]] : [],
  )
  return layout(
    view,
    texts.consent,
    html`<h1>${formatMessage(texts, { key: 'consent_question', params: { host } })}</h1>
${name !== null && html`<p class="lead">${formatMessage(texts, { key: 'consent_name', params: { name } })}</p>`}
${problemBox(view, problems)}
<p>${texts.consent_wants}</p>
<ul>${claimTexts.map((text) => html`<li>${text}</li>`)}</ul>
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
${redirectTarget !== host && html`<p class="hint">${formatMessage(texts, { key: 'consent_back', params: { back: redirectTarget } })}</p>`}
<form method="post" action="${view.action}">
${csrfField(view)}
<button type="submit" name="consent" value="yes">${texts.consent_allow}</button>
<button type="submit" name="consent" value="no" class="quiet">${texts.consent_deny}</button>
</form>`,
  )
}
