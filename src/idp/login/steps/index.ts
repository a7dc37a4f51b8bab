/** All steps by name. */
import type { StepName } from '../login-state.js'
import { awaitingApproval } from './awaiting-approval.js'
import { emailCode, emailLink } from './email-code.js'
import { enrollPasskey, enrollTotp, issueBackupCodes } from './enroll.js'
import { backupCodes, noFactor, passkeyFactor, totp } from './factors.js'
import { invitation } from './invitation.js'
import { link } from './link.js'
import { newPassword } from './new-password.js'
import { organization } from './organization.js'
import { recovery } from './recovery.js'
import { reset } from './reset-password.js'
import { selectAccount } from './select-account.js'
import { signIn } from './sign-in.js'
import { signUp } from './sign-up.js'
import { signUpPasskey } from './sign-up-passkey.js'
import type { Step } from './step.js'

export const steps: Readonly<Record<StepName, Step>> = {
  account: selectAccount,
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
  new_codes: issueBackupCodes,
  no_factor: noFactor,
  link,
  organization,
  waiting: awaitingApproval,
}
