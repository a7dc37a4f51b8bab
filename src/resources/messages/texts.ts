/** Every sentence that goes out by mail, by language. A further language is one more table. */
import type { Language } from '../../kernel/language.js'

export interface MessageText {
  subject: string
  lead: string
  /** What the button says, where the message has one. */
  button?: string
  /** What to do when it comes unasked. */
  end: string
}

const ignore = 'If you did not ask for this, you can ignore this mail: nothing happens without the code.'

const unexpected = 'If you did not expect this, contact the people who run {name}.'

const en = {
  sign_in_code: {
    subject: '{code} is your sign-in code for {name}',
    lead: 'Enter this code where you are signing in to {name}. It works once and for {minutes} minutes.',
    end: ignore,
  },
  sign_in_link: {
    subject: 'Sign in to {name}',
    lead: 'Open this link in the browser in which you began to sign in to {name}. It works once and for {minutes} minutes.',
    button: 'Sign in',
    end: 'If you did not ask for this, you can ignore this mail: nobody is signed in without the link.',
  },
  sign_up_code: {
    subject: '{code} is your code for {name}',
    lead: 'Enter this code to finish making your account at {name}. It works once and for {minutes} minutes.',
    end: ignore,
  },
  already_registered: {
    subject: 'You already have an account at {name}',
    lead: 'Somebody, probably you, tried to make an account at {name} with this address. There is one already: sign in, or choose a new password if you have forgotten yours.',
    end: 'If this was not you, you need not do anything.',
  },
  verify_code: {
    subject: '{code} confirms your address for {name}',
    lead: 'Enter this code to confirm that this address is yours. It works once and for {minutes} minutes.',
    end: ignore,
  },
  reset_code: {
    subject: '{code} lets you choose a new password for {name}',
    lead: 'Enter this code to choose a new password at {name}. It works once and for {minutes} minutes.',
    end: ignore,
  },
  password_changed: {
    subject: 'Your password for {name} was changed',
    lead: 'The password of your account at {name} has just been changed, and other sign-ins with it have ended.',
    end: 'If this was not you, choose a new password at once and tell the people who run {name}.',
  },
  credential_removed: {
    subject: 'A credential of your account at {name} was removed',
    lead: 'This credential of your account at {name} was removed and no longer works: {credentials}.',
    end: unexpected,
  },
  credentials_removed: {
    subject: 'Earlier credentials of your account at {name} were removed',
    lead: 'You have confirmed that this address is yours. These credentials had been set up before that, possibly by another person. They were removed and no longer work: {credentials}.',
    end: 'If you did not sign in to {name} just now, contact the people who run it.',
  },
  backup_codes_replaced: {
    subject: 'Your backup codes for {name} were replaced',
    lead: 'New backup codes were created for your account at {name}. The previous ones no longer work.',
    end: unexpected,
  },
  recovery_link_used: {
    subject: 'Your account at {name} is being recovered',
    lead: 'A recovery link for your account at {name} was used. It was created on the server, and lets its owner choose a new password and set up new second factors.',
    end: 'If this was not you, contact the people who run {name} at once.',
  },
  invitation: {
    subject: 'You are invited to {organization}',
    lead: 'You are invited to join {organization} at {name}. {message}',
    button: 'See the invitation',
    end: 'The invitation works once and for {days} days. If you do not know what it is about, ignore this mail.',
  },
  approved: {
    subject: 'Your account at {name} is ready',
    lead: 'Your account at {name} was approved. You can sign in now.',
    end: '{reason}',
  },
  rejected: {
    subject: 'Your account at {name} was not approved',
    lead: 'The people who run {name} did not approve your account. Their reason: {reason}',
    end: 'If you think that this is a mistake, please get in touch with them.',
  },
} as const satisfies Record<string, MessageText>

export type MessageKind = keyof typeof en

const ignorieren = 'Ohne diesen Wunsch kann diese Mail ignoriert werden: Ohne den Code geschieht nichts.'

const unerwartet = 'Wer das nicht erwartet hat, sollte den Betreibern von {name} Bescheid geben.'

