import { passkeyTransition } from '../passkeys.js'
import type { FirstFactor } from './method.js'

/** A discoverable passkey, which identifies the user, so that no username or password is needed. */
export const passkey: FirstFactor = (request, stepContext, form) => passkeyTransition(request, stepContext, form, null)
