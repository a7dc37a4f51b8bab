/**
 * Step-up authentication (RFC 9470, docs/contract.md#recent-sign-in): someone who finds an unattended console must not
 * gain lasting access or do lasting damage. So a person at the console must have signed in recently to create a key,
 * rotate a secret, change the owner of an account or delete an issuer. API keys and tokens of other applications are
 * exempt.
 */
import { ApiError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'

/**
 * Refuses a person at the console whose sign-in is too old. All other callers pass.
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
