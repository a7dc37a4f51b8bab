import { redirect } from 'next/navigation'
import { auth, signIn, signOut, unstable_update } from '../auth.mjs'

async function startSignIn() {
  'use server'
  await signIn('gatehouse')
}

/** A server action can set cookies, which a refresh needs. */
async function startRefresh() {
  'use server'
  await unstable_update({})
  redirect('/')
}

/** Signs out of the application and of Gatehouse. */
async function startSignOut() {
  'use server'
  const session = await auth()
  const { PORT = '8080', ISSUER } = process.env
  const query = new URLSearchParams({
    id_token_hint: session.idToken,
    post_logout_redirect_uri: `http://localhost:${PORT}/`,
  })
  await signOut({ redirect: false })
  redirect(`${ISSUER}/logout?${query}`)
}

export default async function Page() {
  const session = await auth()
  return session ? (
    <form>
      <h1>Signed in as {session.user.email}</h1>
      <p>{session.refreshed ? 'Tokens refreshed' : ''}</p>
      <button type="submit" formAction={startRefresh}>
        Refresh
      </button>
      <button type="submit" formAction={startSignOut}>
        Sign out
      </button>
    </form>
  ) : (
    <form action={startSignIn}>
      <h1>You are not signed in</h1>
      <button type="submit">Sign in</button>
    </form>
  )
}
