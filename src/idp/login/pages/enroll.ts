/** Pages for the enrollment of a second factor. */
import { renderSVG } from 'uqr'
import { Html, html } from '../../../kernel/html.js'
import { alternativeButton, csrfField } from './components.js'
import { fieldAttributes } from './field-attributes.js'
import { layout, problemBox, type View } from './layout.js'
import { passkeyButton } from './passkey.js'
import { formatMessage, type PageMessage } from './texts.js'

interface EnrollmentAlternatives {
  /** Steps for other kinds of factors that the user can set up instead. */
  others: readonly ('enroll_totp' | 'enroll_passkey')[]
}

const alternativeButtons = (view: View, { others }: EnrollmentAlternatives): Html =>
  html`${others.map((name) => alternativeButton(view, name, `instead_${name}`, 'quiet'))}
${alternativeButton(view, 'back', 'back', 'link')}`

/**
 * Shows the secret for an authenticator app as a QR code and as text, and asks for a code.
 * @param uri the `otpauth:` URI
 */
export function enrollTotpPage(
  view: View,
  uri: string,
  alternatives: EnrollmentAlternatives,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const { searchParams, pathname } = new URL(uri)
  const username = decodeURIComponent(pathname.slice(pathname.indexOf(':') + 1))
  const secret = searchParams.get('secret') ?? ''
  const code = new Html(renderSVG(uri, { ecc: 'L', border: 0 }))
  return layout(
    view,
    texts.enroll_totp_title,
    html`<h1>${texts.enroll_totp_title}</h1>
<p class="lead">${formatMessage(texts, { key: 'enroll_totp_lead', params: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
<figure class="qr" role="img" aria-label="${texts.qr_label}">${code}</figure>
<p class="hint">${texts.enroll_secret}</p>
<p class="secret">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</p>
<div class="field"><label for="code">${texts.enroll_code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${fieldAttributes(problems, 'code', { focused: true })}></div>
<button type="submit" name="method" value="code">${texts.continue}</button>
${alternativeButtons(view, alternatives)}
</form>`,
  )
}

/**
 * Asks the user to create a passkey.
 * @param options WebAuthn options
 */
export function enrollPasskeyPage(
  view: View,
  options: object,
  alternatives: EnrollmentAlternatives,
  problems: readonly PageMessage[],
): string {
  const { texts } = view
  const { user } = options as { user?: { name?: string } }
  return layout(
    view,
    texts.enroll_passkey_title,
    html`<h1>${texts.enroll_passkey_title}</h1>
<p class="lead">${formatMessage(texts, { key: 'enroll_passkey_lead', params: { username: user?.name ?? '' } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${csrfField(view)}
${passkeyButton(view, { options, operation: 'create', text: 'enroll_passkey', isPrimary: true })}
${alternativeButtons(view, alternatives)}
</form>`,
  )
}

/** Shows backup codes until the user confirms that they are saved. */
export function backupCodesPage(view: View, codes: readonly string[]): string {
  const { texts } = view
  return layout(
    view,
    texts.new_codes_title,
    html`<h1>${texts.new_codes_title}</h1>
<p class="lead">${texts.new_codes_lead}</p>
<form method="post" action="${view.action}">
${csrfField(view)}
<ol class="codes" role="list">${codes.map((code) => html`<li>${code.slice(0, 5)}-${code.slice(5)}</li>`)}</ol>
<button type="submit" name="method" value="kept">${texts.codes_saved}</button>
</form>`,
  )
}
