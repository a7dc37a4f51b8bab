/** Pages on which people get a second factor. */
import { renderSVG } from 'uqr'
import { Html, html } from '../../../kernel/html.js'
import { marks } from './fields.js'
import { layout, problemBox, type View } from './layout.js'
import { hidden, other } from './parts.js'
import { passkeyParts } from './passkey.js'
import { type Sentence, say } from './texts.js'

/** What else they can get here. */
interface Ways {
  others: readonly ('enroll_totp' | 'enroll_passkey')[]
}

const waysOut = (view: View, { others }: Ways): Html =>
  html`${others.map((name) => other(view, name, `instead_${name}`, 'quiet'))}
${other(view, 'back', 'back', 'link')}`

/** A secret for an authenticator app, to scan or to type, and a field for the code that shows it has arrived. */
export function enrollTotpPage(view: View, uri: string, ways: Ways, problems: readonly Sentence[]): string {
  const { texts } = view
  const { searchParams, pathname } = new URL(uri)
  const username = decodeURIComponent(pathname.slice(pathname.indexOf(':') + 1))
  const secret = searchParams.get('secret') ?? ''
  const code = new Html(renderSVG(uri, { ecc: 'L', border: 0 }))
  return layout(
    view,
    texts.enroll_totp_title,
    html`<h1>${texts.enroll_totp_title}</h1>
<p class="lead">${say(texts, { key: 'enroll_totp_lead', places: { username } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
<figure class="qr" role="img" aria-label="${texts.qr_label}">${code}</figure>
<p class="hint">${texts.enroll_secret}</p>
<p class="secret">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</p>
<div class="field"><label for="code">${texts.enroll_code}</label>
<input id="code" class="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required${marks(problems, 'code', { focused: true })}></div>
<button type="submit" name="method" value="code">${texts.go_on}</button>
${waysOut(view, ways)}
</form>`,
  )
}

export function enrollPasskeyPage(view: View, options: object, ways: Ways, problems: readonly Sentence[]): string {
  const { texts } = view
  const { user } = options as { user?: { name?: string } }
  return layout(
    view,
    texts.enroll_passkey_title,
    html`<h1>${texts.enroll_passkey_title}</h1>
<p class="lead">${say(texts, { key: 'enroll_passkey_lead', places: { username: user?.name ?? '' } })}</p>
${problemBox(view, problems)}
<form method="post" action="${view.action}">
${hidden(view)}
${passkeyParts(view, { options, asks: 'create', text: 'enroll_passkey', main: true })}
${waysOut(view, ways)}
</form>`,
  )
}

/** Backup codes, shown this once. */
export function codesPage(view: View, codes: readonly string[]): string {
  const { texts } = view
  return layout(
    view,
    texts.new_codes_title,
    html`<h1>${texts.new_codes_title}</h1>
<p class="lead">${texts.new_codes_lead}</p>
<form method="post" action="${view.action}">
${hidden(view)}
<ol class="codes" role="list">${codes.map((code) => html`<li>${code.slice(0, 5)}-${code.slice(5)}</li>`)}</ol>
<button type="submit" name="method" value="kept">${texts.codes_kept}</button>
</form>`,
  )
}