const de: Record<MessageKind, MessageText> = {
  sign_in_code: {
    subject: '{code} ist der Anmeldecode für {name}',
    lead: 'Bitte diesen Code dort eingeben, wo die Anmeldung bei {name} begonnen wurde. Er gilt einmal und {minutes} Minuten lang.',
    end: ignorieren,
  },
  sign_in_link: {
    subject: 'Anmeldung bei {name}',
    lead: 'Bitte diesen Link in dem Browser öffnen, in dem die Anmeldung bei {name} begonnen wurde. Er gilt einmal und {minutes} Minuten lang.',
    button: 'Anmelden',
    end: 'Ohne diesen Wunsch kann diese Mail ignoriert werden: Ohne den Link wird niemand angemeldet.',
  },
  sign_up_code: {
    subject: '{code} ist der Code für {name}',
    lead: 'Mit diesem Code wird das Konto bei {name} fertig. Er gilt einmal und {minutes} Minuten lang.',
    end: ignorieren,
  },
  already_registered: {
    subject: 'Es gibt schon ein Konto bei {name}',
    lead: 'Mit dieser Adresse wurde versucht, ein Konto bei {name} anzulegen. Es gibt schon eines: Bitte anmelden oder, wenn das Passwort vergessen ist, ein neues wählen.',
    end: 'Wer das nicht selbst war, muss nichts tun.',
  },
  verify_code: {
    subject: '{code} bestätigt die Adresse für {name}',
    lead: 'Mit diesem Code wird bestätigt, dass die Adresse die richtige ist. Er gilt einmal und {minutes} Minuten lang.',
    end: ignorieren,
  },
  reset_code: {
    subject: '{code} für ein neues Passwort bei {name}',
    lead: 'Mit diesem Code lässt sich ein neues Passwort bei {name} wählen. Er gilt einmal und {minutes} Minuten lang.',
    end: ignorieren,
  },
  password_changed: {
    subject: 'Das Passwort für {name} wurde geändert',
    lead: 'Das Passwort des Kontos bei {name} wurde gerade geändert; andere Anmeldungen damit sind beendet.',
    end: 'Wer das nicht selbst war, sollte sofort ein neues Passwort wählen und den Betreibern von {name} Bescheid geben.',
  },
  credential_removed: {
    subject: 'Aus dem Konto bei {name} wurde eine Anmeldemöglichkeit entfernt',
    lead: 'Diese Anmeldemöglichkeit wurde aus dem Konto bei {name} entfernt und gilt nicht mehr: {credentials}.',
    end: unerwartet,
  },
  credentials_removed: {
    subject: 'Aus dem Konto bei {name} wurden frühere Anmeldemöglichkeiten entfernt',
    lead: 'Die Adresse des Kontos ist jetzt bestätigt. Vorher waren diese Anmeldemöglichkeiten eingerichtet worden, möglicherweise von einer anderen Person. Sie wurden entfernt und gelten nicht mehr: {credentials}.',
    end: 'Wer sich nicht gerade bei {name} angemeldet hat, sollte den Betreibern Bescheid geben.',
  },
  backup_codes_replaced: {
    subject: 'Die Ersatzcodes für {name} wurden ersetzt',
    lead: 'Für das Konto bei {name} wurden neue Ersatzcodes erstellt. Die bisherigen gelten nicht mehr.',
    end: unerwartet,
  },
  recovery_link_used: {
    subject: 'Das Konto bei {name} wird wiederhergestellt',
    lead: 'Ein Link zur Wiederherstellung des Kontos bei {name} wurde verwendet. Er wurde auf dem Server erstellt; mit ihm lassen sich ein neues Passwort wählen und neue zweite Faktoren einrichten.',
    end: 'Wer das nicht selbst war, sollte sofort den Betreibern von {name} Bescheid geben.',
  },
  invitation: {
    subject: 'Einladung zu {organization}',
    lead: 'Das ist eine Einladung zu {organization} bei {name}. {message}',
    button: 'Einladung ansehen',
    end: 'Die Einladung gilt einmal und {days} Tage lang. Wer nicht weiß, worum es geht, ignoriert diese Mail.',
  },
  approved: {
    subject: 'Das Konto bei {name} ist bereit',
    lead: 'Das Konto bei {name} wurde freigegeben. Die Anmeldung ist jetzt möglich.',
    end: '{reason}',
  },
  rejected: {
    subject: 'Das Konto bei {name} wurde nicht freigegeben',
    lead: 'Die Betreiber von {name} haben das Konto nicht freigegeben. Ihre Begründung: {reason}',
    end: 'Wenn das ein Irrtum ist, bitte bei ihnen melden.',
  },
}

/** What people call each type of verifier. */
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
