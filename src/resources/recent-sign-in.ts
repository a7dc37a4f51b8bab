/**
 * Step-up authentication (RFC 9470, docs/contract.md#recent-sign-in): a person who finds an unattended console must not
 * gain lasting access or do lasting damage. Therefore some operations at the console require a recent sign-in, for
 * example creating an API key, rotating a secret, changing the owner of an account and deleting an issuer. Requests
 * with API keys or with tokens of other applications are exempt.
 */
import { ApiError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'

/**
 * Refuses a request of the console if the user signed in too long ago. Requests of other callers are not checked.
 * @throws insufficient_user_authentication, with `max_age` in seconds for the next sign-in
 */
export function requireRecentSignIn({ actor, now }: Context): void {
  if (actor.signedInAt === null || now() - actor.signedInAt <= limits.maxSignInAgeSeconds * SECOND) return
  throw new ApiError('insufficient_user_authentication', 'This needs a more recent sign-in. Sign in again.', {
    extra: { max_age: limits.maxSignInAgeSeconds },
    headers: {
      'WWW-Authenticate': `Bearer error="insufficient_user_authentication", acr_values="urn:svc:method:passkey", max_age="${limits.maxSignInAgeSeconds}"`,
    },
  })
}
