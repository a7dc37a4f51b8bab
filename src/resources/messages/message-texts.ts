/** Texts of all emails by language. To add a language, add a table. */
import type { Language } from '../../kernel/language.js'

export interface MessageText {
  subject: string
  lead: string
  /** Label of the button, if the message has one. */
  button?: string
  /** Closing paragraph: what to do if the message is unexpected. */
  end: string
}

const ignoreNotice = 'If you did not request this, you can ignore this email. Nothing happens without the code.'

const unexpectedNotice = 'If you did not expect this, contact the administrators of {name}.'

const en = {
  sign_in_code: {
    subject: '{code} is your sign-in code for {name}',
    lead: 'Enter this code on the page where you are signing in to {name}. The code works once and expires in {minutes} minutes.',
    end: ignoreNotice,
  },
  sign_in_link: {
    subject: 'Sign in to {name}',
    lead: 'Open this link in the browser in which you started to sign in to {name}. The link works once and expires in {minutes} minutes.',
    button: 'Sign in',
    end: 'If you did not request this, you can ignore this email. No one can sign in without the link.',
  },
  sign_up_code: {
    subject: '{code} is your sign-up code for {name}',
    lead: 'Enter this code to finish creating your account at {name}. The code works once and expires in {minutes} minutes.',
    end: ignoreNotice,
  },
  already_registered: {
    subject: 'You already have an account at {name}',
    lead: 'Someone, probably you, tried to create an account at {name} with this email address. You already have an account. Sign in, or reset your password if you forgot it.',
    end: 'If this was not you, you do not need to do anything.',
  },
  verify_code: {
    subject: '{code} is your email confirmation code for {name}',
    lead: 'Enter this code to confirm your email address. The code works once and expires in {minutes} minutes.',
    end: ignoreNotice,
  },
  reset_code: {
    subject: '{code} is your password reset code for {name}',
    lead: 'Enter this code to reset your password for {name}. The code works once and expires in {minutes} minutes.',
    end: ignoreNotice,
  },
  password_changed: {
    subject: 'Your password for {name} was changed',
    lead: 'The password of your account at {name} was changed, and other sessions that used it were signed out.',
    end: 'If this was not you, reset your password immediately and contact the administrators of {name}.',
  },
  credential_removed: {
    subject: 'A credential of your account at {name} was removed',
    lead: 'This credential of your account at {name} was removed and no longer works: {credentials}.',
    end: unexpectedNotice,
  },
  credentials_removed: {
    subject: 'Earlier credentials of your account at {name} were removed',
    lead: 'You confirmed your email address. These credentials were set up before that, possibly by another person, so they were removed and no longer work: {credentials}.',
    end: 'If you did not sign in to {name} just now, contact its administrators.',
  },
  backup_codes_replaced: {
    subject: 'Your backup codes for {name} were replaced',
    lead: 'New backup codes were created for your account at {name}. The previous ones no longer work.',
    end: unexpectedNotice,
  },
  recovery_link_used: {
    subject: 'Your account at {name} is being recovered',
    lead: 'A recovery link for your account at {name} was used. It was created on the server, and it allows the person who opens it to choose a new password and set up new second factors.',
    end: 'If this was not you, contact the administrators of {name} immediately.',
  },
  invitation: {
    subject: 'You are invited to {organization}',
    lead: 'You are invited to join {organization} at {name}. {message}',
    button: 'View invitation',
    end: 'The invitation works once and expires in {days} days. If you do not know what it is about, ignore this email.',
  },
  approved: {
    subject: 'Your account at {name} is ready',
    lead: 'Your account at {name} was approved. You can sign in now.',
    end: '{reason}',
  },
  rejected: {
    subject: 'Your account at {name} was not approved',
    lead: 'The administrators of {name} did not approve your account. Reason: {reason}',
    end: 'If you think that this is a mistake, contact the administrators of {name}.',
  },
} as const satisfies Record<string, MessageText>

export type MessageKind = keyof typeof en

const ignoreNoticeDe = 'Wer das nicht angefordert hat, kann diese E-Mail ignorieren. Ohne den Code geschieht nichts.'

const unexpectedNoticeDe = 'Wer das nicht erwartet hat, sollte sich an die Administratoren von {name} wenden.'

