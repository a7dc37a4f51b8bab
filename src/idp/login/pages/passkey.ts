import { type Html, html } from '../../../kernel/html.js'
import { scriptTag, type View } from './layout.js'
import type { TextKey } from './texts.js'

export interface PasskeyAsk {
  /** Options in JSON, as WebAuthn level 3 has them. */
  options: object
  /** To use a passkey, or to make one. */
  asks: 'get' | 'create'
  text: TextKey
  /** Is it what the page is for, or one way among others? */
  main: boolean
  /** Does the browser offer passkeys in the field for the username as well? */
  autofill?: boolean
}

/** A button for passkeys with all that it needs, inside of a form; hidden until the script runs. */
export const passkeyParts = ({ texts }: View, { options, asks, text, main, autofill }: PasskeyAsk): Html =>
  html`<input type="hidden" name="credential" id="credential" value="">
<p class="problem" id="passkey-failed" role="alert" hidden>${texts.passkey_failed}</p>
<button type="submit" name="method" value="passkey" id="passkey" class="${main ? 'main' : 'quiet'}" formnovalidate data-with-script data-asks="${asks}" data-options="${JSON.stringify(options)}"${autofill === true && html` data-autofill="yes"`}${main && html` autofocus`} hidden>${texts[text]}</button>
${main && html`<p class="hint" data-without-script>${texts.passkey_unsupported}</p>`}
${scriptTag}`
