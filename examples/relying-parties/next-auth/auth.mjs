// Signs users in with Auth.js (next-auth 5).
import NextAuth from 'next-auth'

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env

export const { handlers, auth, signIn, signOut, unstable_update } = NextAuth({
  trustHost: true,
  providers: [
    {
      id: 'gatehouse',
      name: 'Gatehouse',
      type: 'oidc',
      issuer: ISSUER,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      authorization: { params: { scope: 'openid profile email offline_access' } },
      checks: ['pkce', 'state', 'nonce'],
      // Name and email come from /userinfo: the ID token of Gatehouse identifies the user.
      idToken: false,
    },
  ],
  callbacks: {
    // The encrypted session cookie of Auth.js keeps the tokens.
    jwt({ token, account, trigger }) {
      if (account) return { ...token, idToken: account.id_token, refreshToken: account.refresh_token }
      return trigger === 'update' ? refresh(token) : token
    },
    session({ session, token }) {
      return { ...session, idToken: token.idToken, refreshed: token.refreshed }
    },
  },
})

/** Each refresh token can be used once. Call this only where Next.js can set the cookie that keeps the next one. */
async function refresh(token) {
  const response = await fetch(`${ISSUER}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${CLIENT_ID}:${CLIENT_SECRET}`)}` },
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token.refreshToken }),
  })
  const tokens = await response.json()
  if (!response.ok) throw new Error(tokens.error_description)
  return { ...token, idToken: tokens.id_token, refreshToken: tokens.refresh_token, refreshed: true }
}
