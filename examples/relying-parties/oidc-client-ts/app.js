// A page that signs users in with oidc-client-ts. The tokens are in the sessionStorage of the tab.
import { UserManager } from 'oidc-client-ts'
import { config } from './config.js'

const home = `${location.origin}/`
const manager = new UserManager({
  authority: config.issuer,
  client_id: config.clientId,
  redirect_uri: home,
  post_logout_redirect_uri: home,
  scope: 'openid profile email offline_access',
  // The ID token identifies the user; name and email come from /userinfo.
  loadUserInfo: true,
})

if (new URLSearchParams(location.search).has('code')) {
  await manager.signinCallback()
  history.replaceState(null, '', home)
}

const user = await manager.getUser()
const show = (text, ...actions) => {
  document.querySelector('h1').textContent = text
  document.querySelector('nav').replaceChildren(
    ...actions.map(([label, run]) => {
      const button = document.createElement('button')
      button.textContent = label
      button.onclick = run
      return button
    }),
  )
}

async function refresh() {
  // Uses the refresh token, not an iframe. Each refresh token can be used once: the library stores the next one.
  await manager.signinSilent()
  document.querySelector('p').textContent = 'Tokens refreshed'
}

if (user) {
  show(`Signed in as ${user.profile.email}`, ['Refresh', refresh], ['Sign out', () => manager.signoutRedirect()])
} else {
  show('You are not signed in', ['Sign in', () => manager.signinRedirect()])
}
