import { type Html, html } from '../../../kernel/html.js'
import { scriptTag, type View } from './layout.js'
import type { TextKey } from './texts.js'

export interface PasskeyButtonOptions {
  /** WebAuthn Level 3 options. */
  options: object
  /** `get` uses a passkey, `create` creates one. */
  operation: 'get' | 'create'
  text: TextKey
  /** Whether the passkey is the main action of the page. */
  isPrimary: boolean
  /** Whether the browser also offers passkeys in the username field (conditional UI). */
  autofill?: boolean
}

/**
 * The passkey button of a form, with its hidden field and the script. The button is hidden until the script runs in a
 * browser that supports passkeys.
 */
export const passkeyButton = (
  { texts }: View,
  { options, operation, text, isPrimary, autofill }: PasskeyButtonOptions,
): Html =>
  html`<input type="hidden" name="credential" id="credential" value="">
<p class="problem" id="passkey-failed" role="alert" hidden>${texts.passkey_failed}</p>
<button type="submit" name="method" value="passkey" id="passkey" class="${isPrimary ? 'main' : 'quiet'}" formnovalidate data-with-script data-asks="${operation}" data-options="${JSON.stringify(options)}"${autofill === true && html` data-autofill="yes"`}${isPrimary && html` autofocus`} hidden>${texts[text]}</button>
${isPrimary && html`<p class="hint" data-without-script>${texts.passkey_unsupported}</p>`}
${scriptTag}`
