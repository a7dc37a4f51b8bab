/** The HTML of the setup page. Works without JavaScript, except for passkeys. */
import { passkeyScript } from '../idp/login/pages/script.js'
import { type Html, html } from '../kernel/html.js'
import { htmlDocument } from '../platform/http/html-page.js'

const style = `
:root{color-scheme:light dark;--ink:#1b202b;--soft:#5d6473;--page:#f7f8fa;--card:#fff;--line:#d6dae1;--accent:#2c4dcb;--on:#fff;--bad:#c22626;--quiet:#f1f3f6}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaf0;--soft:#98a0b0;--page:#0d1016;--card:#14181f;--line:#3c4352;--accent:#8faafc;--on:#0d1016;--bad:#ff8585;--quiet:#1b2029}}
*{box-sizing:border-box}[hidden]{display:none!important}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem 1rem;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;-webkit-font-smoothing:antialiased}
main{width:min(27rem,100%)}section{padding:1.75rem;background:var(--card);border:1px solid var(--line);border-radius:14px}
ol{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;margin:0 0 1.25rem;padding:0;list-style:none;font-size:.85rem;color:var(--soft)}
li{display:flex;align-items:center;gap:.5rem}li span{display:grid;place-items:center;width:1.5rem;height:1.5rem;border:1px solid var(--line);border-radius:50%;font-size:.75rem;font-weight:600}
li[aria-current],li[data-done]{color:var(--ink);font-weight:600}li[aria-current] span,li[data-done] span{background:var(--accent);border-color:var(--accent);color:var(--on)}
h1{margin:0 0 .35rem;font-size:1.35rem;letter-spacing:-.014em}p{margin:0 0 1.25rem;color:var(--soft)}label{display:block;margin:0 0 .3rem;font-weight:600;font-size:.875rem}
input{width:100%;margin:0 0 1rem;padding:.6rem .75rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:8px}
button,.button{display:block;width:100%;padding:.65rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--on);background:var(--accent);border:1px solid var(--accent);border-radius:8px;cursor:pointer}
.other{color:var(--ink);background:transparent;border-color:var(--line)}.or{display:flex;align-items:center;gap:.75rem;margin:1rem 0;font-size:.8rem}.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.hint{margin:-.7rem 0 1rem;font-size:.8rem}.bad{padding:.6rem .75rem;color:var(--bad);border:1px solid;border-radius:8px}
input:focus-visible,button:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}`

/** Before a passkey is created: requires a valid email address, and sets it as the user name of the passkey. */
const nameScript = `
(() => {
  const email = document.getElementById('username')
  const button = document.getElementById('passkey')
  button?.addEventListener('click', (event) => {
    if (!email.reportValidity()) {
      event.preventDefault()
      event.stopImmediatePropagation()
      return
    }
    const options = JSON.parse(button.dataset.options)
    options.user.name = options.user.displayName = email.value
    button.dataset.options = JSON.stringify(options)
  })
})()
`

const steps = ['Administrator', 'First issuer', 'First application']

interface PageProps {
  title: string
  body: Html
  /** The index of the current step, from 0. */
  step?: number
  done?: boolean
  nonce: string
  head?: Html
}

function renderPage({ title, body, step, done, nonce, head }: PageProps): string {
  const stepList =
    step !== undefined &&
    html`<ol aria-label="Steps">${steps.map((name, at) =>
      done && at === step
        ? html`<li data-done><span aria-hidden="true">✓</span>${name}</li>`
        : at === step
          ? html`<li aria-current="step"><span aria-hidden="true">${at + 1}</span>${name}</li>`
          : html`<li><span aria-hidden="true">${at + 1}</span>${name}</li>`,
    )}</ol>`
  return htmlDocument({
    title: `${title} – Gatehouse`,
    style,
    nonce,
    head,
    body: html`<main>${stepList}<section><h1>${title}</h1>${body}</section></main>`,
  })
}

/** The page for a setup link that was used, has expired or is unknown. */
export const linkExpiredPage = (nonce: string): string =>
  renderPage({
    title: 'This link is no longer valid',
    nonce,
    body: html`<p>A setup link works once, within 30 minutes. If there is no administrator yet, restart Gatehouse to print a new link.</p>
<a class="button" href="/console">Open the console</a>`,
  })

export interface SetupFormProps {
  token: string
  email: string
  error: string | undefined
  nonce: string
  /**
   * The registration options for the browser and the encrypted ceremony; undefined if passkeys cannot be used at
   * BASE_URL.
   */
  passkey: { options: object; ceremony: string } | undefined
}

export function formPage({ token, email, error, nonce, passkey }: SetupFormProps): string {
  const body = html`<p>Create the first administrator of this deployment. After two more steps, your first user can sign in.</p>
${error !== undefined && html`<p class="bad" role="alert">${error}</p>`}
<form method="post" action="/setup"><input type="hidden" name="token" value="${token}">
<label for="username">Email</label><input id="username" name="username" type="email" autocomplete="username" required autofocus value="${email}">
<label for="new_password">Password</label><input id="new_password" name="new_password" type="password" autocomplete="new-password" required minlength="8" maxlength="128" aria-describedby="hint">
<p class="hint" id="hint">At least eight characters. Common passwords are not accepted.</p>
<button>Continue</button>
${
  passkey &&
  html`<input type="hidden" name="credential" id="credential"><input type="hidden" name="ceremony" value="${passkey.ceremony}">
<div data-with-script hidden><p class="or">or</p>
<p class="bad" id="passkey-failed" role="alert" hidden>No passkey was created. Try again, or use a password.</p>
<button class="other" id="passkey" formnovalidate data-asks="create" data-options="${JSON.stringify(passkey.options)}">Continue with a passkey</button></div>`
}</form>`
  const page = renderPage({ title: 'Welcome to Gatehouse', body, step: 0, nonce })
  if (!passkey) return page
  return page.replace('</body>', () => `<script nonce="${nonce}">${nameScript};${passkeyScript}</script></body>`)
}

/** The page after the first step. It redirects to the console; the button is for browsers that do not redirect. */
export const completedPage = (email: string, nonce: string): string =>
  renderPage({
    title: 'Administrator created',
    step: 0,
    done: true,
    nonce,
    head: html`<meta http-equiv="refresh" content="0;url=/console/welcome">`,
    body: html`<p>${email} is now the administrator.</p><a class="button" href="/console/welcome">Continue</a>`,
  })