const de: Record<MessageKind, MessageText> = {
  sign_in_code: {
    subject: '{code} ist der Anmeldecode für {name}',
    lead: 'Bitte diesen Code dort eingeben, wo die Anmeldung bei {name} begonnen wurde. Er gilt einmal und {minutes} Minuten lang.',
    end: ignoreNoticeDe,
  },
  sign_in_link: {
    subject: 'Anmeldung bei {name}',
    lead: 'Bitte diesen Link in dem Browser öffnen, in dem die Anmeldung bei {name} begonnen wurde. Er gilt einmal und {minutes} Minuten lang.',
    button: 'Anmelden',
    end: 'Wer das nicht angefordert hat, kann diese E-Mail ignorieren. Ohne den Link kann sich niemand anmelden.',
  },
  sign_up_code: {
    subject: '{code} ist der Registrierungscode für {name}',
    lead: 'Bitte diesen Code eingeben, um die Registrierung bei {name} abzuschließen. Er gilt einmal und {minutes} Minuten lang.',
    end: ignoreNoticeDe,
  },
  already_registered: {
    subject: 'Es gibt schon ein Konto bei {name}',
    lead: 'Mit dieser Adresse wurde versucht, ein Konto bei {name} anzulegen. Es gibt schon eines: Bitte anmelden oder, wenn das Passwort vergessen ist, das Passwort zurücksetzen.',
    end: 'Wer das nicht selbst war, muss nichts tun.',
  },
  verify_code: {
    subject: '{code} ist der Bestätigungscode für {name}',
    lead: 'Bitte diesen Code eingeben, um die E-Mail-Adresse zu bestätigen. Er gilt einmal und {minutes} Minuten lang.',
    end: ignoreNoticeDe,
  },
  reset_code: {
    subject: '{code} ist der Code zum Zurücksetzen des Passworts für {name}',
    lead: 'Bitte diesen Code eingeben, um das Passwort für {name} zurückzusetzen. Er gilt einmal und {minutes} Minuten lang.',
    end: ignoreNoticeDe,
  },
  password_changed: {
    subject: 'Das Passwort für {name} wurde geändert',
    lead: 'Das Passwort des Kontos bei {name} wurde geändert; andere Sitzungen mit diesem Passwort wurden beendet.',
    end: 'Wer das nicht selbst war, sollte sofort das Passwort zurücksetzen und sich an die Administratoren von {name} wenden.',
  },
  credential_removed: {
    subject: 'Aus dem Konto bei {name} wurde eine Anmeldemöglichkeit entfernt',
    lead: 'Diese Anmeldemöglichkeit wurde aus dem Konto bei {name} entfernt und gilt nicht mehr: {credentials}.',
    end: unexpectedNoticeDe,
  },
  credentials_removed: {
    subject: 'Aus dem Konto bei {name} wurden frühere Anmeldemöglichkeiten entfernt',
    lead: 'Die Adresse des Kontos ist jetzt bestätigt. Vorher waren diese Anmeldemöglichkeiten eingerichtet worden, möglicherweise von einer anderen Person. Sie wurden entfernt und gelten nicht mehr: {credentials}.',
    end: 'Wer sich nicht gerade bei {name} angemeldet hat, sollte sich an die Administratoren wenden.',
  },
  backup_codes_replaced: {
    subject: 'Die Ersatzcodes für {name} wurden ersetzt',
    lead: 'Für das Konto bei {name} wurden neue Ersatzcodes erstellt. Die bisherigen gelten nicht mehr.',
    end: unexpectedNoticeDe,
  },
  recovery_link_used: {
    subject: 'Das Konto bei {name} wird wiederhergestellt',
    lead: 'Ein Link zur Wiederherstellung des Kontos bei {name} wurde verwendet. Er wurde auf dem Server erstellt; mit ihm lassen sich ein neues Passwort wählen und neue zweite Faktoren einrichten.',
    end: 'Wer das nicht selbst war, sollte sich sofort an die Administratoren von {name} wenden.',
  },
  invitation: {
    subject: 'Einladung zu {organization}',
    lead: 'Das ist eine Einladung zu {organization} bei {name}. {message}',
    button: 'Einladung ansehen',
    end: 'Die Einladung gilt einmal und {days} Tage lang. Wer nicht weiß, worum es geht, kann diese E-Mail ignorieren.',
  },
  approved: {
    subject: 'Das Konto bei {name} ist bereit',
    lead: 'Das Konto bei {name} wurde freigegeben. Die Anmeldung ist jetzt möglich.',
    end: '{reason}',
  },
  rejected: {
    subject: 'Das Konto bei {name} wurde nicht freigegeben',
    lead: 'Die Administratoren von {name} haben das Konto nicht freigegeben. Begründung: {reason}',
    end: 'Wenn das ein Irrtum ist, bitte die Administratoren von {name} kontaktieren.',
  },
}

/** User-facing names of the verifier types. */
export const credentialNames = {
  en: {
    password: 'password',
    temporary_password: 'temporary password',
    passkey: 'passkey',
    totp: 'authenticator app',
    backup_codes: 'backup codes',
    oauth: 'linked account',
  },
  de: {
    password: 'Passwort',
    temporary_password: 'vorläufiges Passwort',
    passkey: 'Passkey',
    totp: 'Authenticator-App',
    backup_codes: 'Ersatzcodes',
    oauth: 'verknüpftes Konto',
  },
} as const satisfies Record<Language, object>

export const messageTexts: Readonly<Record<Language, Record<MessageKind, MessageText>>> = { en, de }
