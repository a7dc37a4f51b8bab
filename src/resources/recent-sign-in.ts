/**
 * Step-up (RFC 9470, decisions D25): an unattended console must not be enough to make lasting access or to do lasting
 * harm. So who acts through the console has signed in a short while ago when a key is made, a secret rotated, the owner
 * of an account changed or an issuer deleted. Programs have no sign-in to repeat and are not asked.
 */
import { ApiError } from '../kernel/errors.js'
import { MINUTE, SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'

/** How long ago the sign-in may be (seconds). */
const MAX_AGE = (5 * MINUTE) / SECOND

/**
 * Lets everybody through but a person at the console whose sign-in is too long ago.
 * @throws insufficient_user_authentication, with `max_age` in seconds for the next sign-in
 */
export function requireRecentSignIn({ actor, now }: Context): void {
  if (actor.signedInAt === null || now() - actor.signedInAt <= MAX_AGE * SECOND) return
  throw new ApiError('insufficient_user_authentication', 'Your sign-in is too long ago for this: sign in again.', {
    extra: { max_age: MAX_AGE },
    headers: {
      'WWW-Authenticate': `Bearer error="insufficient_user_authentication", acr_values="urn:svc:method:passkey", max_age="${MAX_AGE}"`,
    },
  })
}
