import { passkeyMove } from '../passkeys.js'
import type { FirstFactor } from './method.js'

/** A passkey that says itself whose it is: no username, no password, and no second factor after it. */
export const passkey: FirstFactor = (asked, form) => passkeyMove(asked, form, null)
