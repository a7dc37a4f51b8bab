// A page that signs a user in with the authorization code flow and PKCE. The tokens are in the sessionStorage of the
// tab, and oidc-client-ts renews them with the refresh token.
import { UserManager, WebStorageStateStore } from 'oidc-client-ts'
import { config } from '/config.js'

const users = new UserManager({
  authority: config.issuer,
  client_id: config.clientId,
  redirect_uri: `${location.origin}/`,
  post_logout_redirect_uri: `${location.origin}/`,
  scope: 'openid profile email',
  // The ID token identifies the user; name and email come from /userinfo.
  loadUserInfo: true,
  userStore: new WebStorageStateStore({ store: sessionStorage }),
})
const element = (id) => document.getElementById(id)

if (new URLSearchParams(location.search).has('state')) {
  // Gatehouse redirected back with `state` and `code`, or with `state` and `error`. Redeem the code, and remove the
  // parameters from the address bar.
  if (new URLSearchParams(location.search).has('code')) await users.signinCallback()
  history.replaceState({}, '', '/')
}

const user = await users.getUser()
element('greeting').textContent = user ? `Hello, ${user.profile.name ?? user.profile.email}` : 'You are not signed in'
element('claims').textContent = user ? JSON.stringify(user.profile, null, 2) : ''
element('sign-in').hidden = Boolean(user)
element('sign-out').hidden = !user
element('sign-in').onclick = () => users.signinRedirect()
element('sign-out').onclick = () => users.signoutRedirect()
