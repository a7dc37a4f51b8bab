/**
 * The only script of the hosted pages. It calls the WebAuthn API with the options in the page and submits the response
 * with the form. The script sends no other requests, and everything except passkeys works without JavaScript.
 */
export const passkeyScript = String.raw`
(() => {
  const button = document.getElementById('passkey')
  if (!window.PublicKeyCredential || !navigator.credentials) return
  for (const one of document.querySelectorAll('[data-with-script]')) one.hidden = false
  for (const one of document.querySelectorAll('[data-without-script]')) one.hidden = true
  if (!button) return
  const { asks, autofill } = button.dataset
  const failed = document.getElementById('passkey-failed')
  const bytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0))
  const text = (buffer) =>
    btoa(Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join(''))
      .replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
  const known = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }))

  const publicKey = () => {
    const given = JSON.parse(button.dataset.options)
    given.challenge = bytes(given.challenge)
    if (given.user) given.user.id = bytes(given.user.id)
    if (given.allowCredentials) given.allowCredentials = known(given.allowCredentials)
    if (given.excludeCredentials) given.excludeCredentials = known(given.excludeCredentials)
    return given
  }

  const send = (credential) => {
    const { response } = credential
    const said = { clientDataJSON: text(response.clientDataJSON) }
    for (const name of ['attestationObject', 'authenticatorData', 'signature', 'userHandle'])
      if (response[name]) said[name] = text(response[name])
    if (response.getTransports) said.transports = response.getTransports()
    document.getElementById('credential').value = JSON.stringify({
      id: credential.id,
      rawId: text(credential.rawId),
      type: credential.type,
      authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
      clientExtensionResults: {},
      response: said,
    })
    button.form.requestSubmit(button)
  }

  let waiting
  const ask = (more) => {
    waiting?.abort()
    waiting = new AbortController()
    return navigator.credentials[asks]({ publicKey: publicKey(), signal: waiting.signal, ...more }).then(send)
  }
  button.addEventListener('click', (event) => {
    event.preventDefault()
    failed.hidden = true
    ask({}).catch(() => { failed.hidden = false })
  })
  if (autofill) PublicKeyCredential.isConditionalMediationAvailable?.()
    .then((available) => available && ask({ mediation: 'conditional' }))
    .catch(() => {})
})()
`
