/** Messages to people, by mail: in the issuer's name, in a language, as text and as HTML. */
import { html } from '../../kernel/html.js'
import { knownLanguage, type Language } from '../../kernel/language.js'
import type { Context } from '../../platform/context.js'
import { queueMail } from '../../platform/mail.js'
import type { Mail } from '../../platform/mail-transport.js'
import { credentialNames, type MessageKind, messageTexts } from './texts.js'

/** In whose name a message goes out. */
export interface Sender {
  name: string
  settings: unknown
}

export interface Message {
  to: string
  kind: MessageKind
  /** Types of the credentials that it is about. */
  credentials?: readonly (keyof typeof credentialNames.en)[]
  /** What goes into the places of its sentences. */
  places?: Readonly<Record<string, string>>
  /** Shown large, to be typed. */
  code?: string
  /** Where the button leads. */
  url?: string
  language?: Language | undefined
}

interface Branding {
  display_name?: string | null
  language?: string
  theme?: { primary_color?: string }
}

const brandingOf = ({ settings }: Sender): Branding => (settings as { branding?: Branding }).branding ?? {}

/** The name by which people know an issuer. */
export const nameOf = (sender: Sender): string => brandingOf(sender).display_name || sender.name

/**
 * Queues a message. Call it in the transaction of what it tells about.
 * @param life milliseconds after which it is of no use
 */
export async function sendMessage(context: Context, sender: Sender, message: Message, life?: number): Promise<void> {
  await queueMail(context, compose(sender, message), life)
}

/** The message as it goes out. Without a language it speaks the issuer's, else English. */
export function compose(sender: Sender, message: Message): Mail {
  const { to, kind, credentials = [], places = {}, code, url, language } = message
  const { language: own, theme } = brandingOf(sender)
  const speech = language ?? knownLanguage([own]) ?? 'en'
  const name = nameOf(sender)
  const values: Record<string, string> = {
    name,
    credentials: credentials.map((type) => credentialNames[speech][type]).join(', '),
    ...(code === undefined ? {} : { code }),
    ...places,
  }
  // What people wrote goes on one line of a subject, and stays short.
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '').trim()
  const { subject, lead, button, end } = messageTexts[speech][kind]
  const primary = /^#[0-9a-f]{3,6}$/i.test(theme?.primary_color ?? '') ? theme!.primary_color! : '#2f5bea'
  const parts = [fill(lead), code, url, fill(end)].filter((part) => part !== undefined && part !== '')
  const page = html`<!doctype html>
<html lang="${speech}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:32px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif">
<div style="max-width:480px;margin:0 auto">
<p style="margin:0 0 24px;font-weight:600">${name}</p>
<p style="margin:0 0 24px">${fill(lead)}</p>
${code !== undefined && html`<p style="margin:0 0 24px;font:600 30px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:.18em">${code}</p>`}
${url !== undefined && html`<p style="margin:0 0 24px"><a href="${url}" style="display:inline-block;padding:12px 22px;border-radius:10px;background:${primary};color:#fff;font-weight:600;text-decoration:none">${fill(button ?? url)}</a></p><p style="margin:0 0 24px;font-size:13px;word-break:break-all"><a href="${url}">${url}</a></p>`}
<p style="margin:0;font-size:14px;opacity:.72">${fill(end)}</p>
</div></body></html>`
  return {
    to,
    subject: fill(subject).replace(/\s+/g, ' ').slice(0, 200),
    text: `${parts.join('\n\n')}\n\n${name}\n`,
    html: page.text,
  }
}
