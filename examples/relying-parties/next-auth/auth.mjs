// Signs users in with Auth.js (next-auth 5).
import NextAuth from 'next-auth'

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env

export const { handlers, auth, signIn, signOut } = NextAuth({
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
      // Reads name and email from /userinfo: the ID token of Gatehouse identifies the user and has no profile.
      idToken: false,
    },
  ],
  callbacks: {
    // The encrypted session cookie of Auth.js keeps the tokens.
    jwt({ token, account }) {
      return account ? { ...token, idToken: account.id_token, refreshToken: account.refresh_token } : token
    },
    session({ session, token }) {
      return { ...session, idToken: token.idToken }
    },
  },
})
