/** Every step by its name. */
import type { StepName } from '../state.js'
import { account } from './account.js'
import { emailCode, emailLink } from './email-code.js'
import { enrollPasskey, enrollTotp, newCodes } from './enroll.js'
import { backupCodes, noFactor, passkeyFactor, totp } from './factors.js'
import { invitation } from './invitation.js'
import { link } from './link.js'
import { newPassword } from './new-password.js'
import { organization } from './organization.js'
import { recovery } from './recovery.js'
import { reset } from './reset.js'
import { signIn } from './sign-in.js'
import { signUp } from './sign-up.js'
import { signUpPasskey } from './sign-up-passkey.js'
import type { Step } from './step.js'
import { waiting } from './waiting.js'

export const steps: Readonly<Record<StepName, Step>> = {
  account,
  invitation,
  recovery,
  sign_in: signIn,
  sign_up: signUp,
  sign_up_passkey: signUpPasskey,
  reset,
  email_code: emailCode,
  email_link: emailLink,
  new_password: newPassword,
  passkey: passkeyFactor,
  totp,
  backup_codes: backupCodes,
  enroll_totp: enrollTotp,
  enroll_passkey: enrollPasskey,
  new_codes: newCodes,
  no_factor: noFactor,
  link,
  organization,
  waiting,
}
