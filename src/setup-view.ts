/** How the first step of the first run looks: plain HTML that works without JavaScript, the passkey aside. */
import { passkeyScript } from './idp/login/pages/script.js'
import { type Html, html } from './kernel/html.js'

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

/** The name that is typed becomes the passkey's, and no passkey is made for nobody. */
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

interface Frame {
  title: string
  body: Html
  /** Of the steps, counted from 0. */
  step?: number
  done?: boolean
  nonce: string
  head?: Html
}

function frame({ title, body, step, done, nonce, head }: Frame): string {
  const way =
    step !== undefined &&
    html`<ol aria-label="Steps">${steps.map((name, at) =>
      done && at === step
        ? html`<li data-done><span aria-hidden="true">✓</span>${name}</li>`
        : at === step
          ? html`<li aria-current="step"><span aria-hidden="true">${at + 1}</span>${name}</li>`
          : html`<li><span aria-hidden="true">${at + 1}</span>${name}</li>`,
    )}</ol>`
  return `<!doctype html>${html`
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} – Gatehouse</title><link rel="icon" href="data:,">${head}`}<style nonce="${nonce}">${style}</style></head>
<body>${html`<main>${way}<section><h1>${title}</h1>${body}</section></main>`}</body></html>`
}

/** For a link that is used, too old or not ours. */
export const gonePage = (nonce: string): string =>
  frame({
    title: 'This link has ended',
    nonce,
    body: html`<p>Setup links work once and for 30 minutes. If there is no administrator yet, start Gatehouse again: it prints a new one.</p>
<a class="button" href="/console">Open the console</a>`,
  })

export interface FormFacts {
  token: string
  email: string
  fault: string | undefined
  nonce: string
  /** What a browser is asked for, and the sealed note of it; absent where no passkey can be made here. */
  passkey: { options: object; ceremony: string } | undefined
}

export function formPage({ token, email, fault, nonce, passkey }: FormFacts): string {
  const body = html`<p>Make the first administrator of this deployment. Two more steps, and somebody signs in.</p>
${fault !== undefined && html`<p class="bad" role="alert">${fault}</p>`}
<form method="post" action="/setup"><input type="hidden" name="token" value="${token}">
<label for="username">Email</label><input id="username" name="username" type="email" autocomplete="username" required autofocus value="${email}">
<label for="new_password">Password</label><input id="new_password" name="new_password" type="password" autocomplete="new-password" required minlength="8" maxlength="128" aria-describedby="hint">
<p class="hint" id="hint">Eight characters or more, and none that everybody uses.</p>
<button>Continue</button>
${
  passkey &&
  html`<input type="hidden" name="credential" id="credential"><input type="hidden" name="ceremony" value="${passkey.ceremony}">
<div data-with-script hidden><p class="or">or</p>
<p class="bad" id="passkey-failed" role="alert" hidden>Your device made no passkey. Try again, or take a password.</p>
<button class="other" id="passkey" formnovalidate data-asks="create" data-options="${JSON.stringify(passkey.options)}">Continue with a passkey</button></div>`
}</form>`
  const page = frame({ title: 'Welcome to Gatehouse', body, step: 0, nonce })
  if (!passkey) return page
  return page.replace('</body>', () => `<script nonce="${nonce}">${nameScript};${passkeyScript}</script></body>`)
}

/** After the first step: browsers go on by themselves. */
export const madePage = (email: string, nonce: string): string =>
  frame({
    title: 'All set',
    step: 0,
    done: true,
    nonce,
    head: html`<meta http-equiv="refresh" content="0;url=/console/welcome">`,
    body: html`<p>${email} is now the administrator.</p><a class="button" href="/console/welcome">Continue</a>`,
  })
