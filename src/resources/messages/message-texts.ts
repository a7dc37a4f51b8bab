/**
 * Texts of all emails by language. To add a language, add it to `languages` in kernel/language.ts; the compiler then
 * requires its texts here, in `messageTexts` and `credentialNames`.
 */
import type { Language } from '../../kernel/language.js'

export interface MessageText {
  subject: string
  lead: string
  /** Label of the button, if the message has one. */
  button?: string
  /** Closing paragraph, for example what to do if the email is unexpected. */
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
    lead: 'The password of your account at {name} was changed, and all other sessions of the account were signed out.',
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
    end: 'If you did not sign in to {name} just now, contact the administrators of {name}.',
  },
  backup_codes_replaced: {
    subject: 'Your backup codes for {name} were replaced',
    lead: 'New backup codes were created for your account at {name}. The previous backup codes no longer work.',
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

const ignoreNoticeDe =
  'Wenn Sie diesen Code nicht angefordert haben, können Sie diese E-Mail ignorieren. Ohne den Code geschieht nichts.'

const unexpectedNoticeDe =
  'Wenn Sie diese Änderung nicht erwartet haben, wenden Sie sich bitte an die Administratoren von {name}.'

const codeValidityDe = 'Der Code kann nur einmal verwendet werden und ist {minutes} Minuten lang gültig.'

const de: Record<MessageKind, MessageText> = {
  sign_in_code: {
    subject: '{code} ist der Anmeldecode für {name}',
    lead: `Bitte geben Sie diesen Code auf der Seite ein, auf der Sie sich bei {name} anmelden. ${codeValidityDe}`,
    end: ignoreNoticeDe,
  },
  sign_in_link: {
    subject: 'Anmeldung bei {name}',
    lead: 'Bitte öffnen Sie diesen Link in dem Browser, in dem Sie die Anmeldung bei {name} begonnen haben. Der Link kann nur einmal verwendet werden und ist {minutes} Minuten lang gültig.',
    button: 'Anmelden',
    end: 'Wenn Sie diesen Link nicht angefordert haben, können Sie diese E-Mail ignorieren. Ohne den Link kann sich niemand anmelden.',
  },
  sign_up_code: {
    subject: '{code} ist der Registrierungscode für {name}',
    lead: `Bitte geben Sie diesen Code ein, um die Registrierung bei {name} abzuschließen. ${codeValidityDe}`,
    end: ignoreNoticeDe,
  },
  already_registered: {
    subject: 'Es gibt schon ein Konto bei {name}',
    lead: 'Jemand, wahrscheinlich Sie selbst, hat versucht, mit dieser E-Mail-Adresse ein Konto bei {name} anzulegen. Sie haben dort schon ein Konto. Bitte melden Sie sich damit an, oder setzen Sie Ihr Passwort zurück, wenn Sie das Passwort vergessen haben.',
    end: 'Wenn Sie das nicht waren, müssen Sie nichts tun.',
  },
  verify_code: {
    subject: '{code} ist der Bestätigungscode für {name}',
    lead: `Bitte geben Sie diesen Code ein, um Ihre E-Mail-Adresse zu bestätigen. ${codeValidityDe}`,
    end: ignoreNoticeDe,
  },
  reset_code: {
    subject: '{code} ist der Code zum Zurücksetzen des Passworts für {name}',
    lead: `Bitte geben Sie diesen Code ein, um Ihr Passwort für {name} zurückzusetzen. ${codeValidityDe}`,
    end: ignoreNoticeDe,
  },
  password_changed: {
    subject: 'Das Passwort für {name} wurde geändert',
    lead: 'Das Passwort Ihres Kontos bei {name} wurde geändert. Alle anderen Sitzungen Ihres Kontos wurden beendet.',
    end: 'Wenn Sie das nicht waren, setzen Sie bitte sofort Ihr Passwort zurück, und wenden Sie sich an die Administratoren von {name}.',
  },
  credential_removed: {
    subject: 'Aus dem Konto bei {name} wurde eine Anmeldemöglichkeit entfernt',
    lead: 'Diese Anmeldemöglichkeit wurde aus Ihrem Konto bei {name} entfernt und funktioniert nicht mehr: {credentials}.',
    end: unexpectedNoticeDe,
  },
  credentials_removed: {
    subject: 'Aus dem Konto bei {name} wurden frühere Anmeldemöglichkeiten entfernt',
    lead: 'Sie haben Ihre E-Mail-Adresse bestätigt. Vorher waren Anmeldemöglichkeiten eingerichtet worden, möglicherweise von einer anderen Person. Deshalb wurden diese Anmeldemöglichkeiten entfernt und funktionieren nicht mehr: {credentials}.',
    end: 'Wenn Sie sich nicht gerade bei {name} angemeldet haben, wenden Sie sich bitte an die Administratoren.',
  },
  backup_codes_replaced: {
    subject: 'Die Ersatzcodes für {name} wurden ersetzt',
    lead: 'Für Ihr Konto bei {name} wurden neue Ersatzcodes erstellt. Die bisherigen Ersatzcodes funktionieren nicht mehr.',
    end: unexpectedNoticeDe,
  },
  recovery_link_used: {
    subject: 'Das Konto bei {name} wird wiederhergestellt',
    lead: 'Ein Link zur Wiederherstellung Ihres Kontos bei {name} wurde verwendet. Der Link wurde auf dem Server erstellt. Wer ihn öffnet, kann ein neues Passwort wählen und neue zweite Faktoren einrichten.',
    end: 'Wenn Sie das nicht waren, wenden Sie sich bitte sofort an die Administratoren von {name}.',
  },
  invitation: {
    subject: 'Einladung zu {organization}',
    lead: 'Sie sind zu {organization} bei {name} eingeladen. {message}',
    button: 'Einladung ansehen',
    end: 'Die Einladung kann nur einmal angenommen werden und ist {days} Tage lang gültig. Wenn Sie nicht wissen, worum es geht, können Sie diese E-Mail ignorieren.',
  },
  approved: {
    subject: 'Das Konto bei {name} ist bereit',
    lead: 'Ihr Konto bei {name} wurde freigegeben. Sie können sich jetzt anmelden.',
    end: '{reason}',
  },
  rejected: {
    subject: 'Das Konto bei {name} wurde nicht freigegeben',
    lead: 'Die Administratoren von {name} haben Ihr Konto nicht freigegeben. Begründung: {reason}',
    end: 'Wenn Sie das für einen Irrtum halten, wenden Sie sich bitte an die Administratoren von {name}.',
  },
}

/** Names of the verifier types in emails and on the hosted pages. */
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
