/** Emails to users and invited people, localized, with the name and theme of the issuer, as plain text and HTML. */
import { html } from '../../kernel/html.js'
import { type Language, matchLanguage } from '../../kernel/language.js'
import type { Context } from '../../platform/context.js'
import { enqueueMail } from '../../platform/mail/mail.js'
import type { Mail } from '../../platform/mail/transport.js'
import { credentialNames, type MessageKind, messageTexts } from './message-texts.js'

/** The issuer that sends a message. */
export interface Sender {
  name: string
  settings: unknown
}

export interface Message {
  to: string
  kind: MessageKind
  /** Verifier types that the message lists. */
  credentials?: readonly (keyof typeof credentialNames.en)[]
  /** Values of the placeholders in the texts. */
  placeholders?: Readonly<Record<string, string>>
  /** A code to enter, shown in large type. */
  code?: string
  /** URL of the button. */
  url?: string
  language?: Language | undefined
}

interface Branding {
  display_name?: string | null
  language?: string
  theme?: { primary_color?: string }
}

const brandingOf = ({ settings }: Sender): Branding => (settings as { branding?: Branding }).branding ?? {}

/** Returns the display name of an issuer, or its name if it has no display name. */
export const displayNameOf = (sender: Sender): string => brandingOf(sender).display_name || sender.name

/**
 * Queues an email. Call it in the transaction that causes the email.
 * @param lifetime milliseconds after which the email is dropped if it could not be sent; `limits.defaultMailLifetime`
 *   by default
 */
export async function sendMessage(
  context: Context,
  sender: Sender,
  message: Message,
  lifetime?: number,
): Promise<void> {
  await enqueueMail(context, composeMail(sender, message), lifetime)
}

/**
 * Renders an email in the language of the message; without one, in the language of the issuer, otherwise in English.
 */
export function composeMail(sender: Sender, message: Message): Mail {
  const { to, kind, credentials = [], placeholders = {}, code, url, language } = message
  const { language: senderLanguage, theme } = brandingOf(sender)
  const mailLanguage = language ?? matchLanguage([senderLanguage]) ?? 'en'
  const name = displayNameOf(sender)
  const values: Record<string, string> = {
    name,
    credentials: credentials.map((type) => credentialNames[mailLanguage][type]).join(', '),
    ...(code === undefined ? {} : { code }),
    ...placeholders,
  }
  const fillPlaceholders = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '').trim()
  const { subject, lead, button, end } = messageTexts[mailLanguage][kind]
  const primary = /^#[0-9a-f]{3,6}$/i.test(theme?.primary_color ?? '') ? theme!.primary_color! : '#2f5bea'
  const paragraphs = [fillPlaceholders(lead), code, url, fillPlaceholders(end)].filter(
    (part) => part !== undefined && part !== '',
  )
  const page = html`<!doctype html>
<html lang="${mailLanguage}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:32px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif">
<div style="max-width:480px;margin:0 auto">
<p style="margin:0 0 24px;font-weight:600">${name}</p>
<p style="margin:0 0 24px">${fillPlaceholders(lead)}</p>
${code !== undefined && html`<p style="margin:0 0 24px;font:600 30px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:.18em">${code}</p>`}
${url !== undefined && html`<p style="margin:0 0 24px"><a href="${url}" style="display:inline-block;padding:12px 22px;border-radius:10px;background:${primary};color:#fff;font-weight:600;text-decoration:none">${fillPlaceholders(button ?? url)}</a></p><p style="margin:0 0 24px;font-size:13px;word-break:break-all"><a href="${url}">${url}</a></p>`}
<p style="margin:0;font-size:14px;opacity:.72">${fillPlaceholders(end)}</p>
</div></body></html>`
  return {
    to,
    // Users choose some of the values, so line breaks are replaced and the length is limited.
    subject: fillPlaceholders(subject).replace(/\s+/g, ' ').slice(0, 200),
    text: `${paragraphs.join('\n\n')}\n\n${name}\n`,
    html: page.text,
  }
}
